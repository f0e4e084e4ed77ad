"""The memory that an engine takes for a piece of a model, counted before it starts."""

from collections.abc import Collection, Iterable, Mapping
from math import prod

import onnx

from atc_py.frontend.reading.tensors import dtype_of_element
from atc_py.system.memory_limit import require_memory
from atc_py.text import Text

_SCRATCH = 4
"""Copies of what a node reads and writes that its kernel may hold at a time."""

_SMALL = 2**16
"""Bytes of constants that may be shapes, pads or sizes, of which results' dims depend."""


def require_engine_memory(model: onnx.ModelProto, kept: Collection[str] | None) -> None:
    """Refuse a model whose values take more than the memory limit.

    Args:
        model: the nodes; its inputs are typed.
        kept: the results that the engine keeps; None where it keeps all until the end.

    Raises:
        AtcError: MEMORY_LIMIT.
    """
    sizes = _sizes(model)
    constants = {each.name for each in model.graph.initializer}
    held = sizes if kept is None else {*kept, *(each.name for each in model.graph.input)}
    scratch = max(
        (_total(sizes, {*node.input, *node.output} - constants) for node in model.graph.node),
        default=0,
    )
    require_memory(
        _total(sizes, held) + _SCRATCH * scratch, Text("running the original model's nodes")
    )


def _total(sizes: Mapping[str, int], names: Iterable[str]) -> int:
    """Return the bytes of some values; unknown ones take none."""
    return sum(sizes.get(name, 0) for name in names)


def _sizes(model: onnx.ModelProto) -> dict[str, int]:
    """Return the bytes of the values whose dims are known, by name."""
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
    graph.output.extend(
        onnx.ValueInfoProto(name=name) for node in graph.node for name in node.output if name
    )
    try:
        inferred = onnx.shape_inference.infer_shapes(bare, data_prop=True).graph
    except Exception:  # noqa: BLE001  (onnx raises anything; an engine then says what is wrong)
        inferred = graph
    return {each.name: _nbytes(each) for each in (*inferred.input, *inferred.output)}


def _nbytes(value: onnx.ValueInfoProto) -> int:
    """Return the bytes of a tensor; 0 where dims are open."""
    dtype = dtype_of_element(value.type.tensor_type.elem_type)
    shape = value.type.tensor_type.shape
    if dtype is None or not value.type.tensor_type.HasField("shape"):
        return 0
    return dtype.itemsize * prod(int(dim.dim_value) for dim in shape.dim)
