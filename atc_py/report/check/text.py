"""A check's report for people: verdict, findings by rule, operators; lines and tables."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from atc_py.check.findings import Standing
from atc_py.report.check.document import CheckDocument, CheckedModel, Found
from atc_py.report.check.groups import Group, Sighting, groups
from atc_py.report.check.words import (
    CERTAINTIES,
    COLUMNS,
    LEVELS,
    baseline_text,
    fix_call,
    fix_hint,
    hint_text,
    lists_text,
    node_text,
    observed_text,
    shape_option,
    verdict_text,
)
from atc_py.report.diagnostics import help_text
from atc_py.report.tables import Table, block_lines, clipped, visible
from atc_py.spec.deviations import Certainty
from atc_py.text import COLON, COMMA, Text, plural
from atc_py.text.language import speaking, spoken

Block: TypeAlias = "str | Table"


_MOST_LINES = 8
"""Lines of nodes that a group shows."""
_MOST_GROUPS = 100
"""Groups, and rows of the table of operators; real models have a handful."""
_MOST_OPERATORS = 8
"""Operators that a line names."""
_REGISTERED = "parser/registered"
"""The rule that a parser has an operator at the model's opset."""
_MOST_NODES = 4
"""Nodes that a line names."""


def check_blocks(document: CheckDocument, *, verbose: bool = False) -> Iterator[Block]:
    """Yield lines and tables; verbose ones name every node, and findings that a baseline knows."""
    for position, model in enumerate(document.models):
        if position:
            yield ""
        yield from _model(document, model, verbose=verbose)
    if len(document.models) > 1:
        yield ""
        yield _summary(document)
        hints = [hint for model in document.models if (hint := fix_hint(model))]
        if hints:
            yield ""
            yield spoken(Text("Fix"))
            yield from (f"  {spoken(hint)}" for hint in hints)
    if document.soc_note:
        yield ""
        yield document.soc_note
    if document.baseline is not None:
        yield ""
        yield spoken(baseline_text(document.baseline))
        if document.baseline.known and not verbose:
            yield spoken(Text("known findings are omitted; --verbose shows them"))


def check_text(document: CheckDocument, *, verbose: bool = False) -> str:
    with speaking(document.lang):
        return "\n".join([*block_lines(check_blocks(document, verbose=verbose)), ""])


def verdict_lines(document: CheckDocument) -> list[str]:
    with speaking(document.lang):
        lines = [_verdict(document, model) for model in document.models]
        baseline = spoken(baseline_text(document.baseline))
    return [*lines, baseline] if baseline else lines


def _headline(first: Found, text: Text) -> str:
    """`error[ATC4012 attr-out-of-range]: strides of Conv must be in [1, 63]`."""
    level = spoken(LEVELS[Standing(first.level)])
    return f"{level}[{first.code} {first.name}]: {clipped(spoken(text))}"


def _labeled(word: Text, text: str) -> str:
    return spoken(word + COLON) + text


def finding_lines(model: CheckedModel, *, verbose: bool = False) -> Iterator[str]:
    """Yield the findings of a model by rule, an empty line before each rule."""
    shown = [finding for finding in model.all_findings if verbose or not finding.known]
    yield from _lines_of(groups(shown), verbose=verbose)


def _lines_of(gathered: Sequence[Group], *, verbose: bool) -> Iterator[str]:
    most = len(gathered) if verbose else _MOST_GROUPS
    for group in gathered[:most]:
        yield ""
        yield from _group_lines(group, verbose=verbose)
    if gathered[most:]:
        yield ""
        text = plural(
            sum(len(group.findings) for group in gathered[most:]),
            "... and {n} more finding; --verbose names all",
            "... and {n} more findings; --verbose names all",
        )
        yield spoken(text)


