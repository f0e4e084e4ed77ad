"""Evaluation of a single node on arrays, by ONNX's own reference, and results that are kept.

Some forms of operators the reference gets wrong: FAULTY tells which, and why.
"""

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from onnx.onnx_pb import GraphProto, NodeProto, ValueInfoProto

from atc_py.ir import ConstData, DenseConst
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.onnx_graph.reading.tensors import dtype_of_element
from atc_py.tensor.dtypes import DType, UnknownDTypeError
from atc_py.tensor.shapes import normalize_axis

SLOW_LIMIT = 2**16
"""Bytes of inputs and of results up to which slow operators take a second or two."""

SINCE = {
    "BatchNormalization": 14,  # before, the evaluator trains where the model infers
    "Hardmax": 13,  # before, all axes after `axis` counted too; the evaluator takes one axis
    "LogSoftmax": 13,
    "RoiAlign": 16,  # before, there was no half-pixel shift
    "Softmax": 13,
}
"""Operators whose older definitions the evaluator does not follow, and the first that it does."""

FINITE = frozenset({"Conv", "MaxPool", "ReduceLogSumExp", "Resize"})
"""Operators of which the evaluator loses NaN and infinities, or spreads them over other elements."""

_LENGTHS = 4
"""Input of recurrent layers with the length of each sequence."""

_SIZES = 3
"""Input of Resize with the dims of the result."""


class _Form:
    """A node as its faults read it."""

    def __init__(self, node: NodeProto) -> None:
        self._inputs = list(node.input)
        self._attributes = {attribute.name: attribute for attribute in node.attribute}

    def has(self, position: int) -> bool:
        return bool("".join(self._inputs[position : position + 1]))

    def is_set(self, *names: str) -> bool:
        return any(name in self._attributes for name in names)

    def integer(self, name: str, default: int = 0) -> int:
        return self._attributes[name].i if name in self._attributes else default

    def text(self, name: str) -> str:
        data = self._attributes[name].s if name in self._attributes else b""
        return data.decode("utf-8", "replace")

    def departs(self, name: str, plain: int) -> bool:
        """True if one number of a list is not `plain`."""
        numbers = self._attributes[name].ints if name in self._attributes else ()
        return any(item != plain for item in numbers)

    @property
    def steps_over(self) -> bool:
        """True if windows are shorter than their step, along some axis."""
        known = self._attributes.get("kernel_shape"), self._attributes.get("strides")
        window, steps = (() if item is None else item.ints for item in known)
        return any(size < step for size, step in zip(window, steps, strict=False))

    @property
    def is_padded_by_name(self) -> bool:
        """True if auto_pad says how X is padded."""
        return self.text("auto_pad") not in {"", "NOTSET"}


class _Fault(NamedTuple):
    """One operator."""

    reason: str  # the fault, as a clause whose subject is the evaluator
    # returns whether the form of a node shows it; other forms are right, or right but for some
    # values
    shows: Callable[[_Form], bool]


def _of_mean(form: _Form) -> bool:
    """True for windows that overhang, or that are dilated or apart within automatic pads."""
    odd = form.departs("dilations", 1) or form.steps_over
    return form.integer("ceil_mode") != 0 or (odd and form.is_padded_by_name)


def _of_maximum(form: _Form) -> bool:
    """True for the pads that MaxPool gets wrong, which depend on its steps."""
    stepped = form.departs("dilations", 1) or form.departs("strides", 1)
    if form.is_padded_by_name:
        return stepped or form.integer("ceil_mode") != 0
    return form.departs("pads", 0) and not stepped


def _of_transposed(form: _Form) -> bool:
    """True for groups with a bias, a stated shape and automatic pads."""
    grouped = form.integer("group", 1) != 1 and form.has(2)
    return grouped or form.is_set("output_shape") or form.is_padded_by_name


def _of_recurrence(form: _Form) -> bool:
    """True for sequences of different lengths, and what limits or replaces activations."""
    return form.has(_LENGTHS) or form.is_set("activations", "clip", "input_forget")


def _of_resize(form: _Form) -> bool:
    """True if scales give the length that coordinates depend on, or a length of 1 may matter."""
    mode = form.text("coordinate_transformation_mode")
    lengths = {"align_corners", "half_pixel_symmetric", "tf_crop_and_resize"}
    return mode == "pytorch_half_pixel" or (not form.has(_SIZES) and mode in lengths)


_NO_LENGTHS = "reads neither sequence_lens nor activations"

