"""Operators whose numbers are inputs: each does what its form with attributes does.

The numbers are known when the node is typed: with the model, or else in the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atc_py.device.sim.kernel import Call, Kernel, Rounding, Traits, find_kernel, kernel
from atc_py.device.sim.typing_rules import axes_of
from atc_py.package.node_view import LastingError, NodeError, NodeView, TensorFacts
from atc_py.system.structs import replace
from atc_py.target.row import AttributeValue
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

if TYPE_CHECKING:
    from typing_extensions import Unpack


_STRIDES = 4
"""Position of the strides of StridedSliceV2, after its axes."""


def _numbers(node: NodeView, position: int) -> tuple[int, ...]:
    return node.integers_of(position, Text("input {at}", at=position))


def _named(name: str) -> Callable[[NodeView], Mapping[str, AttributeValue]]:
    """Read the numbers of the second input as one attribute."""
    return lambda node: {name: _numbers(node, 1)}


def _slice(node: NodeView) -> Mapping[str, AttributeValue]:
    """Bounds of every axis, counted from the front, from those of the axes named."""
    begins, ends = _numbers(node, 1), _numbers(node, 2)
    given = tuple(range(len(begins))) if node.input(3) is None else _numbers(node, 3)
    strides = (1,) * len(begins) if node.input(_STRIDES) is None else _numbers(node, _STRIDES)
    if not len(begins) == len(ends) == len(given) == len(strides) or 0 in strides:
        text = Text(
            "begin {b}, end {e}, axes {a} and strides {s} must have the same length, and "
            "strides must not be 0"
        )
        lists = {"b": list(begins), "e": list(ends), "a": list(given), "s": list(strides)}
        raise NodeError(text.with_values(**lists))
    ranges = [range(dim) for dim in node.x.shape]
    for begin, end, axis, stride in zip(
        begins, ends, axes_of(given, node.x.rank), strides, strict=True
    ):
        reached = range(*slice(begin, end, stride).indices(node.x.shape[axis]))
        ranges[axis] = reached or range(0)
    return {
        "begin": tuple(reached.start for reached in ranges),
        "end": tuple(reached.stop for reached in ranges),
        "strides": tuple(reached.step for reached in ranges),
        "begin_mask": 0,
        "end_mask": 0,
    }


def _pad(node: NodeView) -> Mapping[str, AttributeValue]:
    paddings = _numbers(node, 1)
    if len(paddings) != 2 * node.x.rank:
        text = Text("paddings must have {n} numbers, found {found}")
        raise NodeError(text.with_values(n=2 * node.x.rank, found=list(paddings)))
    if not node.flag("paddings_contiguous"):
        sides = (paddings[: node.x.rank], paddings[node.x.rank :])
        paddings = tuple(number for pair in zip(*sides, strict=True) for number in pair)
    return {"paddings": paddings, "mode": node.text("mode"), "constant_values": 0.0}


def _one_hot(node: NodeView) -> Mapping[str, AttributeValue]:
    axes_of((node.integer("axis"),), node.x.rank + 1)
    if not node.x.dtype.is_integer:  # before the depth, which the run alone may know
        raise LastingError(Text("indices must be integers, found {found}", found=node.x))
    depth = _numbers(node, 1)
    if len(depth) != 1:
        raise NodeError(Text("depth must be one number, found {found}", found=list(depth)))
    return {"depth": depth[0], "axis": node.integer("axis")}


def _reduce(node: NodeView) -> Mapping[str, AttributeValue]:
    """The axes; all of them where none is named, unless that means none."""
    axes = _numbers(node, 1)
    if not axes and not node.flag("noop_with_empty_axes"):
        axes = tuple(range(node.x.rank))
    # An axis may be named twice: from the front and from the back.
    distinct = {axis for each in axes for axis in axes_of((each,), node.x.rank)}
    return {"axes": tuple(sorted(distinct)), "keep_dims": node.flag("keep_dims")}


def _parts(node: NodeView) -> Mapping[str, AttributeValue]:
    (axis,), count = axes_of((node.integer("split_dim"),), node.x.rank), node.integer("num_split")
    if count < 1 or node.x.shape[axis] % count:
        text = Text("an axis of {dim} has no {count} equal parts")
        raise NodeError(text.with_values(dim=node.x.shape[axis], count=count))
    sizes = (node.x.shape[axis] // count,) * count
    return {"size_splits": sizes, "split_dim": axis, "num_split": count}


@dataclass(frozen=True, slots=True)
class _Form:
    """The form of an operator that has the numbers as attributes."""

    op: str
    kept: tuple[int, ...]  # positions of the inputs that it has, too
    read: Callable[[NodeView], Mapping[str, AttributeValue]]

    @property
    def kernel(self) -> Kernel:
        found = find_kernel(self.op)
        if found is None:
            raise NodeError(Text("the device has no operator {op}", op=repr(self.op)))
        return found

    def node(self, node: NodeView) -> NodeView:
        inputs = tuple(node.input(position) for position in self.kept)
        return replace(node, op=self.op, inputs=inputs, attributes=self.read(node), numbers={})

    def types(self, node: NodeView) -> tuple[TensorFacts, ...]:
        return self.kernel.types(self.node(node))

    def run(self, call: Call) -> None:
        inputs = tuple(call.inputs[position] for position in self.kept)
        self.kernel.run(replace(call, node=self.node(call.node), inputs=inputs))


def _register(op: str, form: _Form, **traits: Unpack[Traits]) -> None:
    kernel(op, form.types, **traits)(form.run)


_X = (0,)

_register("Expand", _Form("ExpandD", _X, _named("shape")), rounding=Rounding.ON_GRID)
_register("OneHot", _Form("OneHotD", (0, 2, 3), _one_hot), rounding=Rounding.ON_GRID)
_register("PadV3", _Form("PadV3D", _X, _pad), rounding=Rounding.ON_GRID)
_register("ReduceSum", _Form("ReduceSumD", _X, _reduce))
_register("SplitD", _Form("SplitVD", _X, _parts), rounding=Rounding.ON_GRID)
_register("SqueezeV3", _Form("Squeeze", _X, _named("axis")), rounding=Rounding.ON_GRID, alias=True)
_register("StridedSliceV2", _Form("StridedSliceD", _X, _slice), rounding=Rounding.ON_GRID)
_register("Tile", _Form("TileD", _X, _named("multiples")), rounding=Rounding.ON_GRID)


def _count_type(node: NodeView) -> tuple[TensorFacts, ...]:
    node.expect("dtype", DType.INT64)
    return (TensorFacts(DType.INT64, (node.x.rank,) if node.op == "Shape" else ()),)


@kernel("Shape", _count_type, rounding=Rounding.ON_GRID)
def shape_of(call: Call) -> None:
    """Compute the dims."""
    call.out[...] = call.x.shape


@kernel("Size", _count_type, rounding=Rounding.ON_GRID)
def size_of(call: Call) -> None:
    """Count the elements."""
    call.out[...] = call.x.size
