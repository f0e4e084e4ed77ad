"""Lowering of normalization along axes: softmax and its kin, norms, mean and variance."""

from collections.abc import Sequence
from math import prod

from atc_py.ir import AttrValue, SplatConst, TensorType, Value
from atc_py.lowering.builder import Builder, lowering
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Dims, Shape, closed_shape
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
    return None if None in dims else prod(closed_shape(dims))


@lowering("Hardmax", since=13)
def lower_hardmax_of_axis(b: Builder) -> Sequence[Value]:
    return _hardmax(b, _axis(b, -1))


def _hardmax(b: Builder, axis: int) -> Sequence[Value]:
    return [b.op("HardMax", [b.input(0)], b.output_type(), {"axis": axis})]


@lowering("LpNormalization")
def lower_lp_normalization(b: Builder) -> Sequence[Value]:
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


# Rows ---------------------------------------------------------------------------------------------


_SCALE, _SHIFT = 1, 2
"""Positions of the inputs Scale and B."""


@lowering("LayerNormalization", since=17)
def lower_layer_normalization(b: Builder) -> Sequence[Value]:
    """Lower LayerNormalization to LayerNorm; the inverse deviation is Rsqrt of Adds of its variance.

    So does CANN's parser, which also repeats Scale and B to the shape of X. Here they keep the shape
    of a row; where they differ between rows, Mul and Add follow.
    """
    rank = b.output_type().rank
    axis = b.axis(b.integer("axis", -1), rank)
    row = closed_shape(b.output_type().dims[axis:])
    sources = [b.optional_source(position) for position in (_SCALE, _SHIFT)]
    outer = [size for source in sources if source for size in source.shape[: -len(row)]]
    if all(size == 1 for size in outer):
        parameters = _parameter(b, _SCALE, row, 1.0), _parameter(b, _SHIFT, row, 0.0)
        return _layer_norm(b, axis, parameters, b.output_name(0))
    dtype = b.output_type().dtype
    ones, zeros = (b.const(f"row.{value:g}", SplatConst(value, dtype, row)) for value in (1.0, 0.0))
    y, *statistics = _layer_norm(b, axis, (ones, zeros), "normalized")
    shift = b.optional_input(_SHIFT)
    factors = [y, b.input(_SCALE)]
    y = b.op("Mul", factors, b.output_type(), label=None if shift is None else "scaled")
    if shift is not None:
        y = b.op("Add", [y, shift], b.output_type())
    return [y, *statistics]


def _layer_norm(
    b: Builder, axis: int, parameters: tuple[Value, Value], label: str
) -> Sequence[Value]:
    """LayerNorm of X, and its mean and inverse deviation where they are asked for.

    These are float32, and the kernel outputs them in the dtype of Scale, so float16 parameters become
    float32. CANN's parser leaves them, so that both are rounded to float16 first.
    """
    result, epsilon = b.output_type(), b.number("epsilon", 1e-5)
    attributes: dict[str, AttrValue] = {
        "begin_norm_axis": axis,
        "begin_params_axis": axis,
        "epsilon": epsilon,
    }
    if not (b.wants_output(1) or b.wants_output(2)):
        return [b.op("LayerNorm", [b.input(0), *parameters], result, attributes, label)]
    wide = [b.cast(each, DType.FLOAT32) for each in parameters]
    kept = TensorType(DType.FLOAT32, (*result.dims[:axis], *(1,) * (result.rank - axis)))
    outputs = [(label, result), (_name(b, 1, "mean"), kept), ("variance", kept)]
    y, mean, variance = b.ops("LayerNorm", [b.input(0), *wide], outputs, attributes)
    shifted = b.op("Adds", [variance], kept, {"value": epsilon}, "shifted")
    return [y, mean, b.op("Rsqrt", [shifted], kept, label=_name(b, 2, "inverse"))]


def _name(b: Builder, position: int, label: str) -> str:
    return b.output_name(position) if b.wants_output(position) else label


def _parameter(b: Builder, position: int, row: Shape, value: float) -> Value:
    """Scale or B in the shape of a row; `value` throughout where it is absent."""
    label = "shift" if position == _SHIFT else "scale"
    if b.optional_source(position) is None:
        return b.const(label, SplatConst(value, b.output_type().dtype, row))
    given = b.input(position)
    if len(given.type.shape) > len(row):
        given = b.reshape(given, given.type.shape[-len(row) :], f"{label}.row")
    if given.type.shape == row:
        return given
    if b.broadcast(given.type.shape, row) != row:
        raise b.bad(
            Text("has parameters that do not broadcast to {row}", row=list(row)),
            Text("input {at}", at=position),
        )
    type_ = TensorType(given.type.dtype, row)
    return b.op("ExpandD", [given], type_, {"shape": row}, label)


_NO_CLASS = -1
"""An ignore_index that no label has: labels are 0 or more."""

_REDUCTIONS = ("none", "sum", "mean")


@lowering("SoftmaxCrossEntropyLoss", since=12)
def lower_softmax_cross_entropy_loss(b: Builder) -> Sequence[Value]:
    """Lower SoftmaxCrossEntropyLoss to the operator of that name, which always has both results.

    Its default ignores label 0, ONNX's none.
    """
    reduction = b.string("reduction", "mean")
    if reduction not in _REDUCTIONS:
        raise b.bad(
            Text(
                "takes {known}, found {found}", known=", ".join(_REDUCTIONS), found=repr(reduction)
            ),
            "attribute reduction",
        )
    attributes: dict[str, AttrValue] = {
        "ignore_index": b.integer("ignore_index", _NO_CLASS),
        "reduction": reduction,
    }
    scores = b.input(0)
    inputs = b.present(scores, b.input(1), b.optional_input(2))
    loss = b.output_type()
    logs = b.output_name(1) if b.wants_output(1) else "log_prob"
    outputs = [(b.output_name(0), loss), (logs, TensorType(loss.dtype, scores.type.dims))]
    return b.ops("SoftmaxCrossEntropyLoss", inputs, outputs, attributes)
