"""A layer-by-layer comparison as tables, the worst layers first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from atc_py.diag.language import language, spoken, spoken_line
from atc_py.diag.words import COMMA, SEMICOLON, Words
from atc_py.report.layers.spreads import spreads_table
from atc_py.report.layers.suggestion import suggestion_blocks
from atc_py.report.model.semantics import semantics_line
from atc_py.report.tables import Table, format_bytes, format_seconds, plain_lines
from atc_py.results.layer import FAILING_DISTANCE, FAILING_SHARE, INTRODUCED_FACTOR, ErrorOrigin
from atc_py.results.layer_comparison import misses_of

if TYPE_CHECKING:
    from atc_py.results.layer import Layer
    from atc_py.results.layer_comparison import LayerComparison

__all__ = [
    "cause_text",
    "cost_lines",
    "growth_text",
    "layer_blocks",
    "layer_lines",
    "layers_text",
    "number_text",
    "origin_text",
    "origin_words",
    "output_verdict",
    "outputs_table",
    "verdict_lines",
]

_NOTHING = Words("", "")
_PASSED_ON = Words("passed on from ", "来自 ")
_ORIGINS = {
    ErrorOrigin.INTRODUCED: Words("introduced here", "在此引入"),
    ErrorOrigin.NONE: Words("none", "无"),
    ErrorOrigin.PASSED_ON: Words("passed on", "由前面传来"),
}
_CANCELS = Words(", its terms cancel", "，各项相消")
_ROLLED_BACK = Words(
    "; quantized in the original, taken back to float16 by the SoC",
    "；原模型中已量化，SoC 改回 float16",
)
_OWN_OUT = Words("; the original's own error was taken out", "；原模型自身的误差已扣除")

_SHOWN = 20
_ALONE_SHOWN = 8
_OWN_SHOWN = 5
_COLUMNS = ("layer", "from", "dtype", "cosine>", "distance>", "SNR dB>", "max abs>", "max rel>")


def layers_text(done: LayerComparison) -> str:
    """Return the whole report in plain text."""
    return "\n".join(layer_lines(done)) + "\n"


def layer_lines(done: LayerComparison) -> list[str]:
    """Return the report's lines: verdict, outputs, worst layers, unmatched nodes, cost."""
    lines: list[str] = []
    for block in layer_blocks(done):
        lines += [block] if isinstance(block, str) else plain_lines(block)
    return lines


def layer_blocks(done: LayerComparison, *, whole: bool = False) -> list[str | Table]:
    """Return the report's lines and tables, in their order.

    Args:
        done: the comparison.
        whole: list every layer, not the worst alone.
    """
    tables = [
        outputs_table(done),
        spreads_table(done),
        _worst_layers(done, whole=whole),
        _unmatched_table(done),
    ]
    blocks: list[str | Table] = [*map(spoken_line, verdict_lines(done))]
    for table in tables:
        if table.rows:
            blocks += ["", table]
    if done.suggestion is not None:
        blocks += ["", *suggestion_blocks(done.suggestion)]
    return [*blocks, "", *map(spoken, cost_lines(done))]


def number_text(value: float) -> str:
    """Return a figure as it is shown."""
    if math.isnan(value):
        return "NaN"
    return f"{value:.4g}" if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def origin_text(done: LayerComparison, layer: Layer) -> str:
    """Return the origin of a layer's error: introduced here, or passed on from another layer."""
    return origin_words(done, layer).en


def origin_words(done: LayerComparison, layer: Layer) -> Words:
    """Return the origin of a layer's error in both languages."""
    root = done.root_of(layer)
    if layer.origin is ErrorOrigin.PASSED_ON and root is not None:
        text = _PASSED_ON + Words.same(root.source)
        text += _caused(done, root)
    else:
        text = _ORIGINS[layer.origin] + _caused(done, layer)
        text += _CANCELS if layer.cancels else _NOTHING
    if layer.within_floor and layer.figures.beyond is not None:
        floor = number_text(layer.figures.beyond.floor)
        text += Words(f", within the floor of {floor}", f"，在下限 {floor} 以内")
    if layer.rolled_back:
        text += _ROLLED_BACK
    if layer.own is not None:
        text += _OWN_OUT
    return text


def _origin(done: LayerComparison, layer: Layer) -> str:
    """Return the origin of a layer's error in the language of the commands."""
    return origin_words(done, layer).in_language(language())


def _caused(done: LayerComparison, layer: Layer) -> Words:
    """Return the cause of an error after the words on its origin, if any is known."""
    cause = _cause(done, layer)
    return Words(", where ", "，原因：") + cause if cause else _NOTHING


