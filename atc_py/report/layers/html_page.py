"""A layer-by-layer comparison as one HTML file that needs nothing else."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from atc_py.report.layers.histogram import drawing
from atc_py.report.layers.suggestion import suggestion_lines
from atc_py.report.layers.text import layer_lines, number_text, origin_text, outputs_table
from atc_py.report.page import render_page

if TYPE_CHECKING:
    from atc_py.results.layer import Layer
    from atc_py.results.layer_comparison import LayerComparison

__all__ = ["layers_html"]

_WIDTH, _HEIGHT = 1000.0, 240.0
_DECADES = 8
"""Decades of the picture's axis: errors from 1e-8 to 1 differ in height."""


def layers_html(done: LayerComparison) -> str:
    """Return the report as a page: the verdict, error along the network, and a table to sort.

    Raises:
        AtcError: BAD_TEMPLATE where the template is missing or does not render.
    """
    lines = layer_lines(done)
    return render_page(
        "compare",
        done=done,
        model=str(done.model),
        verdict=lines[: lines.index("")],
        cost=lines[-2:],
        outputs=outputs_table(done).visible(),
        points=[_point(done, at) for at in range(len(done.layers))],
        grid=[_height(10.0**-decade) for decade in range(_DECADES + 1)],
        histograms=[
            (f"{layer.source} ({layer.source_op or 'input'})", layer, drawing(each))
            for layer, each in ((done.layers[at], each) for at, each in done.histograms.items())
        ],
        suggestion=[] if done.suggestion is None else suggestion_lines(done.suggestion),
        rows=[_row(done, layer) for layer in done.layers],
        alone=[*done.device_alone, *done.original_alone],
        width=f"{_WIDTH:.0f}",
        height=f"{_HEIGHT:.0f}",
    )


def _height(error: float) -> str:
    """Return the height of an error in the chart; logarithmic, the largest at the top."""
    if math.isinf(error) or error >= 1:
        return "0.0"
    decades = min(-math.log10(error), _DECADES) if error > 0 else float(_DECADES)
    return f"{_HEIGHT * decades / _DECADES:.1f}"


def _point(done: LayerComparison, at: int) -> dict[str, str]:
    """Return a layer in the picture."""
    layer = done.layers[at]
    kind = "failing" if layer.faults else "introduced" if layer.root == at else "good"
    return {
        "x": f"{_WIDTH * (at + 0.5) / len(done.layers):.1f}",
        "y": _height(layer.judged_error),
        "kind": kind,
        "title": f"{at}: {layer.source}, {layer.op}: {number_text(layer.judged_error)}",
    }


def _row(done: LayerComparison, layer: Layer) -> dict[str, object]:
    """Return a layer in the table; numbers beside the text that shows them, for sorting."""
    figures = layer.figures
    numbers = (
        *layer.judged, figures.max_absolute,
        figures.max_relative, figures.lost_share, figures.lowest, figures.highest,
        figures.overflow.share, figures.underflow.share,
    )  # fmt: skip
    return {
        "layer": layer,
        "numbers": [(number_text(value), repr(value)) for value in numbers],
        "origin": origin_text(done, layer),
        "faults": "; ".join(layer.faults),
    }
