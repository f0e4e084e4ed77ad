"""A piece run in float64, on the inputs that it has in a run of its model.

onnx's evaluator runs them, with all floats as float64. It takes long for some operators, so there are
limits, beyond which there is no such run.
"""

import math
import warnings
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from atc_py.ir import ConstData
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.onnx_graph.running.piece import Piece

_ELEMENTS = 1 << 23
"""Most elements that the nodes read and make together."""

_LOOPED_ELEMENTS = 1 << 15
"""The same for operators that the evaluator runs element by element."""

_LOOPED = frozenset(
    {"AveragePool", "Col2Im", "ConvTranspose", "DFT", "GridSample", "LRN", "LpPool", "MaxPool"}
    | {"MaxRoiPool", "MaxUnpool", "NonMaxSuppression", "Resize", "RoiAlign", "STFT"}
    | {"ScatterElements", "ScatterND", "TfIdfVectorizer", "Upsample"}
)
_PATCHES = 1 << 21
"""Most elements of the patches that a convolution is unfolded to."""

_PRODUCTS = 1 << 32
"""Most multiplications of a matrix product."""

_UNSUITED = frozenset({"Bernoulli", "DequantizeLinear", "Dropout", "Multinomial", "QuantizeLinear"})
"""Operators that draw numbers, or that round to codes on purpose."""

_FLOATS = {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16}
_DOUBLE = onnx.TensorProto.DOUBLE

_ROUNDING = 2.0**-10
"""Share of the largest number in sight; a larger error is not rounding of a 32-bit float."""


def run_in_float64(
    piece: Piece,
    value: str,
    feeds: Mapping[str, NDArray[Any]],
    own: NDArray[Any],
    *,
    alike: bool = False,
) -> NDArray[np.float64] | None:
    """Compute a value in float64; None where that is impossible or takes too long.

    None, too, where it differs from `own` by more than rounding explains: then the two engines
    read the operator in different ways, and which is right is not a matter of precision.

    `own` is the value as the model's own run has it; `alike` is true if both engines are known to
    read the operator in one way.
    """
    if own.dtype == np.float64 or not _is_suited(piece, feeds, own):
        return None
    try:
        exact = _evaluate(piece, value, {name: _as_float64(array) for name, array in feeds.items()})
    except Exception:  # noqa: BLE001  (the evaluator raises anything)
        return None
    if exact.dtype != np.float64 or exact.shape != own.shape:
        return None
    return exact if alike or _is_rounding(feeds.values(), own, exact) else None


def _evaluate(piece: Piece, value: str, feeds: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    from onnx.reference import ReferenceEvaluator

    from atc_py.onnx_graph.running.evaluator_operators import Conv, GridSample

    model = onnx.ModelProto(ir_version=onnx.IR_VERSION)
    for domain, version in piece.settings.opsets.items():
        model.opset_import.add(domain=domain, version=version)
    graph = model.graph
    graph.name = "exact"
    graph.node.extend(_in_double(node) for node in piece.whole_nodes)
    for name, array in feeds.items():
        element = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        graph.input.append(onnx.helper.make_tensor_value_info(name, element, array.shape))
    for name, const in sorted(_constants_of(piece).items()):
        array = _as_float64(np.asarray(const.numpy()))
        graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    graph.output.append(onnx.ValueInfoProto(name=value))
    evaluator = ReferenceEvaluator(model, new_ops=[Conv, GridSample])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return np.asarray(next(iter(evaluator.run([value], dict(feeds)))))


def _is_suited(piece: Piece, feeds: Mapping[str, NDArray[Any]], own: NDArray[Any]) -> bool:
    """True if the nodes mean the same in float64 and do not take too long."""
    ops = {node.op_type for node in piece.nodes}
    if ops & _UNSUITED or any(op.startswith("Random") for op in ops):
        return False
    if any(_rounds_on_purpose(node.proto) for node in piece.nodes):
        return False
    constants = sum(math.prod(const.shape) for const in _constants_of(piece).values())
    elements = own.size + constants + sum(array.size for array in feeds.values())
    if elements > (_LOOPED_ELEMENTS if ops & _LOOPED else _ELEMENTS):
        return False
    return all(_is_light(piece, node, feeds, own) for node in piece.nodes)


def _constants_of(piece: Piece) -> dict[str, ConstData]:
    """The constants that the nodes themselves read; graphs in them are not run in float64."""
    read = {name for node in piece.nodes for name in node.input_names}
    return {name: const for name, const in piece.constants.items() if name in read}


def _is_light(
    piece: Piece, node: OnnxNode, feeds: Mapping[str, NDArray[Any]], own: NDArray[Any]
) -> bool:
    """True if a product or a convolution is within its limit, as far as is known."""

    def shape(name: str) -> tuple[int, ...]:  # () where the operand is made on the way
        if name in feeds:
            return feeds[name].shape
        return piece.constants[name].shape if name in piece.constants else ()

    if node.op_type in {"Gemm", "MatMul"}:
        return own.size * max(shape(node.input_names[0]), default=1) <= _PRODUCTS
    if node.op_type == "Conv":
        weights = shape(node.input_names[1])
        channels = shape(node.input_names[0])[1:2]
        places = own.size // max(weights[0] if weights else 1, 1)
        return places * math.prod((*channels, *weights[2:])) <= _PATCHES
    return True


def _as_float64(array: NDArray[Any]) -> NDArray[Any]:
    """Convert floats to float64, and leave all others."""
    element = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return array.astype(np.float64) if element in _FLOATS else array


def _in_double(node: onnx.NodeProto) -> onnx.NodeProto:
    """Copy the node with the tensors among its attributes as float64, and Cast to that dtype."""
    double = deepcopy(node)
    for attribute in double.attribute:
        if attribute.type == onnx.AttributeProto.TENSOR and attribute.t.data_type in _FLOATS:
            array = _as_float64(onnx.numpy_helper.to_array(attribute.t))
            attribute.t.CopyFrom(onnx.numpy_helper.from_array(array))
        if node.op_type == "Cast" and attribute.name == "to" and attribute.i in _FLOATS:
            attribute.i = _DOUBLE
    return double


def _rounds_on_purpose(node: onnx.NodeProto) -> bool:
    """True if a node casts to 16-bit floats."""
    narrow = _FLOATS - {onnx.TensorProto.FLOAT}
    return node.op_type == "Cast" and any(
        attribute.name == "to" and attribute.i in narrow for attribute in node.attribute
    )


def _is_rounding(
    feeds: Iterable[NDArray[Any]], own: NDArray[Any], exact: NDArray[np.float64]
) -> bool:
    """True if two results of `feeds` differ by no more than rounding explains."""
    largest = max([1.0, _largest(exact), *map(_largest, feeds)])
    with np.errstate(all="ignore"):
        errors = np.abs(own.astype(np.float64) - exact)
    errors = errors[np.isfinite(errors)]
    return not errors.size or float(errors.max()) <= _ROUNDING * largest


def _largest(array: NDArray[Any]) -> float:
    """The largest finite magnitude of an array of numbers; 0 where there is none."""
    if array.dtype.kind not in "fiu" and array.dtype.name != "bfloat16":
        return 0.0
    values = np.abs(array.astype(np.float64))
    values = values[np.isfinite(values)]
    return float(values.max(initial=0.0))
