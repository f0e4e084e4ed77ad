"""Lowering of activations whose forms differ from the target's."""

from collections.abc import Sequence

from atc_py.ir import SplatConst, Value
from atc_py.lowering.builder import Builder, lowering
from atc_py.spec.rewrites import performs
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Dims, Shape, element_count, format_shape
from atc_py.text import Text

_SELU_ALPHA, _SELU_GAMMA = 1.6732631921768188, 1.0507010221481323
"""ONNX's defaults, which the target's Selu has built in."""


@lowering("Selu")
def lower_selu(b: Builder) -> Sequence[Value]:
    """Lower Selu to Selu, or Elu with alpha and scale where they are not the usual ones.

    Integers, which the list has and ONNX has not, go through float32; fractions are dropped. CANN's
    kernel takes them itself; how it rounds them is not published.
    """
    alpha = b.number("alpha", _SELU_ALPHA)
    gamma = b.number("gamma", _SELU_GAMMA)
    usual = (alpha, gamma) == (_SELU_ALPHA, _SELU_GAMMA)
    op, attributes = ("Selu", {}) if usual else ("Elu", {"alpha": alpha, "scale": gamma})
    x, result = b.input(0), b.output_type()
    if result.dtype.is_float:
        return [b.op(op, [x], result, attributes)]
    wide = b.cast(x, DType.FLOAT32)
    return [b.cast(b.op(op, [wide], wide.type, attributes, "wide"), result.dtype)]


@lowering("Softplus")
@performs("align-ranks")
def lower_softplus(b: Builder) -> Sequence[Value]:
    """Lower Softplus to Softplus of a vector; other ranks are flattened and restored."""
    x, result = b.input(0), b.output_type()
    if result.rank == 1:
        return [b.op("Softplus", [x], result)]
    flat = b.flat(x)
    return [b.shaped_like(b.op("Softplus", [flat], flat.type, label="softplus"), x)]


@lowering("ThresholdedRelu")
def lower_thresholded_relu(b: Builder) -> Sequence[Value]:
    """Lower ThresholdedRelu to SelectV2 by Threshold.

    CANN multiplies by what Threshold gives, which makes NaN of -infinity; ONNX has 0 there.
    """
    x, result = b.input(0), b.output_type()
    attributes = {"threshold": b.number("alpha", 1.0)}
    above = b.op("Threshold", [x], result, attributes, "above")
    zero = b.const("zero", SplatConst(0.0, result.dtype, ()))
    return [b.op("SelectV2", [b.cast(above, DType.BOOL), x, zero], result)]


@lowering("PRelu")
@performs("align-ranks")
def lower_prelu(b: Builder) -> Sequence[Value]:
    """Lower PRelu to PRelu with a vector of slopes, where they differ by channel if at all.

    Slopes that vary along other axes, or along axes that only the run knows, have no counterpart: x
    is chosen where it is not negative, slope * x elsewhere.
    """
    x, slope, result = b.input(0), b.input(1), b.output_type()
    if not slope.type.is_open:
        count = element_count(slope.type.shape)
        if count == 1 or _differ_by_channel(b, slope.type.shape, x.type.dims):
            vector = slope if slope.type.rank == 1 else b.reshape(slope, (count,), "slope")
            return [b.op("PRelu", [x, vector], result)]
    zero = b.const("zero", SplatConst(0.0, result.dtype, ()))
    negative = b.op("Less", [x, zero], result.with_dtype(DType.BOOL), label="negative")
    scaled = b.op("Mul", [x, slope], result, label="scaled")
    return [b.op("SelectV2", [negative, scaled, x], result)]


def _differ_by_channel(b: Builder, slope: Shape, x: Dims) -> bool:
    """True if slopes vary along axis 1 of x alone; open dims are checked at run time.

    ONNX broadcasts the slope to x. A vector that it cannot broadcast, but that has an element for
    each channel, is the slope of channels that the operator list describes.
    """
    missing = len(x) - len(slope)
    aligned = (1,) * missing + slope
    if missing < 0 or any(
        s != 1 and e is not None and s != e for s, e in zip(aligned, x, strict=True)
    ):
        if slope == x[1:2]:
            return True
        text = Text("cannot broadcast {slope} to {x}")
        raise b.bad(text.with_values(slope=format_shape(slope), x=format_shape(x)), "input slope")
    return len(x) > 1 and all(e == 1 for axis, e in enumerate(aligned) if axis != 1)
