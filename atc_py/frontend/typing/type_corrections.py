"""Types that onnx's own inference gets wrong, worked out here.

Pools with ceil_mode: a last window that would start in the padding behind the data has nothing to
look at, and ONNX drops it; so does onnxruntime at every opset. Inference before opset 22 counts it,
and one more of SAME padding where windows are farther apart than they are large: that has ceil(extent
/ stride) of them whatever ceil_mode is.

ConvTranspose with output_shape or SAME padding: inference drops axes where the shape asked for is
smaller than the input's, and adds output_padding to SAME, whose result is extent * stride.

Dropout: inference of the versions before 10 gives its mask no type; it has that of the data.

NonMaxSuppression: inference of the versions before 11 knows no rank; each row of the result has
batch, class and box.

MeanVarianceNormalization without axes: inference looks into its function and lacks the default.

LSTM and GRU without hidden_size: inference leaves open what is the last extent of R.

Resize by scales: the extents are floor(extent * scale). Scales are float32, and so is the product
in onnxruntime, on this device, and in onnx's inference up to 1.21: 10 * 1.3 is 13 there, as for
whoever wrote 1.3. Later versions multiply in double: 10 * 1.2999999523 is 12.

Where a dim is open, so is what depends on it; the other dims of the result are right all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto, helper

from atc_py.frontend.folding.graph import ValueType
from atc_py.tensor.shapes import window_count

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from atc_py.frontend.folding.graph import WorkGraph, WorkNode
    from atc_py.ir import ConstData

    _Open: TypeAlias = tuple[int | None, ...]

__all__ = ["corrected_nodes", "corrected_types", "corrected_types_of", "known_type"]

_POOLS = frozenset({"MaxPool", "AveragePool"})
_SAME = frozenset({b"SAME_UPPER", b"SAME_LOWER"})
_RECURRENT = frozenset({"LSTM", "GRU"})
_LEFT_OUT = {"MeanVarianceNormalization": "axes", "LSTM": "hidden_size", "GRU": "hidden_size"}
"""Attributes without which inference is at a loss."""

_TYPED_MASK = 10
"""The version of Dropout from which on inference knows the mask."""

_RECURRENT_RANK = 3
"""Axes of X and of R."""

_REGIONS = 11
"""The version of Resize from which on roi comes before scales."""

_MOST = 2.0**63
"""What no extent is as large as."""

_SPATIAL = 2
"""Axes before the spatial ones: batch and channels."""


def corrected_nodes(graph: WorkGraph) -> list[WorkNode]:
    """Return the nodes whose types may need a correction, in the graph's order."""
    return [node for node in graph.nodes if _may_be_wrong(graph, node)]


def corrected_types(graph: WorkGraph, node: WorkNode) -> dict[str, ValueType]:
    """Return output types of one such node; empty where its inputs are not known or not sound."""
    if node.op_type == "NonMaxSuppression":
        return dict.fromkeys(node.writes, ValueType(TensorProto.INT64, (None, 3)))
    x = known_type(graph, node.inputs[0]) if node.inputs else None
    if x is not None and node.op_type == "Resize":
        return _resized_types(graph, node, x)
    if x is None or x.dims is None:
        return {}
    if node.op_type in {"Dropout", "MeanVarianceNormalization"}:
        return {name: x for name in node.outputs[:2] if name}
    if node.op_type in _RECURRENT:
        return _recurrent_types(graph, node, x)
    shape = _window_shape(graph, node, x.dims) if len(x.dims) >= _SPATIAL else None
    elements = (x.element, TensorProto.INT64) if shape is not None else ()
    return {
        name: ValueType(element, shape)
        for name, element in zip(node.outputs, elements, strict=False)
        if name
    }


def _window_shape(graph: WorkGraph, node: WorkNode, dims: _Open) -> _Open | None:
    """Work out the shape of a pool or a transposed convolution of data of shape `dims`."""
    attributes = _attributes(node)
    if node.op_type in _POOLS:
        extents, channels = _pool_extents(dims[_SPATIAL:], attributes), dims[1]
    else:
        extents, channels = _transposed_extents(graph, node, dims, attributes)
    return None if extents is None else (dims[0], channels, *extents)


def corrected_types_of(graph: WorkGraph, node: WorkNode) -> dict[str, ValueType]:
    """Return types of the outputs of any node where they need a correction; else empty."""
    return corrected_types(graph, node) if _may_be_wrong(graph, node) else {}


def known_type(graph: WorkGraph, name: str) -> ValueType | None:
    """Return what is known of a value: an input, a constant, or what was inferred."""
    from atc_py.frontend.reading.tensors import element_of_dtype

    const = graph.consts.get(name)
    if const is not None:
        return ValueType(element_of_dtype(const.dtype), const.shape)
    return graph.types.get(name) or graph.inputs.get(name)


def _may_be_wrong(graph: WorkGraph, node: WorkNode) -> bool:
    """Return True if the node has one of the forms that the module's docstring names.

    One that breaks its operator's definition has none: its attributes may be anything.
    """
    if node.domain or node in graph.unsound:
        return False
    if node.op_type in _LEFT_OUT:
        return _LEFT_OUT[node.op_type] not in _attributes(node)
    if node.op_type in _POOLS:
        attributes = _attributes(node)
        return bool(attributes.get("ceil_mode"))
    if node.op_type == "ConvTranspose":
        attributes = _attributes(node)
        return "output_shape" in attributes or attributes.get("auto_pad") in _SAME
    if node.op_type == "Resize":
        return _scales_of(graph, node) is not None
    masked = node.op_type == "Dropout" and len(node.outputs) > 1 and bool(node.outputs[1])
    untyped = masked and node.schema is not None and node.schema.since_version < _TYPED_MASK
    return untyped or node.op_type == "NonMaxSuppression"