def _model(document: CheckDocument, model: CheckedModel, *, verbose: bool) -> Iterator[Block]:
    yield _verdict(document, model)
    yield from _steps(model, alone=len(document.models) == 1)
    if verbose:
        yield from finding_lines(model, verbose=True)
    else:
        shown = [each for each in model.all_findings if not each.known]
        yield from _folded_lines(shown, document.cann)
    if model.operators:
        yield ""
        yield _operators(model, verbose=verbose)
    if model.other_lists:
        yield ""
        yield _labeled(Text("Operator lists"), spoken(lists_text(document, model)))
    for note in model.notes:
        yield ""
        yield _labeled(Text("note"), note.text)
    if model.quant_bias is not None:
        yield ""
        yield _labeled(Text("Biases of int8 layers"), model.quant_bias.text)


def _steps(model: CheckedModel, *, alone: bool) -> Iterator[str]:
    """Yield what to do first: the dims to give, and the command that removes errors."""
    if model.shape_hint:
        yield ""
        yield spoken(hint_text(model))
        yield f"  {shape_option(model.shape_hint)}"
    if model.gears_hint:
        yield spoken(Text("Several sizes, as gears; change the numbers:"))
        yield f'  --auto-gears "{model.gears_hint}"'
    hint = fix_hint(model)
    if hint is not None and alone:
        yield ""
        yield _labeled(Text("Fix"), spoken(hint))


def _folded_lines(findings: Sequence[Found], cann: str) -> Iterator[str]:
    """Yield findings by cause: an opset, and restatements that need no action, in few lines each."""
    opsets: dict[str, list[Found]] = {}
    for finding in findings:
        if finding.rule == _REGISTERED:
            opsets.setdefault(finding.observed, []).append(finding)
    common = {opset for opset, own in opsets.items() if len({each.op for each in own}) > 1}
    for opset in sorted(common):
        yield ""
        yield from _opset_lines(opset, opsets[opset], cann)
    rest = [each for each in findings if each.rule != _REGISTERED or each.observed not in common]
    yield from _lines_of(groups(each for each in rest if not each.effect), verbose=False)
    restated = [each for each in rest if each.effect]
    if restated:
        yield ""
        yield from _restated_lines(restated)


def _opset_lines(opset: str, findings: Sequence[Found], cann: str) -> Iterator[str]:
    first = findings[0]
    text = plural(
        len(findings),
        "the parser of CANN {cann} does not register the operator of {n} node at opset {opset}",
        "the parser of CANN {cann} does not register the operators of {n} nodes at opset {opset}",
        cann=cann,
        opset=opset,
    )
    yield _headline(first, text)
    yield f"  --> {_counted(findings)}"
    if first.certainty:
        yield _certainty_line(first)
    yield f"  {help_text(clipped(first.help))}"


def _restated_lines(findings: Sequence[Found]) -> Iterator[str]:
    """Yield what becomes of nodes in forms that are listed, one line for each effect."""
    nodes = {(each.scope, each.node) for each in findings}
    text = plural(
        len(nodes),
        "{n} node is rewritten in listed forms, which needs no action (--verbose names it):",
        "{n} nodes are rewritten in listed forms, which needs no action (--verbose names them):",
    )
    yield spoken(text)
    effects: dict[tuple[str, str], list[Found]] = {}
    for each in findings:
        effects.setdefault((each.effect, each.code), []).append(each)
    for (effect, code), own in sorted(effects.items(), key=lambda item: -len(item[1])):
        yield f"  {_counted(own)}{spoken(COLON)}{effect} [{code}]"


def _counted(findings: Sequence[Found]) -> str:
    """`13 Relu, 4 Add`."""
    counts = Counter(each.op for each in findings).most_common()
    listed = COMMA.join(f"{n} {op}" for op, n in counts[:_MOST_OPERATORS])
    left = len(counts) - _MOST_OPERATORS
    return spoken(
        listed + Text(" and {left} more", context="findings", left=left) if left > 0 else listed
    )


def _certainty_line(found: Found) -> str:
    return f"  {_labeled(Text('certainty'), spoken(CERTAINTIES[Certainty(found.certainty)]))}"


def _verdict(document: CheckDocument, model: CheckedModel) -> str:
    """`resnet.onnx: supported: all 71 nodes`."""
    return visible(model.path) + spoken(COLON + verdict_text(model, document.cann))