FAULTY: Mapping[str, _Fault] = {
    "AveragePool": _Fault("miscounts where ceil_mode lets a window overhang", _of_mean),
    "ConvTranspose": _Fault(
        "is wrong with groups and a bias, and for output_shape", _of_transposed
    ),
    "GRU": _Fault(_NO_LENGTHS, _of_recurrence),
    "GridSample": _Fault(
        "moves cubic places to the border",
        lambda form: "cubic" in form.text("mode") and form.text("padding_mode") == "border",
    ),
    "LRN": _Fault("sums over as many channels as there are images", lambda _: True),
    "LSTM": _Fault(_NO_LENGTHS, _of_recurrence),
    "LogSoftmax": _Fault("takes the logarithm of a softmax, which may be 0", lambda _: False),
    "LpNormalization": _Fault(
        "takes no absolute value for p = 1", lambda form: form.integer("p", 2) == 1
    ),
    "LpPool": _Fault("miscounts where ceil_mode lets a window overhang", _of_mean),
    "MaxPool": _Fault("loses windows in the padding", _of_maximum),
    "Optional": _Fault("makes a list of the value", lambda form: form.has(0)),
    "RNN": _Fault(_NO_LENGTHS, _of_recurrence),
    "Resize": _Fault(
        "takes the length of the result for a fraction of scales, and a single place for -0.5",
        _of_resize,
    ),
    "SequenceInsert": _Fault("puts what comes last at the front", lambda form: form.has(2)),
    "SoftmaxCrossEntropyLoss": _Fault("takes a negative label for a class", lambda _: False),
}
"""Operators that the evaluator gets wrong in some form, or for some values."""


def fault_of(node: NodeProto, opset: int) -> str:
    """The fault of the evaluator at this form of a node, whose graphs do not count; "" for none."""
    if node.domain not in {"", "ai.onnx"}:
        return ""
    if opset < SINCE.get(node.op_type, 0):
        return f"follows the definition of opset {SINCE[node.op_type]}"
    fault = FAULTY.get(node.op_type)
    return fault.reason if fault is not None and fault.shows(_Form(node)) else ""


DRAWN = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
     "RandomUniformLike"}
)  # fmt: skip
"""Operators whose results depend on how often they have run."""

_NEVER = FAULTY.keys() | DRAWN | {"Dropout", "If", "Loop", "Scan"}
"""Operators whose result is not a function of their inputs' values, that hold graphs, or that the
reference gets wrong in some form."""