def _attributes(node: WorkNode) -> dict[str, Any]:
    """Return the node's attributes as Python values; those by reference have none."""
    return {
        each.name: helper.get_attribute_value(each)
        for each in node.proto.attribute
        if each.type and not each.ref_attr_name
    }


def _numbers(attributes: dict[str, Any], name: str, count: int, default: int) -> list[int] | None:
    """Return a list of `count` integers, `default` repeated if not set; None if it is malformed."""
    value = attributes.get(name)
    if value is None or value == []:
        return [default] * count
    if not isinstance(value, list) or not all(isinstance(item, int) for item in value):
        return None
    return value if len(value) == count else None


def _recurrent_types(graph: WorkGraph, node: WorkNode, x: ValueType) -> dict[str, ValueType]:
    """Return types of a recurrent layer's outputs: Y, Y_h and, of LSTM, Y_c.

    X is (steps, batch, inputs), or (batch, steps, inputs) with layout 1; R is (directions, gates,
    hidden).
    """
    weights = known_type(graph, node.inputs[2]) if len(node.inputs) > 2 else None  # noqa: PLR2004
    shape = x.dims
    if weights is None or weights.shape is None or shape is None:
        return {}
    if len(weights.shape) != len(shape) or len(shape) != _RECURRENT_RANK:
        return {}
    directions, _, hidden = weights.shape
    first, second, _ = shape
    whole: _Open = (first, directions, second, hidden)
    last: _Open = (directions, second, hidden)
    if _attributes(node).get("layout"):
        whole, last = (first, second, directions, hidden), (first, directions, hidden)
    shapes = (whole, last, last)
    return {
        name: ValueType(x.element, dims)
        for name, dims in zip(node.outputs, shapes, strict=False)
        if name
    }


def _scales_of(graph: WorkGraph, node: WorkNode) -> ConstData | None:
    """Return the scales of a Resize without sizes, one for each axis, where they are known."""
    schema = node.schema
    position = 1 if schema is None or schema.since_version < _REGIONS else 2
    if position >= len(node.inputs) or "axes" in _attributes(node):
        return None
    scales = graph.consts.get(node.inputs[position])
    return scales if scales is not None and scales.shape not in {(), (0,)} else None


def _resized_types(graph: WorkGraph, node: WorkNode, x: ValueType) -> dict[str, ValueType]:
    """Return the type of the Resize of `x` by scales; empty where they do not fit its rank."""
    scales, dims = _scales_of(graph, node), x.dims
    if scales is None or dims is None or scales.shape != (len(dims),):
        return {}
    with np.errstate(over="ignore"):
        factors: Any = scales.numpy()
        products = np.array([extent or 0 for extent in dims], np.float32) * factors
    if products.dtype != np.float32 or not ((products >= 0) & (products < _MOST)).all():
        return {}
    resized = tuple(
        None if extent is None else int(product)
        for extent, product in zip(dims, products, strict=True)
    )
    return {name: ValueType(x.element, resized) for name in node.outputs[:1]}


def _pool_extents(extents: _Open, attributes: dict[str, Any]) -> list[int | None] | None:
    """Return the number of windows per axis; None where the attributes do not fit the rank."""
    rank = len(extents)
    kernel = _numbers(attributes, "kernel_shape", rank, 0)
    strides = _numbers(attributes, "strides", rank, 1)
    dilations = _numbers(attributes, "dilations", rank, 1)
    pads = _numbers({} if _is_automatic(attributes) else attributes, "pads", 2 * rank, 0)
    if kernel is None or strides is None or dilations is None or pads is None:
        return None
    if min((*kernel, *strides, *dilations), default=1) < 1:
        return None
    same = attributes.get("auto_pad") in _SAME
    found: list[int | None] = []
    for axis, extent in enumerate(extents):
        if extent is None:
            found.append(None)
        elif same:
            found.append(-(-extent // strides[axis]))
        else:
            reach = (kernel[axis] - 1) * dilations[axis] + 1
            pair = pads[axis], pads[rank + axis]
            found.append(window_count(extent, pair, reach, strides[axis], ceil=True))
    known = [count for count in found if count is not None]
    return found if min(known, default=1) > 0 else None


def _is_automatic(attributes: dict[str, Any]) -> bool:
    """Return True if the attribute pads does not count."""
    return attributes.get("auto_pad", b"NOTSET") in _SAME | {b"VALID"}


def _transposed_extents(
    graph: WorkGraph, node: WorkNode, dims: _Open, attributes: dict[str, Any]
) -> tuple[list[int | None] | None, int | None]:
    """Return (extents, channels) of a transposed convolution with output_shape or SAME padding."""
    weights = known_type(graph, node.inputs[1]) if len(node.inputs) > 1 else None
    group = attributes.get("group", 1)
    if weights is None or weights.dims is None or not isinstance(group, int):
        return None, None
    rank, filter_ = len(dims) - _SPATIAL, weights.dims
    if rank < 1 or len(filter_) != len(dims) or any(extent is None for extent in filter_):
        return None, None
    channels = int(filter_[1] or 0) * group
    if attributes.get("output_shape"):
        wanted = attributes["output_shape"]
        if not isinstance(wanted, list) or len(wanted) not in {rank, len(dims)}:
            return None, None
        extents = [int(extent) for extent in wanted[-rank:]]
        return ([*extents] if min(extents) > 0 else None), channels
    return _same_extents(dims[_SPATIAL:], filter_[_SPATIAL:], attributes), channels


def _same_extents(
    extents: _Open, kernel: tuple[int | None, ...], attributes: dict[str, Any]
) -> list[int | None] | None:
    """Return extent * stride, or less where the windows do not reach that far."""
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
