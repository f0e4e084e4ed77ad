"""The engines that run nodes: onnxruntime, and onnx's own evaluator."""

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from atc_py.onnx_graph.folding.evaluate import FINITE, fault_of
from atc_py.onnx_graph.reading.history import history
from atc_py.onnx_graph.reading.nodes import nodes_within
from atc_py.onnx_graph.reading.tensors import dtype_of_element
from atc_py.onnx_graph.running.exact_products import has_products, shift_weights
from atc_py.onnx_graph.typing.inference_model import has_long_vectors
from atc_py.system.memory_limit import require_memory
from atc_py.system.process import granted_threads
from atc_py.text import Text

_SCRATCH = 4
"""Copies of what a node reads and writes that its kernel may hold at a time."""

_SMALL = 2**16
"""Bytes of constants that may be shapes, pads or sizes, of which results' dims depend."""


def require_engine_memory(model: onnx.ModelProto, kept: Collection[str] | None) -> None:
    """Refuse a model, its inputs typed, whose values take more than the memory limit.

    `kept` are the results that the engine keeps; None where it keeps all until the end.
    """
    sizes = _sizes(model)
    constants = {tensor.name for tensor in model.graph.initializer}
    held = sizes if kept is None else {*kept, *(value.name for value in model.graph.input)}
    scratch = max(
        (_total(sizes, {*node.input, *node.output} - constants) for node in model.graph.node),
        default=0,
    )
    require_memory(
        _total(sizes, held) + _SCRATCH * scratch, Text("running the original model's nodes")
    )


def _total(sizes: Mapping[str, int], names: Iterable[str]) -> int:
    """The bytes of some values; unknown ones take none."""
    return sum(sizes.get(name, 0) for name in names)


def _sizes(model: onnx.ModelProto) -> dict[str, int]:
    """The bytes of the values whose dims are known, by name."""
    bare = onnx.ModelProto(ir_version=model.ir_version, opset_import=model.opset_import)
    graph = bare.graph
    graph.name = "sizes"
    graph.node.extend(model.graph.node)
    graph.input.extend(model.graph.input)
    for tensor in model.graph.initializer:
        if tensor.ByteSize() <= _SMALL:
            graph.initializer.append(tensor)
        else:
            graph.input.append(
                onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            )
    try:
        follow = not has_long_vectors(bare, {})
        inferred = onnx.shape_inference.infer_shapes(bare, data_prop=follow).graph
    except Exception:  # noqa: BLE001  (onnx raises anything; an engine then says what is wrong)
        inferred = graph
    return {value.name: _nbytes(value) for value in (*inferred.input, *inferred.value_info)}


def _nbytes(value: onnx.ValueInfoProto) -> int:
    """The bytes of a tensor; 0 where dims are open."""
    dtype = dtype_of_element(value.type.tensor_type.elem_type)
    shape = value.type.tensor_type.shape
    if dtype is None or not value.type.tensor_type.HasField("shape"):
        return 0
    return dtype.itemsize * prod(int(dim.dim_value) for dim in shape.dim)


_UNIFORM = frozenset({"RandomUniform", "RandomUniformLike"})
_NORMAL = frozenset({"RandomNormal", "RandomNormalLike"})
_DRAWING = _UNIFORM | _NORMAL


@dataclass(frozen=True, slots=True)
class NodeEngine:
    """Runner of some nodes; `writes` are the results that `call` returns."""

    call: Callable[[Mapping[str, NDArray[Any]]], Sequence[object]]
    writes: tuple[str, ...]

    def run(self, feeds: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The results that are tensors, by name."""
        results = zip(self.writes, self.call(feeds), strict=True)
        return {
            name: np.asarray(result)
            for name, result in results
            if isinstance(result, np.ndarray | np.generic)
        }


def start_onnxruntime(
    model: onnx.ModelProto, writes: tuple[str, ...], threads: int = 0
) -> NodeEngine:
    """Onnxruntime without optimizations, which would remove results.

    `threads` work within a node; 0 for as many as this work may use. Starting them takes far longer
    than a small model does. ValueError where onnxruntime would end the process.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads or granted_threads()
    # Threads that wait in a loop would take the cores from the device's kernels.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Sessions that wait would keep what their last run took.
    options.enable_cpu_mem_arena = False
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    opset = _opset_of(model)
    require_engine_memory(model, writes)
    for node in nodes_within(model.graph.node):
        _refuse_crash(node, opset)
    if has_products(model.graph.node):
        model = onnx.ModelProto.FromString(model.SerializeToString())
        shift_weights(model)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = list(writes)
    return NodeEngine(lambda feeds: session.run(names, dict(feeds)), writes)


def start_onnx_reference(model: onnx.ModelProto, writes: tuple[str, ...]) -> NodeEngine:
    """The reference evaluator of onnx; ValueError for a node that it gets wrong."""
    from onnx.reference import ReferenceEvaluator

    from atc_py.onnx_graph.running.evaluator_operators import own_operators

    opset = _opset_of(model)
    require_engine_memory(model, None)
    own = own_operators(opset)
    replaced = {operator.__name__ for operator in own}
    nodes = [*nodes_within(model.graph.node)]
    for node in nodes:
        fault = "" if node.op_type in replaced else fault_of(node, opset)
        if fault:
            raise ValueError(f"{node.op_type}: onnx's evaluator {fault}")
    spread = next((node.op_type for node in nodes if node.op_type in FINITE), "")
    evaluator = ReferenceEvaluator(model, new_ops=own)

    def call(feeds: Mapping[str, NDArray[Any]]) -> Sequence[object]:
        if spread and not all(map(_is_finite, feeds.values())):
            raise ValueError(f"{spread} of onnx's evaluator spreads NaN and infinities")
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return list(evaluator.run(list(writes), dict(feeds)))

    return NodeEngine(call, writes)


def _opset_of(model: onnx.ModelProto) -> int:
    """The version of ONNX's own operators; 0 where a model imports none."""
    return next((imported.version for imported in model.opset_import if not imported.domain), 0)


def _refuse_crash(node: onnx.NodeProto, opset: int) -> None:
    """Refuse a node with which onnxruntime ends the whole process."""
    if node.op_type in _DRAWING:
        _refuse_bounds(node)
    if node.domain or "" not in node.input:
        return
    schema = history().at(node.op_type, opset)
    for position, name in enumerate(node.input):
        formal = None if name or schema is None else schema.input_at(position)
        if formal is not None and not formal.optional:
            raise ValueError(
                Text(
                    "{op_type} lacks the input at {position}, which is not optional",
                    op_type=node.op_type,
                    position=position,
                )
            )


def _refuse_bounds(node: onnx.NodeProto) -> None:
    numbers = {attribute.name: attribute.f for attribute in node.attribute}
    low, high, scale = numbers.get("low", 0.0), numbers.get("high", 1.0), numbers.get("scale", 1.0)
    if node.op_type in _UNIFORM and not low <= high:
        raise ValueError(
            Text(
                "{op_type} has numbers from {low} to {high}",
                op_type=node.op_type,
                low=f"{low:g}",
                high=f"{high:g}",
            )
        )
    if node.op_type in _NORMAL and not scale > 0:
        raise ValueError(
            Text(
                "{op_type} has a scale of {scale}; onnxruntime needs more than 0",
                op_type=node.op_type,
                scale=f"{scale:g}",
            )
        )


def _is_finite(array: NDArray[Any]) -> bool:
    if array.dtype.kind not in "fV":
        return True
    return bool(np.isfinite(array.astype(np.float32)).all())
