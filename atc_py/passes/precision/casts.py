"""Cast nodes: where they run, and making them."""

from atc_py.ir import Engine, Graph, Node, Value
from atc_py.target import Soc, find_operator
from atc_py.tensor.dtypes import DType

_AICORE = frozenset(
    {
        DType.FLOAT16,
        DType.BFLOAT16,
        DType.FLOAT32,
        DType.INT8,
        DType.UINT8,
        DType.INT32,
        DType.INT64,
        DType.BOOL,
    }
)
"""Dtypes between which the AI Core converts where nothing else is published."""


def cast_engine(node: Node, soc: Soc) -> Engine:
    """The engine of a Cast node on `soc`, by the dtypes of its input and output.

    What the AI Core does not convert goes to the AI CPU.
    """
    (given,) = (value.type.dtype for value in node.present_inputs)
    wanted = node.output.type.dtype
    row = find_operator("Cast")
    published = None if row is None else row.published_on(soc)
    if published is None or given is wanted:
        return Engine.AICORE if {given, wanted} <= _AICORE else Engine.AICPU
    return Engine.AICORE if ((given,), (wanted,)) in published else Engine.AICPU


def insert_cast(graph: Graph, value: Value, dtype: DType, soc: Soc) -> Value:
    """`value` in another dtype: a new Cast node with the origins of the value's producer."""
    type_ = value.type.with_dtype(dtype)
    origins = value.producer.origins if value.producer is not None else ()
    name = f"{value.name}.{dtype.value}"
    node = graph.add_node("Cast", [value], [(name, type_)], {"dst_type": dtype}, origins)
    node.engine = cast_engine(node, soc)
    return node.output
