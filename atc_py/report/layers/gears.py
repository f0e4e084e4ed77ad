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

__all__ = ["gears_document", "gears_text"]


def gears_text(compared: Sequence[ComparedGear]) -> str:
    """Return the reports of all gears in plain text, each below its numbers."""
    return "\n".join(
        spoken(f"Gear {format_gear(each.values)}: {gear_shapes_text(each.shapes)}")
        + f"\n\n{layers_text(each.done)}"
        for each in compared
    )


def gears_document(
    compared: Sequence[ComparedGear], findings: Sequence[Sequence[Diagnostic]]
) -> str:
    """Return the comparisons as one JSON document.

    Args:
        compared: the gears.
        findings: why the command fails, for each gear.
    """
    listed = [
        {
            "gear": list(each.values),
            "inputs": {name: list(shape) for name, shape in each.shapes.items()},
            **layers_json(each.done),
            "diagnostics": [found.as_json() for found in own],
        }
        for each, own in zip(compared, findings, strict=True)
    ]
    every = [found.as_json() for own in findings for found in own]
    document = {"gears": listed, "diagnostics": every}
    return json.dumps(document, indent=2, allow_nan=False) + "\n"
