"""The report of quantizing a float model in the format that a file's ending says."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from atc_py.diag import BAD_OPTION
from atc_py.report.page.rendering import plain_page
from atc_py.report.quantizing.tables import (
    decibel_text,
    fall_back_tables,
    float_quantization_tables,
    gain_tables,
    gains_rows,
    layers_table,
    outputs_table,
    summary_line,
)
from atc_py.report.tables import Table, plain_lines
from atc_py.results.quantization import FallBack, FloatQuantization, LayerCost, QuantizedLayerFacts
from atc_py.system.json_text import finite, format_json
from atc_py.text import Text
from atc_py.text.language import spoken

WIDTH, HEIGHT = 360.0, 110.0
"""Size of a histogram within its axes."""

_CURVE_WIDTH, _CURVE_HEIGHT = 720.0, 200.0


def quantization_html(done: FloatQuantization) -> str:
    proof = done.proof
    searched = None if proof is None else proof.fall_back
    costs = {} if proof is None else {layer.name: layer for layer in proof.layers}
    histograms = [
        drawn
        for drawn in (_histogram(each, costs.get(each.name)) for each in done.layers)
        if drawn is not None
    ]
    return plain_page(
        "quantize",
        lambda: {
            "model": str(done.model),
            "summary": summary_line(done),
            "facts": [
                ("samples", str(done.samples)),
                ("calibrator", done.calibrator),
                ("executor", done.executor),
                *gains_rows(done),
            ],
            "findings": [warning.as_json() for warning in done.warnings],
            "tables": [table.spoken().visible() for table in _outputs(done)],
            "curve": [] if searched is None else _curve(searched),
            "curve_size": (f"{_CURVE_WIDTH:.0f}", f"{_CURVE_HEIGHT:.0f}"),
            "layers": [
                table.spoken().visible() for table in (layers_table(done), *gain_tables(done))
            ],
            "histograms": histograms,
            "size": (f"{WIDTH:.0f}", f"{HEIGHT:.0f}"),
        },
    )


def _outputs(done: FloatQuantization) -> list[Table]:
    if done.proof is None:
        return []
    searched = done.proof.fall_back
    found = [] if searched is None else fall_back_tables(searched)
    return [outputs_table(done.proof, done.executor), *found]


def _histogram(layer: QuantizedLayerFacts, cost: LayerCost | None) -> dict[str, Any] | None:
    """The marks of a layer's values, the highest bar as high as the picture."""
    if cost is None or cost.values is None or layer.range_low is None or layer.range_high is None:
        return None
    values = cost.values
    low, high = min(values.low, layer.range_low), max(values.high, layer.range_high)
    span = (high - low) or 1.0
    width = (values.high - values.low) / len(values.shares)
    tallest = math.sqrt(max(values.shares)) or 1.0

    def place(value: float) -> float:
        return WIDTH * (value - low) / span

    bars = []
    for at, share in enumerate(values.shares):
        tall = HEIGHT * math.sqrt(share) / tallest  # roots, so that tails can be seen
        x = place(values.low + at * width)
        title = f"{values.low + at * width:.4g}: {share:.3%}"
        y, wide = HEIGHT - tall, WIDTH * width / span
        bars.append((f"{x:.1f}", f"{y:.1f}", f"{wide:.2f}", f"{tall:.1f}", title))
    return {
        "name": layer.name,
        "tensor": layer.tensor,
        "bars": bars,
        "left": f"{place(layer.range_low):.1f}",
        "width": f"{place(layer.range_high) - place(layer.range_low):.1f}",
        "low": f"{low:.4g}",
        "high": f"{high:.4g}",
        "range": f"[{layer.range_low:.4g}, {layer.range_high:.4g}]",
        "result": decibel_text(cost.result.snr),
    }


def _curve(fall_back: FallBack) -> list[dict[str, str]]:
    ratios = [(point, _least(point.outputs)) for point in fall_back.points]
    known = [ratio for _, ratio in ratios if math.isfinite(ratio)]
    top, bottom = max(known, default=1.0), min(known, default=0.0)
    span = (top - bottom) or 1.0
    most = max(len(fall_back.order), 1)
    marks = []
    for point, ratio in ratios:
        if not math.isfinite(ratio):
            continue
        time = "" if point.microseconds is None else f", {point.microseconds:.1f} µs"
        x = f"{_CURVE_WIDTH * point.int8 / most:.1f}"
        y = f"{_CURVE_HEIGHT * (top - ratio) / span:.1f}"
        kind = "supported" if point.reached else "error"
        title = f"{spoken('layers on int8')} {point.int8}: {ratio:.1f} dB{time}"
        marks.append({"x": x, "y": y, "kind": kind, "title": title})
    return marks


def _least(outputs: Mapping[str, Any]) -> float:
    return min((output.snr for output in outputs.values()), default=math.inf)


ENDINGS = (".txt", ".json", ".html")
"""Endings of report files."""


def check_ending(path: Path) -> None:
    """Refuse a file whose ending says no format.

    Raises:
        AtcError: BAD_OPTION.
    """
    if path.suffix.lower() not in ENDINGS:
        raise BAD_OPTION.error(
            Text("--report {path} does not show its format", path=path),
            help=Text("let it end in {endings}", endings=", ".join(ENDINGS)),
        )


def render_quantization(done: FloatQuantization, path: Path) -> str:
    ending = path.suffix.lower()
    if ending == ".json":
        return format_json(finite(done.as_json()))
    if ending == ".html":
        return quantization_html(done)
    lines = [[*plain_lines(table), ""] for table in float_quantization_tables(done)]
    return "\n".join(line for table in lines for line in table)
