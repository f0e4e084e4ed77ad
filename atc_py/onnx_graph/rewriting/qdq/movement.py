"""Operators that only move or select elements: they run on the codes.

Dequantization works element by element, so it may as well come after them. They do so where a
layer or a QuantizeLinear follows, and where the file itself has them on codes.
"""

from collections.abc import Iterable

from atc_py.ir import ConstData
from atc_py.onnx_graph.folding.fold_views import VIEW_FOLDS
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.rewriting.qdq.parameters import Parameters, recoding, widening
from atc_py.onnx_graph.rewriting.qdq.tensors import Codes, KnownTensors, Stored
from atc_py.onnx_graph.rewriting.qdq.writer import Writer
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType

MOVING = frozenset(
    {
        "Concat",
        "DepthToSpace",
        "Flatten",
        "Gather",
        "GatherElements",
        "GatherND",
        "Identity",
        "Reshape",
        "Slice",
        "SpaceToDepth",
        "Split",
        "Squeeze",
        "Tile",
        "Transpose",
        "Unsqueeze",
    }
)
"""Those for which the operator list has int8."""

_READ_CODES = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul", "QuantizeLinear"})


def is_moving(node: OnnxNode) -> bool:
    """True if a node only moves or selects elements of its data."""
    return not node.domain and node.op_type in MOVING


def nodes_before_codes(graph: OnnxGraph) -> set[OnnxNode]:
    """The moving nodes after which, perhaps with others between, codes are needed."""
    asked: set[str] = set()
    before: set[OnnxNode] = set()
    for node in reversed(graph.nodes):
        moving = is_moving(node)
        if moving and any(name in asked for name in node.writes):
            before.add(node)
        if node in before or (not node.domain and node.op_type in _READ_CODES):
            asked.update(_data(node))
    return before


def move(writer: Writer, tensors: KnownTensors, node: OnnxNode, *, before_codes: bool) -> bool:
    """Write a node on codes, where one later needs them (`before_codes`); False where it is not."""
    data = _data(node)
    stored = [held for name in data if (held := tensors.stored(name)) is not None]
    if data and len(stored) == len(data):
        return _move_stored(writer, tensors, node, stored)
    codes = [own for name in data if (own := tensors.codes.get(name)) is not None]
    if not data or len(codes) != len(data):
        return False
    rest = filter(None, node.input_names[len(data) :])
    known = all(operand.stored.const is not None for operand in codes)
    if known and all(name in writer.graph.consts for name in rest):
        return len(codes) == 1 and _move_constant(writer, tensors, node, codes[0])
    return before_codes and _move_codes(writer, tensors, node, codes)


def pool_codes(writer: Writer, tensors: KnownTensors, node: OnnxNode) -> bool:
    """MaxPool of codes, which some files have: as real numbers of the same value; exact."""
    stored = tensors.stored(node.input_names[0])
    if stored is None or stored.const is not None or any(node.output_names[1:]):
        return False
    x, y, offset = stored.name, node.output_names[0], stored.offset or 0
    real = writer.op(
        node, "AscendAntiQuant", [x], writer.fresh(f"{y}/real"), **widening(DType.FLOAT32, offset)
    )
    most = writer.fresh(f"{y}/most")
    writer.again(node, "MaxPool", [real], [most], with_own=True)
    name = y if stored.kind is DType.INT8 else writer.fresh(f"{y}/int8")
    writer.op(node, "AscendQuant", [most], name, **recoding(offset))
    tensors.store(y, Stored(name, stored.kind, None, offset), node)
    return True


def _data(node: OnnxNode) -> tuple[str, ...]:
    """The inputs whose elements the results consist of."""
    if node.op_type in {"Concat", "MatMul"}:
        return node.input_names
    if node.op_type in {"Conv", "ConvTranspose", "Gemm"}:
        return node.input_names[:2]
    return node.input_names[:1]


def _move_stored(
    writer: Writer, tensors: KnownTensors, node: OnnxNode, stored: list[Stored]
) -> bool:
    kinds = {held.kind for held in stored}
    if len(kinds) != 1 or all(held.const is not None for held in stored):
        return False
    kind, offset = kinds.pop(), _common_offset(stored)
    for name, output in zip(
        _result_names(writer, tensors, node, stored, kind), node.output_names, strict=True
    ):
        if output:
            tensors.store(output, Stored(name, kind, None, offset), node)
    return True


def _move_codes(writer: Writer, tensors: KnownTensors, node: OnnxNode, codes: list[Codes]) -> bool:
    parameters, stored = codes[0].parameters, [operand.stored for operand in codes]
    unlike = any(operand.parameters.key != parameters.key for operand in codes)
    if unlike or parameters.axis is not None or parameters.kind is not DType.INT8:
        return False
    offset = _common_offset(stored)
    names = _result_names(writer, tensors, node, stored, None)
    for name, output in zip(names, node.output_names, strict=True):
        if output:
            held = Stored(name, DType.INT8, None, offset)
            tensors.codes[output] = Codes(held, parameters, node)
            tensors.hold(output, held)
    return True


def _result_names(
    writer: Writer, tensors: KnownTensors, node: OnnxNode, stored: list[Stored], kind: DType | None
) -> list[str]:
    """Names of the node's int8 results: the file's names if they are int8 there, too."""
    rest = node.input_names[len(stored) :]
    for name in filter(None, rest):
        tensors.as_there(name)
    names = [
        name if kind is DType.INT8 or not name else writer.fresh(f"{name}/int8")
        for name in node.output_names
    ]
    inputs = [*(held.name for held in stored), *rest]
    writer.again(node, node.op_type, inputs, names, with_own=True)
    return names


def _move_constant(writer: Writer, tensors: KnownTensors, node: OnnxNode, codes: Codes) -> bool:
    """Weights that the file moves before a layer reads them."""
    const, parameters = codes.stored.const, codes.parameters
    inputs = [const, *(writer.graph.consts.get(name) for name in node.input_names[1:])]
    if node.op_type not in VIEW_FOLDS or None in inputs:
        return False
    moved = VIEW_FOLDS[node.op_type](inputs, node.plain_attributes)
    along = None if moved is None else _moved_axis(node, parameters, moved)
    if moved is None or along is None:
        return False
    name = writer.const(f"{node.output_names[0]}/codes", moved)
    held = Stored(name, codes.stored.kind, moved)
    tensors.codes[node.output_names[0]] = Codes(held, along, node)
    return True


def _moved_axis(node: OnnxNode, parameters: Parameters, moved: ConstData) -> Parameters | None:
    """The parameters after a node; None where the channels do not stay on one axis."""
    if parameters.axis is None or node.op_type == "Identity":
        return parameters
    if node.op_type != "Transpose":
        return None
    rank = len(moved.shape)
    perm = node.plain_attributes.get("perm", tuple(range(rank))[::-1])
    order = [int(axis) for axis in perm] if isinstance(perm, tuple) else []
    return replace(parameters, axis=order.index(parameters.axis % rank))


def _common_offset(stored: Iterable[Stored]) -> int | None:
    """The offset of the AscendQuants that codes come from, if they share one."""
    offsets = {held.offset for held in stored if held.const is None}
    return offsets.pop() if len(offsets) == 1 else None