def cause_text(done: LayerComparison, layer: Layer) -> str:
    """Return `gru deviates on CANN 9: GRU/reset-after-product (inferred)`, if that is the cause."""
    return _cause(done, layer).en


def _cause(done: LayerComparison, layer: Layer) -> Words:
    """Return the deviations that cause an error, in both languages."""
    if done.semantics is None or layer.origin is not ErrorOrigin.INTRODUCED:
        return _NOTHING
    generation = done.semantics.generation
    parts = [
        Words(
            f"{each.name or f'node {each.node}'} deviates on CANN {generation}: ",
            f"{each.name or f'节点 {each.node}'} 在 CANN {generation} 上有偏差：",
        )
        + COMMA.join(Words.same(row.text) for row in each.deviations)
        for each in layer.deviating
    ]
    return SEMICOLON.join(parts)


def output_verdict(done: LayerComparison, name: str) -> str:
    """Return what an output misses, or that it passes; empty without targets."""
    if not done.targets:
        return ""
    missed = [each for each in misses_of(done, done.targets) if each.output == name]
    parts = [
        f"{each.figure} below {each.least:g}" if each.figure else "not compared" for each in missed
    ]
    return f"misses: {', '.join(parts)}" if parts else spoken("passes")


def growth_text(done: LayerComparison, layer: Layer) -> str:
    """Return how a drifting error grew; empty where it is about as large as where introduced."""
    root = done.root_of(layer)
    if root is None or layer.origin is not ErrorOrigin.PASSED_ON or not math.isfinite(layer.error):
        return ""
    if layer.error <= INTRODUCED_FACTOR * root.error:
        return ""
    return (
        f"it drifted: {number_text(root.error)} there, {number_text(layer.error)} here, grown over "
        f"{layer.steps} layers, none of which doubled it"
    )


def verdict_lines(done: LayerComparison) -> list[str]:
    """Return the first lines: the first failing layer, and whether the targets are met."""
    stopped = [_escaped(f"the device stopped: {done.stopped}")] if done.stopped else []
    semantics = [] if done.semantics is None else [_escaped(semantics_line(done.semantics))]
    found = (*_failing_layers(done), *_own_errors(done), *_against_targets(done))
    return [*stopped, *semantics, *found]


def _failing_layers(done: LayerComparison) -> list[str]:
    """Name the first failing layer, the origin of its error, and the effect on the outputs."""
    first = done.first_failing
    if first is None:
        return ["no layer fails"]
    head = f"first failing layer: {_title(first)}: {'; '.join(first.faults)}"
    lines = [_escaped(head), _escaped(f"  its error: {_origin(done, first)}")]
    grown = growth_text(done, first)
    return [*lines, *([f"  {grown}"] if grown else []), _escaped(f"  {_reach(done)}")]


def _reach(done: LayerComparison) -> str:
    """Count the failing layers, and describe how far their errors reach the outputs."""
    failing = sum(bool(layer.faults) for layer in done.layers)
    head = f"{failing} of {len(done.layers)} layers fail"
    if done.stopped:
        return f"{head}; no output was reached"
    if any(done.layers[at].faults for at in done.outputs.values()):
        return f"{head}; outputs fail too"
    if not done.outputs:
        return f"{head}; no output could be compared"
    name, at = max(done.outputs.items(), key=lambda each: done.layers[each[1]].judged_error)
    worst = done.layers[at]
    figure, limit = "relative distance", FAILING_DISTANCE
    if not worst.is_float and not worst.holds_codes:
        figure, limit = "share of values that differ", FAILING_SHARE
    return (
        f"{head}, but their errors hardly reach the outputs: the worst of these, {name}, has a "
        f"{figure} of {number_text(worst.judged_error)}, and up to {limit:g} passes"
    )


def _own_errors(done: LayerComparison) -> list[str]:
    """Describe the errors of the original's own, which were taken out."""
    lines = []
    for each in done.own_errors[:_OWN_SHOWN]:
        own, seen = each.original, each.seen
        lines.append(
            f"the original's own {each.dtype} error shows at {each.source} ({each.source_op}): "
            f"compared with a float64 run of that node it has an SNR of {number_text(own.snr)} dB, "
            f"with errors up to {number_text(own.max_absolute)}"
        )
        lines.append(
            f"  it was taken out: the device had appeared to have {number_text(seen.snr)} dB there, "
            "and is compared with the float64 result from that node on"
        )
    left = len(done.own_errors) - _OWN_SHOWN
    if left > 0:
        lines.append(
            f"the original's own error shows at {left} more nodes, and was taken out there too"
        )
    return [_escaped(line) for line in lines]


