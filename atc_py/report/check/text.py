"""A check's report for people: verdict, findings by rule, operators; lines and tables."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from atc_py.check.findings import Standing
from atc_py.report.check.document import CheckDocument, CheckedModel, Found
from atc_py.report.check.groups import Group, Sighting, groups
from atc_py.report.check.open_dims import hint_text
from atc_py.report.check.words import (
    CERTAINTIES,
    COLUMNS,
    HEADINGS,
    LEVELS,
    baseline_text,
    fix_call,
    fix_hint,
    lists_text,
    node_text,
    observed_text,
    shape_option,
    verdict_text,
)
from atc_py.report.tables import Table, clipped, plain_lines, visible
from atc_py.spec.deviations import Certainty
from atc_py.text import COLON, COMMA, Text, plural

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
        yield from _fixes(document)
    if document.soc_note:
        yield ""
        yield document.soc_note
    if document.baseline is not None:
        yield ""
        yield baseline_text(document)
        if document.baseline.known and not verbose:
            yield HEADINGS["hidden"].in_language(document.lang)


def _fixes(document: CheckDocument) -> Iterator[Block]:
    found = [text for model in document.models if (text := fix_hint(document, model))]
    if found:
        yield ""
        yield HEADINGS["fix"].in_language(document.lang)
        yield from (f"  {text}" for text in found)


def check_text(document: CheckDocument, *, verbose: bool = False) -> str:
    lines: list[str] = []
    for block in check_blocks(document, verbose=verbose):
        lines += [block] if isinstance(block, str) else plain_lines(block)
    return "\n".join([*lines, ""])


def verdict_lines(document: CheckDocument) -> list[str]:
    lines = [_verdict(document, model) for model in document.models]
    return [*lines, *([baseline_text(document)] if document.baseline is not None else [])]


def _headline(group: Group, language: str) -> str:
    """`error[ATC4012 attr-out-of-range]: strides of Conv must be in [1, 63]`."""
    first = group.first
    level = LEVELS[Standing(first.level)].in_language(language)
    return f"{level}[{first.code} {first.name}]: {clipped(group.headline(language))}"


def finding_lines(model: CheckedModel, language: str, *, verbose: bool = False) -> Iterator[str]:
    """Yield the findings of a model by rule, an empty line before each rule."""
    shown = [finding for finding in model.all_findings if verbose or not finding.known]
    yield from _lines_of(groups(shown), language, verbose=verbose)


def _lines_of(gathered: Sequence[Group], language: str, *, verbose: bool) -> Iterator[str]:
    most = len(gathered) if verbose else _MOST_GROUPS
    for group in gathered[:most]:
        yield ""
        yield from _group_lines(group, language, verbose=verbose)
    if gathered[most:]:
        yield ""
        yield plural(
            sum(len(group.findings) for group in gathered[most:]),
            "... and {n} more finding; --verbose names all",
            "... and {n} more findings; --verbose names all",
        ).in_language(language)


def _model(document: CheckDocument, model: CheckedModel, *, verbose: bool) -> Iterator[Block]:
    language = document.lang
    yield _verdict(document, model)
    yield from _steps(document, model)
    if verbose:
        yield from finding_lines(model, language, verbose=True)
    else:
        shown = [each for each in model.all_findings if not each.known]
        yield from _folded_lines(shown, document.cann, language)
    if model.operators:
        yield ""
        yield _operators(model, language, verbose=verbose)
    if model.other_lists:
        yield ""
        heading = HEADINGS["lists"].in_language(language)
        yield f"{heading}{COLON.in_language(language)}{lists_text(document, model, language)}"
    for note in model.notes:
        yield ""
        yield f"{HEADINGS['note'].in_language(language)}{COLON.in_language(language)}{note.text}"
    if model.quant_bias is not None:
        yield ""
        heading = HEADINGS["biases"].in_language(language)
        yield f"{heading}{COLON.in_language(language)}{model.quant_bias.text}"


def _steps(document: CheckDocument, model: CheckedModel) -> Iterator[str]:
    """Yield what to do first: the dims to give, and the command that removes errors."""
    language = document.lang
    if model.shape_hint:
        yield ""
        yield hint_text(model, language)
        yield f"  {shape_option(model.shape_hint)}"
    if model.gears_hint:
        yield Text("Several sizes, as gears; change the numbers:").in_language(language)
        yield f'  --auto-gears "{model.gears_hint}"'
    fixes = fix_hint(document, model)
    if fixes is not None and len(document.models) == 1:
        yield ""
        yield f"{HEADINGS['fix'].in_language(language)}{COLON.in_language(language)}{fixes}"


def _folded_lines(findings: Sequence[Found], cann: str, language: str) -> Iterator[str]:
    """Yield findings by cause: an opset, and restatements that need no action, in few lines each."""
    opsets: dict[str, list[Found]] = {}
    for finding in findings:
        if finding.rule == _REGISTERED:
            opsets.setdefault(finding.observed, []).append(finding)
    common = {opset for opset, own in opsets.items() if len({each.op for each in own}) > 1}
    for opset in sorted(common):
        yield ""
        yield from _opset_lines(opset, opsets[opset], cann, language)
    rest = [each for each in findings if each.rule != _REGISTERED or each.observed not in common]
    yield from _lines_of(groups(each for each in rest if not each.effect), language, verbose=False)
    restated = [each for each in rest if each.effect]
    if restated:
        yield ""
        yield from _restated_lines(restated, language)


def _opset_lines(opset: str, findings: Sequence[Found], cann: str, language: str) -> Iterator[str]:
    first = findings[0]
    level = LEVELS[Standing(first.level)].in_language(language)
    text = plural(
        len(findings),
        "the parser of CANN {cann} does not register the operator of {n} node at opset {opset}",
        "the parser of CANN {cann} does not register the operators of {n} nodes at opset {opset}",
        cann=cann,
        opset=opset,
    )
    yield f"{level}[{first.code} {first.name}]: {text.in_language(language)}"
    yield f"  --> {_counted(findings, language)}"
    colon = COLON.in_language(language)
    if first.certainty:
        yield _certainty_line(first, language)
    yield f"  {HEADINGS['help'].in_language(language)}{colon}{clipped(first.help)}"


def _restated_lines(findings: Sequence[Found], language: str) -> Iterator[str]:
    """Yield what becomes of nodes in forms that are listed, one line for each effect."""
    nodes = {(each.scope, each.node) for each in findings}
    yield plural(
        len(nodes),
        "{n} node is rewritten in listed forms, which needs no action (--verbose names it):",
        "{n} nodes are rewritten in listed forms, which needs no action (--verbose names them):",
    ).in_language(language)
    effects: dict[tuple[str, str], list[Found]] = {}
    for each in findings:
        effects.setdefault((each.effect, each.code), []).append(each)
    for (effect, code), own in sorted(effects.items(), key=lambda item: -len(item[1])):
        yield f"  {_counted(own, language)}{COLON.in_language(language)}{effect} [{code}]"


def _counted(findings: Sequence[Found], language: str) -> str:
    """`13 Relu, 4 Add`."""
    counts = Counter(each.op for each in findings).most_common()
    listed = COMMA.in_language(language).join(f"{n} {op}" for op, n in counts[:_MOST_OPERATORS])
    left = len(counts) - _MOST_OPERATORS
    more = Text(" and {left} more", context="findings", left=left).in_language(language)
    return listed + more * (left > 0)


def _certainty_line(found: Found, language: str) -> str:
    head = HEADINGS["certainty"].in_language(language)
    text = CERTAINTIES[Certainty(found.certainty)].in_language(language)
    return f"  {head}{COLON.in_language(language)}{text}"


def _verdict(document: CheckDocument, model: CheckedModel) -> str:
    """`resnet.onnx: supported: all 71 nodes`."""
    verdict = verdict_text(model, document.lang, document.cann)
    return f"{visible(model.path)}{COLON.in_language(document.lang)}{verdict}"


def _group_lines(group: Group, language: str, *, verbose: bool) -> Iterator[str]:
    yield _headline(group, language)
    most = len(group.sightings) if verbose else _MOST_LINES
    for sighting in group.sightings[:most]:
        line = _sighting_line(sighting, language, verbose=verbose)
        if line:
            yield f"  --> {line}"
    rest = sum(len(sighting.findings) for sighting in group.sightings[most:])
    if rest:
        yield plural(
            rest,
            "  ... and {n} more node; --verbose names all",
            "  ... and {n} more nodes; --verbose names all",
        ).in_language(language)
    first, colon = group.first, COLON.in_language(language)
    if first.source:
        yield f"  {HEADINGS['rule'].in_language(language)}{colon}{visible(first.source)}"
    if first.certainty:
        yield _certainty_line(first, language)
    if first.taken_by:
        names = COMMA.in_language(language).join(first.taken_by)
        yield f"  {HEADINGS['taken_by'].in_language(language)}{colon}{names}"
    if first.fixed_by:
        names = COMMA.in_language(language).join(first.fixed_by)
        yield f"  {HEADINGS['fixed_by'].in_language(language)}{colon}{fix_call(first)} ({names})"
    for words in group.helps if verbose else group.helps[:1]:
        yield f"  {HEADINGS['help'].in_language(language)}{colon}{clipped(words)}"


def _sighting_line(sighting: Sighting, language: str, *, verbose: bool) -> str:
    """`node 17 "conv2", node 20 "conv5" and 3 more: found [1, 64]`."""
    findings = sighting.findings
    most = len(findings) if verbose else _MOST_NODES
    # A line that would leave one node out may as well name it.
    if len(findings) == most + 1:
        most += 1
    text = COMMA.in_language(language).join(
        clipped(node_text(finding, language)) for finding in findings[:most]
    )
    rest = len(findings) - most
    if rest > 0:
        text += Text(" and {left} more", context="findings", left=rest).in_language(language)
    observed = clipped(observed_text(findings[0], language))
    return COLON.in_language(language).join(part for part in (text, observed) if part)


def _operators(model: CheckedModel, language: str, *, verbose: bool) -> Table:
    mark = HEADINGS["not_listed"].in_language(language)
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
        label = Text("... {n} more", context="operators", n=len(rest)).in_language(language)
        rows += ((label, str(nodes), *_cells(counts, standings)),)
    columns = _columns(("operator",), standings, language)
    return Table(HEADINGS["operators"].in_language(language), columns, rows)


def _summary(document: CheckDocument) -> Table:
    language, standings = document.lang, _standings(document.models)
    total: Counter[str] = Counter()
    for model in document.models:
        total.update(model.node_counts)
    rows = [
        (
            model.path,
            LEVELS[Standing(model.verdict)].in_language(language),
            str(model.nodes),
            *_cells(model.node_counts, standings),
        )
        for model in document.models
    ]
    rows.append(
        (
            HEADINGS["total"].in_language(language),
            LEVELS[Standing(document.verdict)].in_language(language),
            str(sum(model.nodes for model in document.models)),
            *_cells(total, standings),
        )
    )
    columns = _columns(("model", "verdict"), standings, language)
    return Table(HEADINGS["summary"].in_language(language), columns, tuple(rows))


def _standings(models: Sequence[CheckedModel]) -> list[Standing]:
    busy = {name for model in models for name in model.node_counts}
    plain = {Standing.SUPPORTED, Standing.ERROR}
    return [each for each in COLUMNS if each in plain or each.value in busy]


def _columns(first: tuple[str, ...], standings: list[Standing], language: str) -> tuple[str, ...]:
    heads = [HEADINGS[key].in_language(language) for key in first]
    counts = [HEADINGS["network"], *(COLUMNS[standing] for standing in standings)]
    return (*heads, *(f"{words.in_language(language)}>" for words in counts))


def _cells(counts: Mapping[str, int], standings: list[Standing]) -> list[str]:
    """Counts of nodes by verdict; a row of zeros would hide the others."""
    return [str(counts.get(standing.value) or "-") for standing in standings]