def _group_lines(group: Group, *, verbose: bool) -> Iterator[str]:
    first = group.first
    yield _headline(first, group.headline)
    most = len(group.sightings) if verbose else _MOST_LINES
    for sighting in group.sightings[:most]:
        line = _sighting_line(sighting, verbose=verbose)
        if line:
            yield f"  --> {line}"
    rest = sum(len(sighting.findings) for sighting in group.sightings[most:])
    if rest:
        text = plural(
            rest,
            "  ... and {n} more node; --verbose names all",
            "  ... and {n} more nodes; --verbose names all",
        )
        yield spoken(text)
    if first.source:
        yield f"  {_labeled(Text('rule'), visible(first.source))}"
    if first.certainty:
        yield _certainty_line(first)
    if first.taken_by:
        yield f"  {_labeled(Text('taken by'), spoken(COMMA.join(first.taken_by)))}"
    if first.fixed_by:
        names = spoken(COMMA.join(first.fixed_by))
        yield f"  {_labeled(Text('fixed by'), f'{fix_call(first)} ({names})')}"
    for words in group.helps if verbose else group.helps[:1]:
        yield f"  {help_text(clipped(words))}"


def _sighting_line(sighting: Sighting, *, verbose: bool) -> str:
    """`node 17 "conv2", node 20 "conv5" and 3 more: found [1, 64]`."""
    findings = sighting.findings
    most = len(findings) if verbose else _MOST_NODES
    # A line that would leave one node out may as well name it.
    if len(findings) == most + 1:
        most += 1
    text = COMMA.join(clipped(spoken(node_text(finding))) for finding in findings[:most])
    rest = len(findings) - most
    if rest > 0:
        text += Text(" and {left} more", context="findings", left=rest)
    observed = clipped(spoken(observed_text(findings[0])))
    return spoken(COLON.join(part for part in (text, observed) if part))


def _operators(model: CheckedModel, *, verbose: bool) -> Table:
    mark = spoken(Text("not listed"))
    standings = _standings([model])
    most = len(model.operators) if verbose else _MOST_GROUPS
    rows = tuple(
        (
            row.op if row.listed else f"{row.op} ({mark})",
            str(row.nodes),
            *_cells(row.counts, standings),
        )
        for row in model.operators[:most]
    )
    if rest := model.operators[most:]:
        counts: Counter[str] = Counter()
        for row in rest:
            counts.update(row.counts)
        nodes = sum(row.nodes for row in rest)
        label = spoken(Text("... {n} more", context="operators", n=len(rest)))
        rows += ((label, str(nodes), *_cells(counts, standings)),)
    return Table("Operators", ("operator", *_counts(standings)), rows)


def _summary(document: CheckDocument) -> Table:
    standings = _standings(document.models)
    total: Counter[str] = Counter()
    for model in document.models:
        total.update(model.node_counts)
    rows = [
        (
            model.path,
            LEVELS[Standing(model.verdict)],
            str(model.nodes),
            *_cells(model.node_counts, standings),
        )
        for model in document.models
    ]
    rows.append(
        (
            Text("total"),
            LEVELS[Standing(document.verdict)],
            str(sum(model.nodes for model in document.models)),
            *_cells(total, standings),
        )
    )
    return Table("Summary", ("model", "verdict", *_counts(standings)), tuple(rows), said=(0, 1))


def _standings(models: Sequence[CheckedModel]) -> list[Standing]:
    busy = {name for model in models for name in model.node_counts}
    plain = {Standing.SUPPORTED, Standing.ERROR}
    return [each for each in COLUMNS if each in plain or each.value in busy]


def _counts(standings: list[Standing]) -> list[str]:
    """Headings of the number of nodes, and of those of each verdict."""
    words = [Text("nodes", context="table"), *(COLUMNS[standing] for standing in standings)]
    return [word + ">" for word in words]


def _cells(counts: Mapping[str, int], standings: list[Standing]) -> list[str]:
    """Counts of nodes by verdict; a row of zeros would hide the others."""
    return [str(counts.get(standing.value) or "-") for standing in standings]
