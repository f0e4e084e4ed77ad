"""Nodes on codes or on sums of them, for which ONNX or onnxruntime has other numbers alone.

The deploy form has them on int8 and int32 as Ascend does. What gives back some of its operands, or
0, gives the same in wider numbers: float32 holds every int8, float64 every int32.
"""

from onnx import TensorProto

from atc_py.diag import Diagnostic
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.tensors import known_type
from atc_py.onnx_graph.rewriting.qdq.ascend import no_form
from atc_py.onnx_graph.rewriting.qdq.raising import takes_element
from atc_py.onnx_graph.rewriting.qdq.writer import Writer
from atc_py.text import Text

_INT8, _INT32 = int(TensorProto.INT8), int(TensorProto.INT32)
_WIDER = {_INT8: int(TensorProto.FLOAT), _INT32: int(TensorProto.DOUBLE)}

_EXACT = frozenset(
    {
        "Clip",
        "DepthToSpace",
        "GlobalMaxPool",
        "Max",
        "MaxPool",
        "Min",
        "NonZero",
        "ReduceMax",
        "ReduceMin",
        "Relu",
        "SpaceToDepth",
        "Trilu",
        "Unique",
    }
)
"""Operators whose results are among their operands, or 0, or positions."""

_WITHOUT_KERNEL = {
    _INT8: frozenset(
        {"DepthToSpace", "Einsum", "EyeLike", "NonZero", "OneHot", "SplitToSequence", "Trilu"}
    ),
    _INT32: frozenset({"DepthToSpace", "OneHot", "PRelu", "SpaceToDepth", "Unique"}),
}
"""Operators that ONNX defines for these numbers and onnxruntime has no kernel for at some opset."""


def write_wider(graph: OnnxGraph, results: set[str]) -> tuple[Diagnostic, ...]:
    """Write the nodes of some results that no runtime takes as they are on wider numbers.

    Returned is NO_QDQ_FORM for every one that would compute something else on them.
    """
    writer, refused = Writer(graph), list[Diagnostic]()
    for node in graph.nodes:
        element = None if results.isdisjoint(node.writes) else _untaken(graph, node)
        if element is None:
            writer.keep(node)
        elif node.op_type in _EXACT:
            _widen(graph, writer, node, element)
        else:
            error = no_form(
                node,
                "works on {dtype}, which ONNX or onnxruntime does not support here",
                Text("dequantize before it and quantize after it, or use a newer opset"),
                dtype=_name(element),
            )
            refused.extend(error.diagnostics)
    writer.finish()
    return tuple(refused)


def _untaken(graph: OnnxGraph, node: OnnxNode) -> int | None:
    """The element type that a node reads and is not defined for; None where it is for all."""
    for element in _WIDER:
        names = [name for name in node.reads if element_of(graph, name) == element]
        lacks = not node.domain and node.op_type in _WITHOUT_KERNEL[element]
        if names and (lacks or not takes_element(node, graph, names, _name(element))):
            return element
    return None


def _widen(graph: OnnxGraph, writer: Writer, node: OnnxNode, element: int) -> None:
    wide = _WIDER[element]

    def fresh(names: tuple[str, ...]) -> dict[str, str]:
        those = [name for name in dict.fromkeys(names) if element_of(graph, name) == element]
        return {name: writer.fresh(f"{name}/{_name(wide)}") for name in those}

    cast, real = fresh(node.reads), fresh(node.writes)
    for name, new in cast.items():
        writer.op(node, "Cast", [name], new, to=wide)
    inputs = [cast.get(name, name) for name in node.input_names]
    outputs = [real.get(name, name) for name in node.output_names]
    writer.again(node, node.op_type, inputs, outputs, with_own=True)
    for name, new in real.items():
        writer.op(node, "Cast", [new], name, to=element)


def takes_operands(node: OnnxNode, graph: OnnxGraph) -> bool:
    """True if ONNX defines a node for what it reads, as far as dtypes are known, at the graph's opset."""
    elements = {name: element_of(graph, name) for name in node.reads}
    return all(
        takes_element(node, graph, [name], _name(element))
        for name, element in elements.items()
        if element
    )


def element_of(graph: OnnxGraph, name: str) -> int:
    """ONNX's number of a value's element type; 0 where it is not known."""
    known = known_type(graph, name)
    return known.element if known is not None else 0


def _name(element: int) -> str:
    return str(TensorProto.DataType.Name(element)).lower()
