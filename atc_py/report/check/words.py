"""The words of a check's reports: levels, verdicts, headings and counts, in both languages."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from atc_py.check.findings import Standing
from atc_py.diag import BAD_INPUT_SHAPE, DEVIATES_ON_CANN, REFUSED_BY_PARSER
from atc_py.options.compile_options import NEWEST_CANN
from atc_py.report.tables import clipped, visible
from atc_py.spec.deviations import Certainty
from atc_py.text import COLON, COMMA, SEMICOLON, Text, all_of, plural, verbatim

if TYPE_CHECKING:
    from atc_py.report.check.document import (
        BaselineCount,
        Candidates,
        CheckDocument,
        CheckedModel,
        Found,
        OpenAxis,
    )


LEVELS = {
    Standing.ERROR: Text("error", context="level"),
    Standing.UNKNOWN: Text("unknown"),
    Standing.PARSER: Text("parser"),
    Standing.LIST: Text("list"),
    Standing.REWRITE: Text("rewrite"),
    Standing.AICPU: Text("aicpu"),
    Standing.ACCURACY: Text("accuracy"),
    Standing.SUPPORTED: Text("supported"),
}
"""Levels, printed before a finding."""

COLUMNS = {
    Standing.SUPPORTED: Text("supported"),
    Standing.ACCURACY: Text("accuracy"),
    Standing.AICPU: Text("AI CPU"),
    Standing.REWRITE: Text("rewritten"),
    Standing.LIST: Text("off the list"),
    Standing.PARSER: Text("parser"),
    Standing.UNKNOWN: Text("unknown"),
    Standing.ERROR: Text("unsupported"),
}
"""Headings of counts of nodes, the best first."""

CERTAINTIES = {
    Certainty.PROVEN: Text("proven by published sources"),
    Certainty.INFERRED: Text("inferred"),
}
"""Grounds of what is said of CANN."""

_TAILS = {
    Standing.LIST: Text("{n} accepted beyond the list"),
    Standing.REWRITE: Text("{n} rewritten"),
    Standing.AICPU: Text("{n} on the AI CPU"),
    Standing.ACCURACY: Text("{n} may lose accuracy"),
    Standing.UNKNOWN: Text("{n} not decided"),
}
"""What a verdict mentions in addition to errors."""


def verdict_text(model: CheckedModel, cann: str = NEWEST_CANN) -> Text:
    """`not supported: 3 errors in 2 of 71 nodes; 4 rewritten, 1 on the AI CPU`."""
    verdict = Standing(model.verdict)
    counts = {Standing(name): count for name, count in model.node_counts.items()}
    head, on_cann = _head(model, verdict, counts), _on_cann(model, cann)
    if on_cann:
        supported = verdict not in {Standing.ERROR, Standing.UNKNOWN}
        head += (Text(", but ") if supported else SEMICOLON) + on_cann
    deviating = _nodes_with(model, DEVIATES_ON_CANN.id, Standing.ACCURACY)
    counts[Standing.ACCURACY] = counts.get(Standing.ACCURACY, 0) - deviating
    tails = [
        text.with_values(n=counts[level])
        for level, text in _TAILS.items()
        # An undecided verdict counts its nodes itself.
        if counts.get(level) and not (level is verdict is Standing.UNKNOWN)
    ]
    texts = (head, COMMA.join(tails), deciding_text(model))
    return SEMICOLON.join(text for text in texts if text)


def _on_cann(model: CheckedModel, cann: str) -> Text:
    """`2 nodes compute something else on CANN 9.1 and 1 is refused by its parser`.

    What is inferred of all of them is called so, and of some of them how many.
    """
    other = _nodes_with(model, DEVIATES_ON_CANN.id)
    refused = _nodes_with(model, REFUSED_BY_PARSER.id)
    only = model.nodes == 1
    facts = []
    if other:
        computes = plural(
            other,
            "{n} node computes something else on CANN {cann}",
            "{n} nodes compute something else on CANN {cann}",
            cann=cann,
        )
        if only:
            computes = Text("it computes something else on CANN {cann}", cann=cann)
        facts.append(computes + _inferred(model, DEVIATES_ON_CANN.id, other))
    # What is no single node's fault has CANN's code.
    if any(each.code == REFUSED_BY_PARSER.id and each.cann_code for each in model.findings):
        facts.append(Text("the parser of CANN {cann} refuses the model", cann=cann))
    elif refused:
        text = _refused(refused, cann, only=only, also=bool(other))
        facts.append(text + _inferred(model, REFUSED_BY_PARSER.id, refused))
    return Text(" and ", context="verdict").join(facts)


def _refused(count: int, cann: str, *, only: bool, also: bool) -> Text:
    """`1 node is refused by the parser of CANN 9.1`; `also` after other nodes."""
    if only:
        return Text("it is refused by the parser of CANN {cann}", cann=cann)
    if also:
        return plural(
            count, "{n} is refused by its parser", "{n} are refused by its parser", cann=cann
        )
    return plural(
        count,
        "{n} node is refused by the parser of CANN {cann}",
        "{n} nodes are refused by the parser of CANN {cann}",
        cann=cann,
    )


def _inferred(model: CheckedModel, code: str, total: int) -> Text:
    """` (inferred)` if findings of a code are that for all their nodes, or for how many."""
    count = total - _nodes_with(model, code, certainty=Certainty.PROVEN.value)
    if not count:
        return Text("")
    if count == total:
        return Text(" (inferred)")
    return Text(" ({count} inferred)", count=count)


def _nodes_with(
    model: CheckedModel, code: str, verdict: Standing | None = None, certainty: str = ""
) -> int:
    """The number of nodes with a finding of a code, a verdict and a certainty, if given."""
    nodes = {
        (finding.scope, finding.node, finding.node_name)
        for finding in model.findings
        if finding.code == code and certainty in {"", finding.certainty}
    }
    if verdict is None or not nodes:
        return len(nodes)
    rows: dict[tuple[str, int | None, str], str] = {
        (row.scope, row.index, row.name): row.verdict for row in model.network
    }
    return sum(rows.get(node) == verdict.value for node in nodes)


def lists_text(document: CheckDocument, model: CheckedModel) -> Text:
    """`base: 3 errors; cann-9.0: supported`; empty for a model without errors."""
    if not model.other_lists:
        return Text("")
    errors = Standing.ERROR.value
    rows = [
        (document.operator_list, errors, model.counts.get(errors, 0)),
        *((other.name, other.verdict, other.errors) for other in model.other_lists),
    ]
    return SEMICOLON.join(
        verbatim(name)
        + COLON
        + (plural(n, "{n} error", "{n} errors") if verdict == errors else LEVELS[Standing(verdict)])
        for name, verdict, n in rows
    )


def kept_text(operators: Sequence[str], list_name: str) -> Text:
    """`AscendDequant and Addcmul are not on the newer pages of cann-9.0, which keeps ...`."""
    return plural(
        len(operators),
        "{names} is not on the newest pages of {list_name}; the list keeps it as it was listed "
        "before, because quantizers and exporters still write it",
        "{names} are not on the newest pages of {list_name}; the list keeps them as they were "
        "listed before, because quantizers and exporters still write them",
        names=all_of(operators),
        list_name=list_name,
    )


def baseline_text(count: BaselineCount | None) -> Text:
    """`12 known, 1 new`, with the number gone; empty without a baseline."""
    if count is None:
        return Text("")
    texts = [Text("{known} known", known=count.known), Text("{new} new", new=count.new)]
    if count.gone:
        texts.append(Text("{gone} gone", gone=count.gone))
    return Text("compared with the baseline") + COLON + COMMA.join(texts)


def node_text(found: Found) -> Text:
    """`node 17 "conv2" in then_branch of "choose"`; empty if not on a node."""
    name = f'"{found.node_name}"' if found.node_name else ""
    if found.node is None:
        return verbatim(" ".join(part for part in (name, found.field) if part))
    text = Text("node") + f" {found.node} {name}".rstrip()
    return Text("{node} in {scope}", node=text, scope=found.scope) if found.scope else text


def observed_text(found: Found) -> Text:
    """`found [1, 64]` or `not decided: X is ?x3x8x8`; empty where nothing was observed."""
    if not found.observed:
        return Text("")
    if found.level == Standing.UNKNOWN.value:
        return Text("not decided") + COLON + found.observed
    return Text("found") + f" {found.observed}"


def shape_option(hint: str) -> str:
    """`--input-shape "x:1,3,224,224"`, in quotes that shells leave alone."""
    shown = visible(hint)
    text = shlex.quote(shown) if set(shown) & set('"$`\\!') else f'"{shown}"'
    return f"--input-shape {text}"


def _head(model: CheckedModel, verdict: Standing, counts: dict[Standing, int]) -> Text:
    total, faults = model.nodes, len(model.faults)
    if faults and not total:
        return plural(faults, "not checked: {n} fault", "not checked: {n} faults")
    if verdict is Standing.ERROR:
        return _not_supported(model)
    if verdict is Standing.UNKNOWN:
        count = counts.get(Standing.UNKNOWN, 0)
        return plural(
            total,
            "not decided: {count} of {n} node",
            "not decided: {count} of {n} nodes",
            count=count,
        )
    if total == 0:
        return Text("supported: no nodes")
    if total == 1:
        return Text("supported: its only node")
    return Text("supported: all {total} nodes", total=total)


def _not_supported(model: CheckedModel) -> Text:
    total = model.nodes
    misfits = sum(fault.code == BAD_INPUT_SHAPE.id for fault in model.faults)
    faults = len(model.faults) - misfits
    errors = model.counts.get(Standing.ERROR.value, 0) - len(model.faults)
    nodes = len(
        {
            (finding.scope, finding.node, finding.node_name, finding.op)
            for finding in model.findings
            if finding.level == Standing.ERROR.value
        }
    )
    reasons = []
    if misfits:
        reasons.append(Text("it does not accept the dims of --input-shape"))
    if faults:
        reasons.append(plural(faults, "{n} fault of the file", "{n} faults of the file"))
    if errors:
        of = plural(total, "{nodes} of {n} node", "{nodes} of {n} nodes", nodes=nodes)
        reasons.append(plural(errors, "{n} error in {of}", "{n} errors in {of}", of=of))
    return Text("not supported: {reasons}", reasons=COMMA.join(reasons))


def fix_call(found: Found) -> str:
    return "atc-py fix --for cann" if found.certainty else "atc-py fix"


def fix_hint(model: CheckedModel) -> Text | None:
    """The command, and how many errors it removes; None where rules remove none."""
    fix = model.fix
    if fix is None:
        return None
    errors = model.counts.get(Standing.ERROR.value, 0)
    count = plural(
        errors,
        "removes {removed} of {n} error",
        "removes {removed} of {n} errors",
        removed=fix.removed,
    )
    choices = (
        _candidates_text(candidate, bound=f"{candidate.input}=" in fix.command)
        for candidate in fix.candidates
    )
    return SEMICOLON.join([verbatim(f"`{fix.command}` ") + count, *choices])


def _candidates_text(candidates: Candidates, *, bound: bool) -> Text:
    """The values of an input that decides which branch runs; `bound` where the command has one."""
    values = [f"{value:.15g}" for value in candidates.values]
    head = Text("{input} decides which branch runs", input=candidates.input)
    if bound:
        listed = ", ".join(values)
        return head + Text(", values to choose from: {listed}", listed=listed)
    options = ", ".join(f"--bind {candidates.input}={value}" for value in values)
    return head + Text(", {options} keeps only one", options=options)


def hint_text(model: CheckedModel) -> Text:
    if model.shape_hint_fits and not model.shape_hint_runs:
        return Text(
            "Some dims are open. The model compiles with these dims, but no run with them gave "
            "numbers; replace them with your own:"
        )
    if model.shape_hint_fits:
        return Text(
            "Some dims are open. The model accepts these proposed dims; replace them with your own:"
        )
    return Text(
        "Some dims are open. None of the {shape_hint_tries} choices that were tried fits "
        "the model; put a number in place of each name or ?:",
        shape_hint_tries=model.shape_hint_tries,
    )


def deciding_text(model: CheckedModel) -> Text:
    """Say which dims decide: `depends on height and width of images`; mostly empty."""
    if not model.deciding:
        return Text("")
    dims: dict[str | tuple[str, int], list[OpenAxis]] = {}
    for axis in model.deciding:
        dims.setdefault(_dim_name(axis) or (axis.input, axis.axis), []).append(axis)
    labels: dict[tuple[str, ...], list[Text]] = {}
    for axes in dims.values():
        inputs = tuple(dict.fromkeys(axis.input for axis in axes))
        name = clipped(_dim_name(axes[0]))
        label = verbatim(name) if name else Text("axis {axis}", axis=axes[0].axis)
        labels.setdefault(inputs, []).append(label)
    parts = [
        Text("{dims} of {inputs}", dims=all_of(named), inputs=all_of(map(clipped, inputs)))
        for inputs, named in labels.items()
    ]
    *most, last = parts
    named = Text(" and ", context="inputs").join([Text(", ", context="inputs").join(most), last])
    return Text("depends on {dims}", dims=named if most else last)


def _dim_name(axis: OpenAxis) -> str:
    """The dim's name; "" for none, and for the question marks that exporters write in its place."""
    return axis.name if axis.name.strip("?") else ""
