"""A layer-by-layer comparison as tables, the worst layers first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from atc_py.report.layers.suggestion import suggestion_lines
from atc_py.report.tables import Table, format_bytes, format_seconds, plain_lines
from atc_py.results.layers import BORN_FACTOR, Birth

if TYPE_CHECKING:
    from atc_py.results.layers import Layer, LayerComparison

__all__ = ["growth_text", "layer_lines", "layers_text", "number_text", "origin_text"]

_SHOWN = 20
_ALONE_SHOWN = 8
_COLUMNS = ("layer", "from", "dtype", "cosine>", "distance>", "SNR dB>", "max abs>", "max rel>")


def layers_text(done: LayerComparison) -> str:
    """The whole report in plain text."""
    return "\n".join(layer_lines(done)) + "\n"


def layer_lines(done: LayerComparison) -> list[str]:
    """The report line by line: verdict, outputs, worst layers, what has no counterpart, cost."""
    tables = [_outputs(done), _worst(done), _alone(done)]
    lines = _verdict(done)
    for table in tables:
        if table.rows:
            lines += ["", *plain_lines(table)]
    if done.suggestion is not None:
        lines += ["", *suggestion_lines(done.suggestion)]
    return [*lines, "", *_cost(done)]


def number_text(value: float) -> str:
    """A figure as it is shown."""
    if math.isnan(value):
        return "NaN"
    return f"{value:.4g}" if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def origin_text(done: LayerComparison, layer: Layer) -> str:
    """Whether the error was born in the layer, or where it came from."""
    root = done.root_of(layer)
    if layer.birth is not Birth.PASSED_ON or root is None:
        return layer.birth.value + (", its terms cancel" if layer.cancels else "")
    return f"passed on from {root.source}"


def growth_text(done: LayerComparison, layer: Layer) -> str:
    """How an error that drifted grew; empty where it is about as large as where it was born."""
    root = done.root_of(layer)
    if root is None or layer.birth is not Birth.PASSED_ON or not math.isfinite(layer.error):
        return ""
    if layer.error <= BORN_FACTOR * root.error:
        return ""
    return (
        f"it drifted: {number_text(root.error)} there, {number_text(layer.error)} here, grown over "
        f"{layer.steps} layers none of which doubled it"
    )


def _verdict(done: LayerComparison) -> list[str]:
    """What is wrong, in the first lines."""
    first = done.first_bad
    stopped = [_visible(f"the device stopped: {done.stopped}")] if done.stopped else []
    if first is None:
        return [*stopped, "no layer is bad"]
    head = f"first bad layer: {_title(first)}: {'; '.join(first.faults)}"
    lines = [_visible(head), _visible(f"  its error: {origin_text(done, first)}")]
    grown = growth_text(done, first)
    lines += [f"  {grown}"] if grown else []
    bad = sum(bool(layer.faults) for layer in done.layers)
    reached = any(done.layers[at].faults for at in done.outputs.values())
    tail = "outputs are bad too" if reached else "no output is bad: it does not matter here"
    if stopped:
        tail = "no output was reached"
    return [*stopped, *lines, f"  {bad} of {len(done.layers)} layers are bad; {tail}"]


def _title(layer: Layer) -> str:
    """The original's node and, in brackets, what runs it."""
    source = f"{layer.source} ({layer.source_op or 'input'})"
    return f"{source}, {layer.op} in {layer.dtype} on the device"


def _outputs(done: LayerComparison) -> Table:
    """The model's outputs."""
    rows = tuple(
        (name, *_figures(done.layers[at]), origin_text(done, done.layers[at]))
        for name, at in done.outputs.items()
    )
    return Table("Outputs", ("output", *_COLUMNS[3:], "error"), rows)


def _worst(done: LayerComparison) -> Table:
    """The layers with the largest errors."""
    shown = done.worst()[:_SHOWN]
    rows = tuple(
        (
            layer.source,
            f"{layer.source_op or 'input'} -> {layer.op}",
            layer.dtype,
            *_figures(layer),
            origin_text(done, layer),
            "; ".join(layer.faults),
        )
        for layer in shown
    )
    title = f"Worst {len(shown)} of {len(done.layers)} layers"
    return Table(title, (*_COLUMNS, "error", "what is wrong"), rows)


def _figures(layer: Layer) -> tuple[str, ...]:
    """The numbers of a layer."""
    figures = layer.figures
    cosine = "NaN" if math.isnan(figures.cosine) else f"{figures.cosine:.6f}"
    numbers = (figures.distance, figures.snr, figures.max_absolute, figures.max_relative)
    return (cosine, *map(number_text, numbers))


def _alone(done: LayerComparison) -> Table:
    """What has no counterpart, counted by side, operator and reason."""
    counts: dict[tuple[str, str, str], int] = {}
    for side, group in (("device", done.device_alone), ("original", done.original_alone)):
        for each in group:
            key = (side, each.op, each.reason)
            counts[key] = counts.get(key, 0) + 1
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    rows = [(side, op, str(count), why) for (side, op, why), count in ranked[:_ALONE_SHOWN]]
    left = sum(count for _, count in ranked[_ALONE_SHOWN:])
    if left:
        rows.append(("", "others", str(left), "--format json names them all"))
    return Table("Without counterpart", ("side", "operator", "nodes>", "why"), tuple(rows))


def _cost(done: LayerComparison) -> list[str]:
    """Time and memory."""
    engines = " and ".join(done.engines) or "nothing"
    times = (
        f"samples {done.samples}; original {format_seconds(done.reference_seconds)} by {engines}, "
        f"device {format_seconds(done.device_seconds)}, all {format_seconds(done.seconds)}"
    )
    memory = (
        f"of the original's inputs and results at most {format_bytes(done.peak_bytes)} of "
        f"{format_bytes(done.total_bytes)} were held at once"
    )
    return [times, memory]


def _visible(text: str) -> str:
    """`text` without what could command a terminal."""
    from atc_py.report.escape import visible

    return visible(text)
