"""A layer-by-layer comparison as one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import math
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError
from markupsafe import Markup

from atc_py.diag import Place
from atc_py.diag.codes import BAD_TEMPLATE
from atc_py.report.escape import visible
from atc_py.report.layers_text import layer_lines, number_text, origin_text
from atc_py.resources import templates_dir

if TYPE_CHECKING:
    from pathlib import Path

    from atc_py.report.layers import Layer, LayerComparison

__all__ = ["layers_html"]

_NAME = "compare.html.j2"
_STYLE, _SCRIPT = "compare.css", "compare.js"

_WIDTH, _HEIGHT = 1000.0, 240.0
_DECADES = 8
"""Errors from 1e-8 to 1 are told apart in the picture."""


def layers_html(done: LayerComparison) -> str:
    """The report as a page: the verdict, error along the network, and a table to sort.

    Raises:
        AtcError: BAD_TEMPLATE where the template is missing or does not render.
    """
    folder = templates_dir() / "report"
    environment = Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    lines = layer_lines(done)
    try:
        style, script = _source(folder / _STYLE), _source(folder / _SCRIPT)
        return environment.get_template(_NAME).render(
            done=done,
            model=str(done.model),
            style=style,
            script=script,
            policy=_policy(style, script),
            verdict=lines[: lines.index("")],
            cost=lines[-2:],
            points=[_point(done, at) for at in range(len(done.layers))],
            grid=[_height(10.0**-decade) for decade in range(_DECADES + 1)],
            rows=[_row(done, layer) for layer in done.layers],
            alone=[*done.device_alone, *done.original_alone],
            width=f"{_WIDTH:.0f}",
            height=f"{_HEIGHT:.0f}",
        )
    except (TemplateError, OSError) as error:
        raise BAD_TEMPLATE.error(
            f"template {_NAME!r} does not render: {error}",
            place=Place(str(folder / _NAME), line=getattr(error, "lineno", None)),
            help="reinstall atc-py to restore its templates",
        ) from error


def _shown(value: object) -> object:
    """Names from files cannot turn the reading direction or hide what they are."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _source(path: Path) -> Markup:
    """Style or script as it stands; both are the project's own files."""
    return Markup(path.read_text(encoding="utf-8"))  # noqa: S704  (no text of a model is in it)


def _policy(style: str, script: str) -> str:
    """What the browser may load: nothing, and of what stands here just style and script."""
    digests = (
        base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()
        for text in (style, script)
    )
    styles, scripts = (f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; style-src {styles}; script-src {scripts}; "
        "base-uri 'none'; form-action 'none'"
    )


def _height(error: float) -> str:
    """Where an error stands in the picture; logarithmic, the largest at the top."""
    if math.isinf(error) or error >= 1:
        return "0.0"
    decades = min(-math.log10(error), _DECADES) if error > 0 else float(_DECADES)
    return f"{_HEIGHT * decades / _DECADES:.1f}"


def _point(done: LayerComparison, at: int) -> dict[str, str]:
    """A layer in the picture."""
    layer = done.layers[at]
    kind = "bad" if layer.faults else "born" if layer.root == at else "good"
    return {
        "x": f"{_WIDTH * (at + 0.5) / len(done.layers):.1f}",
        "y": _height(layer.error),
        "kind": kind,
        "title": f"{at}: {layer.source}, {layer.op}: {number_text(layer.error)}",
    }


def _row(done: LayerComparison, layer: Layer) -> dict[str, object]:
    """A layer in the table; numbers beside the text that shows them, for sorting."""
    figures = layer.figures
    numbers = (
        figures.cosine, figures.distance, figures.snr, figures.max_absolute,
        figures.max_relative, figures.lost_share, figures.lowest, figures.highest,
        figures.overflow.share, figures.underflow.share,
    )  # fmt: skip
    return {
        "layer": layer,
        "numbers": [(number_text(value), repr(value)) for value in numbers],
        "origin": origin_text(done, layer),
        "faults": "; ".join(layer.faults),
    }
