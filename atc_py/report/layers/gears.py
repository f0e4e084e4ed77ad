"""Comparisons of several gears, one after the other."""

import json
from collections.abc import Sequence
from pathlib import Path

from atc_py.compare.gears import ComparedGear
from atc_py.diag import Diagnostic
from atc_py.options.gears import format_gear
from atc_py.options.input_shapes import format_input_shapes
from atc_py.report.escape import visible
from atc_py.report.layers.text import layers_text
from atc_py.report.model.gears import gear_shapes_text
from atc_py.results.summary import ModelSummary
from atc_py.text import Text
from atc_py.text.language import spoken


def gears_text(compared: Sequence[ComparedGear]) -> str:
    """The reports of all gears in plain text, each below its numbers."""
    return "\n".join(f"{gear_title(gear)}\n\n{_text(gear)}" for gear in compared)


def gear_title(gear: ComparedGear) -> str:
    """The numbers of a gear, and its shapes."""
    return spoken(
        Text(
            "Gear {gear}: {gear_shapes}",
            gear=format_gear(gear.values),
            gear_shapes=gear_shapes_text(gear.shapes),
        )
    )


def _text(gear: ComparedGear) -> str:
    if gear.done is not None:
        return layers_text(gear.done)
    reasons = [
        spoken(Text("not compared: {message}", message=finding.message))
        for finding in gear.not_compared
    ]
    return "".join(f"{visible(line)}\n" for line in reasons)


def gears_document(
    compared: Sequence[ComparedGear],
    findings: Sequence[Sequence[Diagnostic]],
    left_out: Sequence[Diagnostic] = (),
) -> str:
    """The comparisons as one JSON document, with why the command fails and samples left out."""
    listed = [
        {
            "gear": list(gear.values),
            "inputs": {name: list(shape) for name, shape in gear.shapes.items()},
            "compared": gear.done is not None,
            **({} if gear.done is None else gear.done.as_json()),
            "diagnostics": [finding.as_json() for finding in own],
        }
        for gear, own in zip(compared, findings, strict=True)
    ]
    every = [finding.as_json() for own in (*findings, left_out) for finding in own]
    document = {"gears": listed, "diagnostics": every}
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def gears_html(
    model: Path,
    compared: Sequence[ComparedGear],
    findings: Sequence[Sequence[Diagnostic]],
    left_out: Sequence[Diagnostic] = (),
) -> str:
    """One page with the comparison of each gear; the first names samples that fit no gear.

    Raises:
        AtcError: BAD_TEMPLATE where a template is missing or does not render.
    """
    from atc_py.pipeline.file_graph import compiled_file_graph
    from atc_py.report.page.html_page import summaries_html  # jinja2 takes long to import

    return summaries_html(
        [
            ModelSummary(
                model,
                file_graph=None
                if gear.compiled is None
                else compiled_file_graph(model, gear.compiled),
                compiled=gear.compiled,
                comparison=gear.done,
                missed=(*(() if gear.done is None else own), *(() if at else left_out)),
                not_compared=gear.not_compared,
                gear=format_gear(gear.values),
                shape=format_input_shapes(gear.shapes),
            )
            for at, (gear, own) in enumerate(zip(compared, findings, strict=True))
        ]
    )
