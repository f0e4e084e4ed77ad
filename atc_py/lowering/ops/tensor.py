"""Lowering of operators that move or rename data."""

from collections.abc import Sequence

import numpy as np

from atc_py.ir import ConstData, SplatConst, Value
from atc_py.lowering.builder import Builder, lowering
from atc_py.spec.rewrites import performs
from atc_py.tensor.shapes import element_count
from atc_py.text import Text


@lowering("Identity")
def lower_identity(b: Builder) -> Sequence[Value]:
    return [b.input(0)]


@lowering("Constant")
def lower_constant(b: Builder) -> Sequence[Value]:
    """Constants fold in the front end; what is left holds no tensor."""
    raise b.unsupported(
        Text("it does not hold a dense tensor of numbers"),
        None,
        Text("write it as a dense tensor, or run what uses it on the host"),
    )


@lowering("ConstantOfShape")
def lower_constant_of_shape(b: Builder) -> Sequence[Value]:
    """Lower ConstantOfShape to Tile of its one element; known shapes fold in the front end."""
    result = b.output_type()
    value = b.node.attributes.get("value")
    element: float = 0.0
    if isinstance(value, ConstData):
        count = element_count(value.shape)
        if count != 1:
            text = Text("needs one element to repeat, found {found}")
            raise b.bad(text.with_values(found=count), "attribute value")
        element = value.numpy().reshape(()).item()
    single = b.const("element", SplatConst(element, result.dtype, (1,) * result.rank))
    return [b.op("Tile", [single, b.input(0)], result)]


@lowering("Cast")
def lower_cast(b: Builder) -> Sequence[Value]:
    result = b.output_type()
    return [b.op("Cast", [b.input(0)], result, {"dst_type": result.dtype})]


@lowering("Concat")
def lower_concat(b: Builder) -> Sequence[Value]:
    """Lower Concat to ConcatD; one input alone is handed on."""
    values = [b.input(position) for position in range(len(b.node.inputs))]
    if len(values) == 1:
        return values
    axis = b.axis(b.integer("axis", 1), b.output_type().rank)
    attributes = {"concat_dim": axis, "N": len(values)}
    return [b.op("ConcatD", values, b.output_type(), attributes)]


@lowering("Flatten")
@performs("count-from-front")
def lower_flatten(b: Builder) -> Sequence[Value]:
    """Flatten -> Flatten; axis may also be the one after the last."""
    rank = b.source(0).rank
    axis = b.integer("axis", 1)
    if axis != rank:
        axis = b.axis(axis, rank)
    return [b.op("Flatten", [b.input(0)], b.output_type(), {"axis": axis})]


@lowering("Reshape")
def lower_reshape(b: Builder) -> Sequence[Value]:
    """Reshape -> Reshape with the resulting shape as a constant, its 0 and -1 resolved.

    Where only the run knows that shape, with what the node is given for it.
    """
    result = b.output_type()
    if not result.is_open:
        return [b.reshape(b.input(0), result.shape)]
    attributes = {"allowzero": b.integer("allowzero", 0)}
    return [b.op("Reshape", [b.input(0), b.input(1)], result, attributes)]


@lowering("Transpose")
def lower_transpose(b: Builder) -> Sequence[Value]:
    """Transpose -> TransposeD; without perm the axes are reversed."""
    rank = b.source(0).rank
    perm = b.optional_integers("perm")
    if perm is None:
        perm = tuple(reversed(range(rank)))
    if sorted(perm) != list(range(rank)):
        text = Text("needs an order of {rank} axes, found {found}")
        raise b.bad(text.with_values(rank=rank, found=list(perm)), "attribute perm")
    return [b.op("TransposeD", [b.input(0)], b.output_type(), {"perm": perm})]


@lowering("Unsqueeze")
def lower_unsqueeze(b: Builder) -> Sequence[Value]:
    """Lower Unsqueeze to Unsqueeze; axes as attribute, or as input since opset 13."""
    result = b.output_type()
    axes = _axes(b)
    if axes is None:
        raise b.bad(Text("needs axes, found none"), "attribute axes")
    rank = result.rank
    normal = tuple(sorted(b.axis(axis, rank, "attribute axes") for axis in axes))
    return [b.op("Unsqueeze", [b.input(0)], result, {"axes": normal})]


@lowering("Squeeze")
def lower_squeeze(b: Builder) -> Sequence[Value]:
    """Lower Squeeze to Squeeze with the axes that go; where none goes, its input is handed on.

    SqueezeV3 where only the run knows the axes.
    """
    shape, result = b.source(0).required_dims, b.output_type()
    if b.is_computed(1):
        return [b.op("SqueezeV3", [b.input(0), b.input(1)], result)]
    axes = _axes(b)
    if not axes and result.rank < len(shape):
        axes = tuple(axis for axis, dim in enumerate(shape) if dim == 1)
    if not axes:
        return [b.input(0)]
    normal = tuple(sorted({b.axis(axis, len(shape), "attribute axes") for axis in axes}))
    return [b.op("Squeeze", [b.input(0)], result, {"axis": normal})]


@lowering("Shape")
def lower_shape(b: Builder) -> Sequence[Value]:
    """Lower Shape to the dims as a constant; Shape where only the run knows them."""
    x = b.source(0)
    if x.is_open:
        return [b.op("Shape", [b.input(0)], b.output_type())]
    return [b.const("extents", np.array(x.shape, dtype=np.int64))]


@lowering("Size")
def lower_size(b: Builder) -> Sequence[Value]:
    """Lower Size to the number of elements as a constant; Size where only the run knows it."""
    result = b.output_type()
    if None in b.source(0).required_dims:
        return [b.op("Size", [b.input(0)], result)]
    return [b.const("count", SplatConst(element_count(b.source(0).shape), result.dtype, ()))]


@lowering("Tile")
def lower_tile(b: Builder) -> Sequence[Value]:
    """Lower Tile to TileD; Tile where only the run knows the repeats."""
    if b.is_computed(1):
        return [b.op("Tile", [b.input(0), b.input(1)], b.output_type())]
    repeats = b.numbers(1, "repeats") or ()
    if all(count == 1 for count in repeats):
        return [b.input(0)]
    return [b.op("TileD", [b.input(0)], b.output_type(), {"multiples": repeats})]


def _axes(b: Builder) -> tuple[int, ...] | None:
    axes = b.optional_integers("axes")
    return b.numbers(1, "axes") if axes is None else axes
