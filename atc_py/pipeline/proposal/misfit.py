"""Dims that the user gave and the model rejects: the reason, and the nearest that fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from atc_py.diag import BAD_INPUT_SHAPE, AtcFault, Diagnostic
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.source import OpenDim
from atc_py.options.input_shapes import INPUT_SHAPE_PLACE, format_input_shapes
from atc_py.pipeline.judging import Judge, Judgment
from atc_py.pipeline.proposal.open_dims import given_dims, shapes_of
from atc_py.system.structs import replace
from atc_py.tensor.shapes import Shape
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.pipeline.proposal.search import Search, Tried


_MULTIPLES = (2, 4, 8, 16, 32, 64)
"""Numbers by which networks divide heights and widths."""


class Misfit(msgspec.Struct, frozen=True):
    """Reason why the model does not take the user's dims."""

    # BAD_INPUT_SHAPE with the node where it shows, and the nearest dims that fit
    diagnostic: Diagnostic
    known: Judgment  # the findings that hold for any choice of dims


def find_misfit(
    file: OnnxFile, shapes: Mapping[str, Shape], judge: Judge, fault: Diagnostic
) -> Misfit | None:
    """The misfit if the user's dims are the reason for a fault, else None.

    They are the reason where the model is sound with these dims open, and with others that are
    near, or that a search finds.
    """
    from atc_py.pipeline.proposal.search import Search

    base = _with_ranks(file, shapes)
    values = given_dims(base.inputs, shapes)
    if not values:
        return None
    known = judge(base)
    if _place_of(fault) in {_place_of(each) for each in known.faults}:
        return None
    names = {name for dim in values for name, _ in dim.places} & set(shapes)
    found = [
        format_input_shapes(shapes_of(each.judgment.file, names))
        for each in _fitting_choices(Search(base, judge, known), values)
    ]
    if not found:
        return None
    return Misfit(
        _diagnostic(base, {n: shapes[n] for n in shapes if n in names}, fault, found), known
    )


def _diagnostic(
    file: OnnxFile, given: Mapping[str, Shape], fault: Diagnostic, found: Sequence[str]
) -> Diagnostic:
    where = str(fault.place._replace(file=None, field=None)) if fault.place else ""
    at = f"at {where}, " if where else ""
    return BAD_INPUT_SHAPE.diagnostic(
        Text(
            'the model does not take "{input_shapes}": {at}{message}',
            input_shapes=format_input_shapes(given),
            at=at,
            message=fault.message,
        ),
        place=INPUT_SHAPE_PLACE._replace(file=str(file.path)),
        help=Text(
            "the nearest dims that fit are these: --input-shape {shapes}"
            if len(found) == 1
            else "the nearest dims that fit are --input-shape {shapes}",
            shapes=Text(" or ").join(f'"{text}"' for text in found),
        ),
        atc=AtcFault("E89999", (fault.message,)),
    )


def _with_ranks(file: OnnxFile, shapes: Mapping[str, Shape]) -> OnnxFile:
    """The file with as many open dims for inputs of unknown rank as the user gave."""
    inputs = (
        replace(each, dims=("",) * len(shapes[each.name]))
        if each.dims is None and each.name in shapes
        else each
        for each in file.inputs
    )
    return replace(file, inputs=tuple(inputs))


def _place_of(fault: Diagnostic) -> object:
    """The node where a fault shows."""
    return fault.place and fault.place.node


def _fitting_choices(search: Search, values: Mapping[OpenDim, int]) -> list[Tried]:
    """Find choices near `values` that fit: the next smaller one and the next larger one."""
    same = search.at(values)
    if not same.faults:
        return [same]  # dims of one name were given different values
    found = [
        near
        for upwards in (False, True)
        if (near := _nearest_choice(search, values, upwards=upwards)) is not None
    ]
    best = [near for near in found if near.fits] or found
    if best:
        return best
    proposal = search.propose().best
    return [proposal] if proposal.fits else []


def _nearest_choice(
    search: Search, values: Mapping[OpenDim, int], *, upwards: bool
) -> Tried | None:
    """Find the nearest choice, up or down, whose dims other than batches are multiples."""
    faultless: Tried | None = None
    for multiple in search.few(_MULTIPLES):
        room = multiple - 1 if upwards else 0
        rounded = {
            dim: value if dim.is_batch else max(1, (value + room) // multiple) * multiple
            for dim, value in values.items()
        }
        if rounded == values:
            continue
        near = search.at(rounded)
        if near.fits:
            return near
        faultless = faultless or (None if near.faults else near)
    return faultless
