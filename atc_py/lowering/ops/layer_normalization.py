"""Lowering of LayerNormalization."""

from collections.abc import Sequence

from atc_py.ir import AttrValue, SplatConst, TensorType, Value
from atc_py.lowering.builder import Builder
from atc_py.lowering.registry import lowering
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape, closed_shape
from atc_py.text import Text

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
    if all(_is_of_a_row(b, position, row) for position in (_SCALE, _SHIFT)):
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
    """The name of an output, or `label` where nobody asks for it."""
    return b.output_name(position) if b.wants_output(position) else label


def _is_of_a_row(b: Builder, position: int, row: Shape) -> bool:
    """True for a parameter that is absent or the same for all rows."""
    source = b.optional_source(position)
    return source is None or all(size == 1 for size in source.shape[: -len(row)])


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
