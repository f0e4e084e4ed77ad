"""Pools, transposed convolutions, Resize, and operators of which inference knows a part alone.

Where a dim is open, so is what depends on it; the other dims of the result are right all the same.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np
from onnx.onnx_pb import TensorProto

from atc_py.ir import ConstData
from atc_py.onnx_graph.graph import ValueType
from atc_py.onnx_graph.source import SourceAttr
from atc_py.onnx_graph.typing.rules.quantized import sum_element
from atc_py.onnx_graph.typing.type_rules import Override, Question, Shown, Withheld, type_rule
from atc_py.tensor.shapes import Dims, window_count

_SAME = frozenset({"SAME_UPPER", "SAME_LOWER"})

_SPATIAL = 2
"""Axes before the spatial ones: batch and channels."""

_REGIONS = 11
"""The version of Resize from which on roi comes before scales."""

_SIZES = 3
"""Position of the sizes among the inputs of Resize."""

_MOST = 2.0**63
"""Length that no dim reaches."""

_RECURRENT_RANK = 3
"""Axes of X and of R of a recurrent layer."""

_TYPED_MASK = 10
"""The version of Dropout from which on inference knows the mask."""


# Pools -------------------------------------------------------------------------------------------


@type_rule("AveragePool", "MaxPool", when=lambda asked: bool(asked.node.integer("ceil_mode")))
def _pool(asked: Question) -> Override | None:
    """As many windows as ONNX's definition of ceil_mode gives.

    A last window that would start in the padding after the data covers no element, and ONNX
    drops it; so does onnxruntime at every opset. Inference before opset 22 counts it, and one more
    of SAME padding where windows are farther apart than they are large: that has ceil(length /
    stride) of them whatever ceil_mode is.
    """
    x = asked.type(0)
    if x is None or x.dims is None or len(x.dims) < _SPATIAL:
        return None
    extents = _pool_extents(x.dims[_SPATIAL:], asked.node.plain_attributes)
    if extents is None:
        return None
    dims = (*x.dims[:_SPATIAL], *extents)
    element = sum_element(asked) or x.element
    return Override(asked.outputs(ValueType(element, dims), ValueType(TensorProto.INT64, dims)))


def _pool_extents(extents: Dims, attributes: Mapping[str, SourceAttr]) -> list[int | None] | None:
    """The number of windows per axis; None where the attributes do not fit the rank."""
    rank = len(extents)
    kernel = _numbers(attributes, "kernel_shape", rank, 0)
    strides = _numbers(attributes, "strides", rank, 1)
    dilations = _numbers(attributes, "dilations", rank, 1)
    pads = _numbers(
        {} if (attributes.get("auto_pad", "NOTSET") in _SAME | {"VALID"}) else attributes,
        "pads",
        2 * rank,
        0,
    )
    if kernel is None or strides is None or dilations is None or pads is None:
        return None
    if min((*kernel, *strides, *dilations), default=1) < 1:
        return None
    same = attributes.get("auto_pad") in _SAME
    counts: list[int | None] = []
    for axis, extent in enumerate(extents):
        if extent is None:
            counts.append(None)
        elif same:
            counts.append(-(-extent // strides[axis]))
        else:
            reach = (kernel[axis] - 1) * dilations[axis] + 1
            pair = pads[axis], pads[rank + axis]
            counts.append(window_count(extent, pair, reach, strides[axis], ceil=True))
    known = [count for count in counts if count is not None]
    return counts if min(known, default=1) > 0 else None


@type_rule(
    "ConvTranspose",
    when=lambda asked: (
        "output_shape" in asked.node.plain_attributes or asked.node.text("auto_pad", "") in _SAME
    ),
)
def _conv_transpose(asked: Question) -> Override | None:
    """The size that is asked for.

    Inference drops axes where output_shape is smaller than the input, and adds output_padding to
    SAME, whose result is length * stride.
    """
    x, weights = asked.type(0), asked.type(1)
    attributes = asked.node.plain_attributes
    group = asked.node.integer("group", 1)
    if x is None or x.dims is None or weights is None or weights.dims is None:
        return None
    rank, filter_ = len(x.dims) - _SPATIAL, weights.dims
    if rank < 1 or len(filter_) != len(x.dims) or None in filter_:
        return None
    extents: list[int | None] | None
    if attributes.get("output_shape"):
        extents = _stated_extents(attributes["output_shape"], rank)
    else:
        extents = _same_extents(x.dims[_SPATIAL:], filter_[_SPATIAL:], attributes)
    if extents is None:
        return None
    channels = int(filter_[1] or 0) * group
    # Inferred node by node, the sums keep the dtype of the data.
    sums = None if asked.alone else sum_element(asked)
    element = x.element if sums is None else sums
    return Override(asked.outputs(ValueType(element, (x.dims[0], channels, *extents))))


def _stated_extents(wanted: object, rank: int) -> list[int | None] | None:
    """The spatial dims of output_shape; None if it is not a shape of that rank."""
    if not isinstance(wanted, tuple) or len(wanted) not in {rank, rank + _SPATIAL}:
        return None
    extents = [int(extent) for extent in wanted[-rank:]]
    return [*extents] if min(extents) > 0 else None


def _same_extents(
    extents: Dims, kernel: Dims, attributes: Mapping[str, SourceAttr]
) -> list[int | None] | None:
    """Length * stride, or less where the windows do not reach that far."""
    rank = len(extents)
    strides = _numbers(attributes, "strides", rank, 1)
    dilations = _numbers(attributes, "dilations", rank, 1)
    extra = _numbers(attributes, "output_padding", rank, 0)
    if strides is None or dilations is None or extra is None or min(strides, default=1) < 1:
        return None
    return [
        None
        if extent is None
        else min(
            extent * strides[axis],
            strides[axis] * (extent - 1)
            + extra[axis]
            + (int(kernel[axis] or 0) - 1) * dilations[axis]
            + 1,
        )
        for axis, extent in enumerate(extents)
    ]


# Resize ------------------------------------------------------------------------------------------


@type_rule("Resize", before=True, when=lambda asked: asked.alone)
def _to_open_sizes(asked: Question) -> Withheld | None:
    """Withhold a Resize to an unknown number of sizes: inference refuses what may be right."""
    return None if asked.is_closed(_SIZES) else Withheld()


def _scales_of(asked: Question) -> ConstData | None:
    """The scales of a Resize without sizes, one for each axis, where they are known."""
    schema = asked.node.schema
    position = 1 if schema is None or schema.since_version < _REGIONS else 2
    scales = asked.const(position)
    if scales is None or scales.shape in {(), (0,)} or "axes" in asked.node.plain_attributes:
        return None
    return scales


@type_rule("Resize", when=lambda asked: _scales_of(asked) is not None)
def _by_scales(asked: Question) -> Override | None:
    """The dims floor(length * scale).

    Scales are float32, and so is the product in onnxruntime, on this device, and in onnx's
    inference up to 1.21: 10 * 1.3 is 13 there, as for whoever wrote 1.3. Later versions multiply in
    double: 10 * 1.2999999523 is 12.
    """
    x, scales = asked.type(0), _scales_of(asked)
    if x is None or x.dims is None or scales is None or scales.shape != (len(x.dims),):
        return None
    with np.errstate(over="ignore"):
        factors: Any = scales.numpy()
        products = np.array([extent or 0 for extent in x.dims], np.float32) * factors
    if products.dtype != np.float32 or not ((products >= 0) & (products < _MOST)).all():
        return None
    resized = tuple(
        None if extent is None else int(product)
        for extent, product in zip(x.dims, products, strict=True)
    )
    return Override(asked.outputs(ValueType(x.element, resized)))


def _has_untyped_mask(asked: Question) -> bool:
    """True for a Dropout with a mask of a version that gives it no type."""
    node = asked.node
    masked = len(node.output_names) > 1 and bool(node.output_names[1])
    return masked and node.schema is not None and node.schema.since_version < _TYPED_MASK


@type_rule("Dropout", when=_has_untyped_mask)
@type_rule(
    "MeanVarianceNormalization", when=lambda asked: "axes" not in asked.node.plain_attributes
)
def _like_the_data(asked: Question) -> Override | None:
    """The type of the data.

    Inference of the versions of Dropout before 10 gives its mask no type. That of
    MeanVarianceNormalization looks into its function and lacks the default of axes.
    """
    x = asked.type(0)
    return None if x is None or x.dims is None else Override(asked.outputs(x, x))


@type_rule("GRU", "LSTM", when=lambda asked: "hidden_size" not in asked.node.plain_attributes)
def _recurrent(asked: Question) -> Override | None:
    """Types of Y, Y_h and, of LSTM, Y_c; inference lacks the hidden size, R's last dim.

    X is (steps, batch, inputs), or (batch, steps, inputs) with layout 1; R is (directions, gates,
    hidden).
    """
    x, weights = asked.type(0), asked.type(2)
    if x is None or x.dims is None or weights is None or weights.shape is None:
        return None
    if len(weights.shape) != _RECURRENT_RANK or len(x.dims) != _RECURRENT_RANK:
        return None
    directions, _, hidden = weights.shape
    first, second, _ = x.dims
    whole: Dims = (first, directions, second, hidden)
    last: Dims = (directions, second, hidden)
    if asked.node.integer("layout"):
        whole, last = (first, second, directions, hidden), (first, directions, hidden)
    return Override(asked.outputs(*(ValueType(x.element, dims) for dims in (whole, last, last))))


@type_rule("NonMaxSuppression")
def _boxes(asked: Question) -> Override:
    """Rows of batch, class and box; inference of the versions before 11 knows no rank."""
    return Override(asked.outputs(ValueType(TensorProto.INT64, (None, 3))))


@type_rule("STFT", before=True, when=lambda asked: asked.node.schema is not None)
def _stft(asked: Question) -> Shown | None:
    """Show the default of onesided, 1: inference takes the result to be two-sided without it."""
    plain = asked.node.plain
    if any(attribute.name == "onesided" for attribute in plain.attribute):
        return None
    from onnx import helper

    whole = deepcopy(plain)
    whole.attribute.append(helper.make_attribute("onesided", 1))
    return Shown((whole,))


@type_rule("Attention", "StringNormalizer", before=True)
def _of_open_dims(asked: Question) -> Withheld | None:
    """Withhold it while a dim of X, or of Q, K or V, is open.

    Inference takes an open dim of V for 0, and refuses what may be right of StringNormalizer.
    """
    return None if all(map(asked.is_closed, range(3))) else Withheld()


# Attributes --------------------------------------------------------------------------------------


def _numbers(
    attributes: Mapping[str, SourceAttr], name: str, count: int, default: int
) -> list[int] | None:
    """A list of `count` integers, `default` repeated if not set; None if it is malformed."""
    value = attributes.get(name)
    if value is None or value == ():
        return [default] * count
    if not isinstance(value, tuple):
        return None
    numbers = [item for item in value if isinstance(item, int)]
    return numbers if len(numbers) == len(value) == count else None
