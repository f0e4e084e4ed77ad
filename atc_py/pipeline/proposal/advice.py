"""Advice about open dims, as text for --input-shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from atc_py.check.findings import Finding
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.options.auto_gears import unnamed_dim
from atc_py.options.input_shapes import ShapeAdvice, format_input_shapes
from atc_py.pipeline.judging import Judge, Judgment
from atc_py.pipeline.proposal.open_dims import open_form, shapes_of
from atc_py.system.structs import replace
from atc_py.tensor.shapes import Shape

if TYPE_CHECKING:
    from atc_py.onnx_graph.source import OpenDim
    from atc_py.pipeline.proposal.search import Proposal, Ran, Search, Tried

_LARGER = 4
"""The largest of proposed gears is so many times the choice that fits."""


def advise(
    file: OnnxFile,
    shapes: Mapping[str, Shape],
    judge: Judge,
    refused: Callable[[Judgment], Iterable[Finding]] = lambda _: (),
    run: Callable[[Judgment], Ran] | None = None,
) -> ShapeAdvice:
    """Find shapes for the inputs that `shapes` leaves open, and try them on the model.

    Shapes that contradict the model's own are passed over.

    `judge` judges the model, `refused` finds what of a sound model does not compile, and `run` runs
    what compiles.
    """
    from atc_py.pipeline.proposal.search import Search

    given = {
        each.name: shapes[each.name]
        for each in file.inputs
        if each.name in shapes
        and each.fits(shapes[each.name])
        and min(shapes[each.name], default=1)
    }
    fixed = with_shapes(file, given)
    search = Search(fixed, judge, judge(fixed), refused, run)
    return advice_of(file, search.propose(), given)


def with_shapes(file: OnnxFile, shapes: Mapping[str, Shape]) -> OnnxFile:
    """`file` as if its inputs stated the shapes that are given."""
    inputs = (
        replace(each, dims=shapes[each.name]) if each.name in shapes else each
        for each in file.inputs
    )
    return replace(file, inputs=tuple(inputs))


def advice_of(file: OnnxFile, proposal: Proposal, given: Mapping[str, Shape]) -> ShapeAdvice:
    """Write what a search came to: its best choice where that fits, else names of dims."""
    if not proposal.best.fits:
        return ShapeAdvice(open_form(file.inputs, given), fits=False, tried=proposal.count)
    names = (
        each.name
        for each in file.inputs
        if each.name in given or each.dims is None or any(isinstance(d, str) for d in each.dims)
    )
    shapes = shapes_of(proposal.best.judgment.file, names)
    text, best = format_input_shapes(shapes), proposal.best
    return ShapeAdvice(text, fits=True, tried=proposal.count, runs=best.is_proposal)


def gears_line(search: Search, best: Tried) -> str:
    """A text for --auto-gears with one dim between the choice that fits and a larger one.

    Empty where the larger one does not fit, as where dims depend on each other, or is not tried.
    """
    from atc_py.pipeline.proposal.search import NUMBER, mask_sums

    if not best.is_proposal or not search.may_go_on or not best.values:
        return ""
    sums = dict(mask_sums(best.values))
    varied = [d for d in best.values if not (d.is_batch or d in sums or NUMBER.fullmatch(d.name))]
    last = (varied or list(best.values))[-1]
    low, high = best.values[last], _LARGER * best.values[last]
    larger = {**best.values, last: high}
    larger |= {total: sum(larger[part] for part in parts) for total, parts in sums.items()}
    if not search.at(larger).is_proposal:
        return ""
    numbers = {dim: str(value) for dim, value in best.values.items()} | {last: f"{low}~{high}"}
    numbers |= {total: "+".join(map(gear_name, parts)) for total, parts in sums.items()}
    return ";".join(f"{gear_name(dim)}={number}" for dim, number in numbers.items())


def gear_name(dim: OpenDim) -> str:
    """The name by which --auto-gears takes a dim."""
    return dim.name or unnamed_dim(*dim.places[0])
