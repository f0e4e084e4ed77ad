"""The formats in which a layer-by-layer comparison can be had."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from atc_py.report.layers.csv_rows import layers_csv
from atc_py.report.layers.text import layers_text

if TYPE_CHECKING:
    from atc_py.results.layers import LayerComparison

__all__ = ["FORMATS", "render_layers"]

FORMATS = ("text", "json", "csv", "html")
"""Names of the formats."""


def render_layers(name: str, done: LayerComparison) -> str:
    """The comparison as text of the format `name`, one of FORMATS."""
    if name == "json":
        return json.dumps(done.as_json(), indent=2, allow_nan=False) + "\n"
    if name == "csv":
        return layers_csv(done)
    if name == "html":
        from atc_py.report.layers.html_page import layers_html  # jinja2 takes long to import

        return layers_html(done)
    return layers_text(done)
