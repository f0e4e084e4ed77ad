"""The words of a check's reports about dims that the model leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from atc_py.report.tables import clipped
from atc_py.text import Text, all_of, verbatim

if TYPE_CHECKING:
    from atc_py.report.check.document import CheckedModel, OpenAxis


def hint_text(model: CheckedModel) -> Text:
    if model.shape_hint_fits and not model.shape_hint_runs:
        return Text(
            "Some dims are open. The model compiles with these dims, but no run with them gave "
            "numbers; replace them with your own:"
        )
    if model.shape_hint_fits:
        return Text(
            "Some dims are open. The model accepts these proposed dims; replace them with your own:"
        )
    return Text(
        "Some dims are open. None of the {shape_hint_tries} choices that were tried fits "
        "the model; put a number in place of each name or ?:",
        shape_hint_tries=model.shape_hint_tries,
    )


def deciding_text(model: CheckedModel) -> Text:
    """Say which dims decide: `depends on height and width of images`; mostly empty."""
    if not model.deciding:
        return Text("")
    dims = _dims(model.deciding)
    labels: dict[tuple[str, ...], list[Text]] = {}
    for axes in dims:
        inputs = tuple(dict.fromkeys(axis.input for axis in axes))
        labels.setdefault(inputs, []).append(_label(axes[0]))
    parts = [
        Text("{dims} of {inputs}", dims=all_of(named), inputs=all_of(map(clipped, inputs)))
        for inputs, named in labels.items()
    ]
    *most, last = parts
    named = Text(" and ", context="inputs").join([Text(", ", context="inputs").join(most), last])
    return Text("depends on {dims}", dims=named if most else last)


def _dims(axes: Sequence[OpenAxis]) -> list[list[OpenAxis]]:
    dims: dict[str | tuple[str, int], list[OpenAxis]] = {}
    for axis in axes:
        dims.setdefault(_name(axis) or (axis.input, axis.axis), []).append(axis)
    return list(dims.values())


def _name(axis: OpenAxis) -> str:
    """The dim's name; "" for none, and for the question marks that exporters write in its place."""
    return axis.name if axis.name.strip("?") else ""


def _label(axis: OpenAxis) -> Text:
    name = clipped(_name(axis))
    return verbatim(name) if name else Text("axis {axis}", axis=axis.axis)
