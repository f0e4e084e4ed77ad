"""Lowering of normalization along axes: softmax and its kin, norms, mean and variance."""

from collections.abc import Sequence
from math import prod

from atc_py.ir import AttrValue, TensorType, Value
from atc_py.lowering.builder import Builder
from atc_py.lowering.registry import lowering
from atc_py.tensor.shapes import Dims, closed_shape
from atc_py.text import Text

_EXPONENTIALS = {"Softmax": "SoftmaxV2", "LogSoftmax": "LogSoftmaxV2"}


@lowering("Softmax")
@lowering("LogSoftmax")
def lower_softmax_of_rows(b: Builder) -> Sequence[Value]:
    """Lower Softmax and LogSoftmax before opset 13 to the V2 forms over axes from `axis` on.

    The old definition flattens the tensor to a matrix at `axis` and takes each row as a whole.
    """
    axes = tuple(range(_axis(b, 1), b.output_type().rank))
    return [b.op(_EXPONENTIALS[b.node.op_type], [b.input(0)], b.output_type(), {"axes": axes})]


@lowering("Softmax", since=13)
@lowering("LogSoftmax", since=13)
def lower_softmax_of_axis(b: Builder) -> Sequence[Value]:
    """Lower Softmax to SoftmaxV2, LogSoftmax -> LogSoftmaxV2, over one axis."""
    attributes = {"axes": (_axis(b, -1),)}
    return [b.op(_EXPONENTIALS[b.node.op_type], [b.input(0)], b.output_type(), attributes)]


@lowering("Hardmax")
def lower_hardmax_of_rows(b: Builder) -> Sequence[Value]:
    """Hardmax before opset 13 -> HardMax of the rows of the matrix that flattening gives."""
    result, axis = b.output_type(), _axis(b, 1)
    if axis == result.rank - 1:
        return _hardmax(b, axis)
    x, dims = b.input(0), (_product(result.dims[:axis]), _product(result.dims[axis:]))
    matrix = TensorType(result.dtype, dims)
    rows = b.op("Flatten", [x], matrix, {"axis": axis}, "rows")
    return [b.shaped_like(b.op("HardMax", [rows], matrix, {"axis": 1}, "chosen"), x)]


def _product(dims: Dims) -> int | None:
    """The product of dims; None where one is open."""
    return None if None in dims else prod(closed_shape(dims))


@lowering("Hardmax", since=13)
def lower_hardmax_of_axis(b: Builder) -> Sequence[Value]:
    """Lower Hardmax to HardMax."""
    return _hardmax(b, _axis(b, -1))


def _hardmax(b: Builder, axis: int) -> Sequence[Value]:
    """HardMax along `axis`."""
    return [b.op("HardMax", [b.input(0)], b.output_type(), {"axis": axis})]


@lowering("LpNormalization")
def lower_lp_normalization(b: Builder) -> Sequence[Value]:
    """Lower LpNormalization to LpNormalize."""
    p = b.integer("p", 2)
    if p not in {1, 2}:
        raise b.bad(Text("takes p 1 or 2, found {found}", found=p), "attribute p")
    attributes: dict[str, AttrValue] = {"p": p, "axis": _axis(b, -1)}
    return [b.op("LpNormalize", [b.input(0)], b.output_type(), attributes)]


@lowering("InstanceNormalization")
def lower_instance_normalization(b: Builder) -> Sequence[Value]:
    """Lower InstanceNormalization to InstanceNorm, of whatever rank, as CANN's parser does."""
    attributes: dict[str, AttrValue] = {
        "data_format": "NCHW",
        "epsilon": b.number("epsilon", 1e-5),
    }
    inputs = [b.input(position) for position in range(3)]
    return [b.op("InstanceNorm", inputs, b.output_type(), attributes)]


@lowering("MeanVarianceNormalization")
def lower_mean_variance_normalization(b: Builder) -> Sequence[Value]:
    """Lower MeanVarianceNormalization to MVNV2."""
    given = b.optional_integers("axes")
    rank = b.output_type().rank
    given = (0, 2, 3) if given is None else given
    axes = tuple(b.axis(axis, rank, "attribute axes") for axis in given)
    if len(set(axes)) != len(axes):
        text = Text("needs axes that differ, found {found}")
        raise b.bad(text.with_values(found=list(axes)), "attribute axes")
    attributes: dict[str, AttrValue] = {"axes": axes, "eps": 1e-9}
    return [b.op("MVNV2", [b.input(0)], b.output_type(), attributes)]


def _axis(b: Builder, default: int) -> int:
    return b.axis(b.integer("axis", default), b.output_type().rank)
