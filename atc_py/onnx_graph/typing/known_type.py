"""The type of a value as far as it is known by now."""

from atc_py.onnx_graph.folding.graph import ValueType, WorkGraph
from atc_py.onnx_graph.reading.tensors import element_of_dtype


def known_type(graph: WorkGraph, name: str) -> ValueType | None:
    """Return what is known of a value: an input, a constant, or what was inferred."""
    const = graph.consts.get(name)
    if const is not None:
        return ValueType(element_of_dtype(const.dtype), const.shape)
    return graph.types.get(name) or graph.inputs.get(name)
