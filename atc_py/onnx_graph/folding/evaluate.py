"""Evaluation of a single node on arrays, by ONNX's own reference implementation."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from atc_py.onnx_graph.folding.evaluator_faults import FAULTY, FINITE, SINCE
from atc_py.onnx_graph.folding.graph import WorkNode
from atc_py.tensor.dtypes import DType, UnknownDTypeError
from atc_py.tensor.shapes import normalize_axis

SLOW_LIMIT = 2**16
"""Bytes of inputs and of results up to which slow operators take a second or two."""

_NEVER = FAULTY.keys() | {
    "Bernoulli",
    "Dropout",
    "If",
    "Loop",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Scan",
}
"""Operators whose result is not a function of their inputs' values, that hold graphs, or that the
reference gets wrong in some form."""

_SLOW = frozenset(
    {
        "Conv",
        "DeformConv",
        "Erf",
        "GridSample",
        "NonMaxSuppression",
        "RoiAlign",
    }
)
"""Operators that the reference works out in Python loops, at up to 30 seconds a megabyte."""

_OLDEST_OPSET = 7
"""Before it, binary operators broadcast by an attribute, which the reference does not look at."""


def can_evaluate(node: WorkNode) -> bool:
    """True if `node` is a function of its inputs that the reference gets right."""
    if node.domain or node.op_type in _NEVER or node.captured:
        return False
    schema = node.schema if node.opset >= _OLDEST_OPSET else None
    return schema is not None and schema.since_version >= SINCE.get(node.op_type, 1)


def is_slow(node: WorkNode) -> bool:
    """True if the reference takes long for the node on more than SLOW_LIMIT bytes."""
    return node.op_type in _SLOW


def evaluate(
    node: WorkNode, arrays: Mapping[str, npt.NDArray[Any]], opsets: Mapping[str, int]
) -> dict[str, npt.NDArray[Any]] | None:
    """The node's outputs by name; None where the reference cannot compute them.

    Floats of 16 bits are float32 here: what is computed of them step by step is rounded once, at
    its end, by whoever asks.
    """
    if not _is_right_of(node, arrays):
        return None
    arrays = {name: _as_float32(array) for name, array in arrays.items()}
    try:
        # The reference warns of overflow and the like; only its results count here.
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if node.op_type == "Range" and not arrays[node.inputs[2]].all():
                return None  # in steps of 0 there is no range; the reference has an empty one
            if node.op_type == "GatherElements":
                results = _gather_elements(node, arrays)
            else:
                results = _run_reference(node, arrays, opsets)
    except Exception:  # noqa: BLE001  (it raises anything; a node that is not folded is not an error)
        return None
    return _tensors(list(node.writes), results)


def _is_right_of(node: WorkNode, arrays: Mapping[str, npt.NDArray[Any]]) -> bool:
    """True if the reference works the node out as the device does, for these operands."""
    if node.op_type == "Cast":
        return _stays_in_range(node, arrays)
    if node.op_type == "ReduceL2":  # squares of integers wrap around in it, and so do their sums
        return arrays[node.inputs[0]].dtype.kind not in "iu"
    if node.op_type == "DynamicQuantizeLinear":
        # ONNX divides 0 by 0 for zeros alone. The step is 1 in onnxruntime, 1/255 in the reference.
        return bool(arrays[node.inputs[0]].any())
    if node.op_type in FINITE:
        return all(np.isfinite(array).all() for array in arrays.values() if _is_float(array))
    return True


def _is_float(array: npt.NDArray[Any]) -> bool:
    """True if `array` holds floats, numpy's own or others."""
    return DType.from_numpy(array.dtype).is_float


def _as_float32(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Floats of 16 bits as float32; other arrays as they are."""
    is_half = _is_float(array) and array.dtype.itemsize == np.dtype(np.float16).itemsize
    return array.astype(np.float32) if is_half else array


def _stays_in_range(node: WorkNode, arrays: Mapping[str, npt.NDArray[Any]]) -> bool:
    """True if a Cast to integers stays in their range; ONNX does not define the rest.

    Undefined results are up to the device, which saturates where numpy wraps around.
    """
    (source,) = (arrays[name] for name in node.inputs[:1])
    targets = [each.i for each in node.proto.attribute if each.name == "to"]
    if source.dtype.kind not in "fV" or not targets or not source.size:
        return True
    return bool(fits_the_cast(source, targets[0]).all())


def fits_the_cast(source: npt.NDArray[Any], target: int) -> npt.NDArray[np.bool_]:
    """Return which elements ONNX defines a Cast of, given its number of the dtype that is made."""
    dtype = onnx.helper.tensor_dtype_to_np_dtype(target)
    if dtype.kind not in "iu" or source.dtype.kind not in "fV":
        return np.ones(source.shape, np.bool_)
    limits, values = np.iinfo(dtype), np.trunc(source.astype(np.float64))
    # The greatest int64 is not a float64, but the next power of two is; NaN is in no range.
    return (values >= float(limits.min)) & (values < float(int(limits.max) + 1))


def _run_reference(
    node: WorkNode, arrays: Mapping[str, npt.NDArray[Any]], opsets: Mapping[str, int]
) -> Sequence[object]:
    """The reference's results for the node's outputs; raises what it raises."""
    from onnx.reference import ReferenceEvaluator

    names = list(node.writes)
    graph = onnx.GraphProto(name="g", node=[node.plain])
    graph.input.extend(onnx.ValueInfoProto(name=name) for name in arrays)
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return list(ReferenceEvaluator(graph, opsets=dict(opsets)).run(names, dict(arrays)))


def _gather_elements(node: WorkNode, arrays: Mapping[str, npt.NDArray[Any]]) -> Sequence[object]:
    """GatherElements, which the reference refuses for some shapes that ONNX allows.

    Raises:
        ValueError: the node breaks the rules of the operator.
    """
    data, indices = (arrays[name] for name in node.inputs)
    axis = next((each.i for each in node.proto.attribute if each.name == "axis"), 0)
    axis = normalize_axis(axis, data.ndim)
    length = data.shape[axis]
    if np.any(indices < -length) or np.any(indices >= length):
        raise ValueError(f"indices must be in [{-length}, {length - 1}]")
    # Along the other axes, the result has the dims of the indices, which may be smaller.
    part = tuple(slice(None if at == axis else n) for at, n in enumerate(indices.shape))
    return [np.take_along_axis(data[part], indices % length, axis)]


def _tensors(names: list[str], results: Sequence[object]) -> dict[str, npt.NDArray[Any]] | None:
    """`results` by name where all of them are tensors that this compiler can hold."""
    found: dict[str, npt.NDArray[Any]] = {}
    for name, result in zip(names, results, strict=True):
        if not isinstance(result, (np.ndarray, np.generic)):
            return None
        array = np.asarray(result)
        try:
            DType.from_numpy(array.dtype)
        except UnknownDTypeError:
            return None
        found[name] = array
    return found