SLOW = frozenset(
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


def can_evaluate(node: OnnxNode) -> bool:
    """True if `node` is a function of its inputs that the reference gets right."""
    if node.domain or node.op_type in _NEVER or node.captured:
        return False
    schema = node.schema if node.opset >= _OLDEST_OPSET else None
    return schema is not None and schema.since_version >= SINCE.get(node.op_type, 1)


def evaluate(
    node: OnnxNode, arrays: Mapping[str, npt.NDArray[Any]], opsets: Mapping[str, int]
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
            if node.op_type == "Range" and not arrays[node.input_names[2]].all():
                return None  # in steps of 0 there is no range; the reference has an empty one
            if node.op_type == "GatherElements":
                results = _gather_elements(node, arrays)
            else:
                from atc_py.onnx_graph.folding.plain_functions import plain_result

                plain = plain_result(node, arrays)
                results = _run_reference(node, arrays, opsets) if plain is None else [plain]
    except Exception:  # noqa: BLE001  (it raises anything; a node that is not folded is not an error)
        return None
    return _tensors(list(node.writes), results)


def _is_right_of(node: OnnxNode, arrays: Mapping[str, npt.NDArray[Any]]) -> bool:
    """True if the reference works the node out as the device does, for these operands."""
    if node.op_type == "Cast":
        # ONNX does not define casts beyond the range of the integers: the device saturates where
        # numpy wraps around.
        (source,) = (arrays[name] for name in node.input_names[:1])
        if source.dtype.kind not in "fV" or "to" not in node.plain_attributes or not source.size:
            return True
        return bool(fits_the_cast(source, node.integer("to")).all())
    if node.op_type == "ReduceL2":  # squares of integers wrap around in it, and so do their sums
        return arrays[node.input_names[0]].dtype.kind not in "iu"
    if node.op_type == "DynamicQuantizeLinear":
        # ONNX divides 0 by 0 for zeros alone. The step is 1 in onnxruntime, 1/255 in the reference.
        return bool(arrays[node.input_names[0]].any())
    if node.op_type in FINITE:
        return all(np.isfinite(array).all() for array in arrays.values() if _is_float(array))
    return True


def _is_float(array: npt.NDArray[Any]) -> bool:
    return DType.from_numpy(array.dtype).is_float


def _as_float32(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Floats of 16 bits as float32; other arrays as they are."""
    is_half = _is_float(array) and array.dtype.itemsize == np.dtype(np.float16).itemsize
    return array.astype(np.float32) if is_half else array


def fits_the_cast(source: npt.NDArray[Any], target: int) -> npt.NDArray[np.bool_]:
    """The elements that ONNX defines a Cast of, given its number of the dtype that is made."""
    dtype = dtype_of_element(target)
    if dtype is None or dtype.numpy.kind not in "iu" or source.dtype.kind not in "fV":
        return np.ones(source.shape, np.bool_)
    limits, values = np.iinfo(dtype.numpy), np.trunc(source.astype(np.float64))
    # The greatest int64 is not a float64, but the next power of two is; NaN is in no range.
    return (values >= float(limits.min)) & (values < float(int(limits.max) + 1))


def _run_reference(
    node: OnnxNode, arrays: Mapping[str, npt.NDArray[Any]], opsets: Mapping[str, int]
) -> Sequence[object]:
    from onnx.reference import ReferenceEvaluator

    names = list(node.writes)
    graph = GraphProto(name="g", node=[node.plain])
    graph.input.extend(ValueInfoProto(name=name) for name in arrays)
    graph.output.extend(ValueInfoProto(name=name) for name in names)
    return list(ReferenceEvaluator(graph, opsets=dict(opsets)).run(names, dict(arrays)))


def _gather_elements(node: OnnxNode, arrays: Mapping[str, npt.NDArray[Any]]) -> Sequence[object]:
    """GatherElements, which the reference refuses for some shapes that ONNX allows."""
    data, indices = (arrays[name] for name in node.input_names)
    axis = normalize_axis(node.integer("axis"), data.ndim)
    length = data.shape[axis]
    if np.any(indices < -length) or np.any(indices >= length):
        raise ValueError(f"indices must be in [{-length}, {length - 1}]")
    # Along the other axes, the result has the dims of the indices, which may be smaller.
    part = tuple(slice(None if at == axis else n) for at, n in enumerate(indices.shape))
    return [np.take_along_axis(data[part], indices % length, axis)]


def _tensors(names: list[str], results: Sequence[object]) -> dict[str, npt.NDArray[Any]] | None:
    """`results` by name where all of them are tensors that this compiler can hold."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, result in zip(names, results, strict=True):
        if not isinstance(result, (np.ndarray, np.generic)):
            return None
        array = np.asarray(result)
        try:
            DType.from_numpy(array.dtype)
        except UnknownDTypeError:
            return None
        arrays[name] = array
    return arrays


_MOST_BYTES = 1024
"""Bytes of all inputs, and of all results, up to which results are kept."""

_Kept: TypeAlias = "tuple[DenseConst, ...]"


class SmallResults:
    """Results by what they depend on: the operator, its attributes, and the data of the inputs."""

    def __init__(self) -> None:
        self._known: dict[Hashable, _Kept] = {}

    def key(self, node: OnnxNode, consts: Mapping[str, ConstData], size: int) -> Hashable | None:
        """All that results of a node with `size` bytes of inputs depend on; None if not kept."""
        if size > _MOST_BYTES or node.captured:
            return None
        attributes = tuple(attribute.SerializeToString() for attribute in node.proto.attribute)
        read = [consts[name] if name else None for name in node.input_names]
        inputs = tuple(
            tensor and (tensor.dtype, tensor.shape, tensor.numpy().tobytes()) for tensor in read
        )
        return node.op_type, node.opset, attributes, inputs, tuple(map(bool, node.output_names))

    def get(self, key: Hashable | None, node: OnnxNode) -> dict[str, ConstData] | None:
        """The results that are known under a key, by the names of a node."""
        known = None if key is None else self._known.get(key)
        if known is None:
            return None
        return {
            name: DenseConst(value.numpy()) for name, value in zip(node.writes, known, strict=True)
        }

    def put(self, key: Hashable | None, results: Mapping[str, DenseConst]) -> None:
        kept = tuple(results.values())
        if key is not None and sum(const.numpy().nbytes for const in kept) <= _MOST_BYTES:
            self._known[key] = kept


class FoldMemo:
    """Results of nodes by the constants that they read, for graphs of one file with other shapes.

    Weights that are made of weights are the same constants in each of the graphs then.
    """

    def __init__(self) -> None:
        self._known: dict[
            tuple[OnnxNode, tuple[int, ...]], tuple[list[ConstData], dict[str, ConstData]]
        ] = {}

    def get(self, node: OnnxNode, read: Sequence[ConstData]) -> dict[str, ConstData] | None:
        entry = self._known.get((node, tuple(map(id, read))))
        return None if entry is None else entry[1]

    def put(self, node: OnnxNode, read: Sequence[ConstData], results: dict[str, ConstData]) -> None:
        """Keep the results of a node, and what it read, whose identity is the key."""
        self._known[node, tuple(map(id, read))] = [*read], results