def _against_targets(done: LayerComparison) -> list[str]:
    """Return a line on whether the outputs meet the targets."""
    if done.passed is None:
        return []
    wanted = ", ".join(f"{name} >= {least:g}" for name, least in done.targets.items())
    if done.passed:
        return [f"target {wanted}: met by every output"]
    missed = dict.fromkeys(each.output for each in misses_of(done, done.targets))
    names = f" by {', '.join(missed)}" if missed else ": the device stopped"
    return [_escaped(f"target {wanted}: missed{names}")]


def _title(layer: Layer) -> str:
    """Return the original's node, and the operator and dtype that compute it on the device."""
    source = f"{layer.source} ({layer.source_op or 'input'})"
    return f"{source}, {layer.op} in {layer.dtype} on the device"


def outputs_table(done: LayerComparison) -> Table:
    """Tabulate the model's outputs, with the results for classes and targets."""
    ranked, judged = bool(done.rankings), bool(done.targets)
    columns = ("output", *_COLUMNS[3:], *(("top-1>", "top-5>") if ranked else ()))
    rows = []
    for name in (*done.outputs, *(each for each in done.uncompared if each not in done.outputs)):
        figures: tuple[str, ...] = ("-",) * len(_COLUMNS[3:])
        origin = f"not compared: {done.uncompared[name]}" if name in done.uncompared else ""
        if name in done.outputs:
            layer = done.layers[done.outputs[name]]
            figures, origin = _figures(layer), origin or _origin(done, layer)
        ranking = _ranking(done, name) if ranked else ()
        verdict = (output_verdict(done, name),) if judged else ()
        rows.append((name, *figures, *ranking, *verdict, origin))
    verdicts = ("target",) if judged else ()
    heads = (*columns, *verdicts, "error")
    said = tuple(range(len(heads) - 1 - len(verdicts), len(heads)))
    return Table("Outputs", heads, tuple(rows), said)


def _ranking(done: LayerComparison, name: str) -> tuple[str, str]:
    """Format the agreement on the best class and on the best five."""
    found = done.rankings.get(name)
    if found is None:
        return "-", "-"
    return f"{found.top1:.2%}", "-" if found.top5 is None else f"{found.top5:.2%}"


def _worst_layers(done: LayerComparison, *, whole: bool) -> Table:
    """Return the layers with the largest errors, or all of them."""
    shown = done.worst()[: None if whole else _SHOWN]
    rows = tuple(
        (
            layer.source,
            f"{layer.source_op or spoken('input')} -> {layer.op}",
            layer.dtype,
            *_figures(layer),
            _origin(done, layer),
            "; ".join(layer.faults),
        )
        for layer in shown
    )
    title = f"Worst {len(shown)} of {len(done.layers)} layers"
    heads = (*_COLUMNS, "origin of the error", "faults")
    return Table(title, heads, rows, said=(len(heads) - 2, len(heads) - 1))


def _figures(layer: Layer) -> tuple[str, ...]:
    """Return the numbers of a layer."""
    figures, judged = layer.figures, layer.judged
    cosine = "NaN" if math.isnan(judged.cosine) else f"{judged.cosine:.6f}"
    numbers = (judged.distance, judged.snr, figures.max_absolute, figures.max_relative)
    return (cosine, *map(number_text, numbers))


def _unmatched_table(done: LayerComparison) -> Table:
    """Return the table of unmatched nodes by side, operator and reason."""
    counts: dict[tuple[str, str, str], int] = {}
    for side, group in (("device", done.device_alone), ("original", done.original_alone)):
        for each in group:
            key = (side, each.op, each.reason)
            counts[key] = counts.get(key, 0) + 1
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    rows = [(spoken(side), op, str(count), why) for (side, op, why), count in ranked[:_ALONE_SHOWN]]
    left = sum(count for _, count in ranked[_ALONE_SHOWN:])
    if left:
        rows.append(("", spoken("others"), str(left), "--format json names them all"))
    return Table(
        "Without counterpart", ("side", "operator", "nodes>", "why"), tuple(rows), said=(3,)
    )


def cost_lines(done: LayerComparison) -> list[str]:
    """Return time and memory in words."""
    engines = " and ".join(done.engines) or "nothing"
    engines += f" in its {done.original_form.upper()} form" if done.original_form else ""
    times = (
        f"samples {done.samples}; original {format_seconds(done.reference_seconds)} by {engines}, "
        f"device {done.device} {format_seconds(done.device_seconds)}, all {format_seconds(done.seconds)}"
    )
    memory = (
        f"of the original's inputs and results at most {format_bytes(done.peak_bytes)} of "
        f"{format_bytes(done.total_bytes)} were held at once"
    )
    return [times, memory]


def _escaped(text: str) -> str:
    """Return `text` with terminal commands and other unprintable characters escaped."""
    from atc_py.report.escape import visible

    return visible(text)
