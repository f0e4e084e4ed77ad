"""Comparisons of several gears, one after the other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from atc_py.diag.language import spoken
from atc_py.options.gears import format_gear
from atc_py.report.layers.json_document import layers_json
from atc_py.report.layers.text import layers_text
from atc_py.report.model.gears import gear_shapes_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.compare.gears import ComparedGear
    from atc_py.diag import Diagnostic
    from atc_py.results.layer_comparison import LayerComparison

__all__ = ["render_gears"]


def render_gears(
    form: str,
    compared: Sequence[ComparedGear],
    findings: Sequence[Sequence[Diagnostic]],
    unused: int = 0,
) -> str:
    """Return the comparisons as one text, or one JSON document.

    Args:
        form: `text` or `json`.
        compared: the gears.
        findings: why the command fails, for each gear.
        unused: how many samples fit no gear.
    """
    if form == "json":
        return _document(compared, findings, unused)
    return _text(compared, unused)


def _text(compared: Sequence[ComparedGear], unused: int) -> str:
    """Return the reports of all gears in plain text, each below its numbers."""
    parts = [
        spoken(f"Gear {format_gear(each.values)}: {gear_shapes_text(each.shapes)}")
        + f"\n\n{_comparison(each.done)}"
        for each in compared
    ]
    if unused:
        parts.append(spoken(f"{unused} of the samples fit no gear") + "\n")
    return "\n".join(parts)


def _comparison(done: LayerComparison | None) -> str:
    """Return the report of a gear, or that there is none."""
    return spoken("no sample fits these dims") + "\n" if done is None else layers_text(done)


def _document(
    compared: Sequence[ComparedGear],
    findings: Sequence[Sequence[Diagnostic]],
    unused: int,
) -> str:
    """Return the comparisons as one JSON document."""
    listed = [
        {
            "gear": list(each.values),
            "inputs": {name: list(shape) for name, shape in each.shapes.items()},
            **({"samples": 0} if each.done is None else layers_json(each.done)),
            "diagnostics": [found.as_json() for found in own],
        }
        for each, own in zip(compared, findings, strict=True)
    ]
    every = [found.as_json() for own in findings for found in own]
    document = {"gears": listed, "unused_samples": unused, "diagnostics": every}
    return json.dumps(document, indent=2, allow_nan=False) + "\n"
