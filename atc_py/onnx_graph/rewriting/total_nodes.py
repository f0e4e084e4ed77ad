"""Nodes that may run although the model would not run them: none of their results can be an error."""

from collections.abc import Collection

from onnx import GraphProto, NodeProto

from atc_py.onnx_graph.folding.evaluate import DRAWN
from atc_py.onnx_graph.reading.nodes import subgraphs
from atc_py.onnx_graph.source import SourceNode

_REPEATED = frozenset({"Loop", "Scan", "SequenceMap"})

_DIMS = frozenset({"Shape", "Size"})

_POSITIONS = {
    "Compress": (1,),
    "ConstantOfShape": (0,),
    "Expand": (1,),
    "Gather": (1,),
    "GatherElements": (1,),
    "GatherND": (1,),
    "OneHot": (1,),
    "OptionalGetElement": (0,),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "Scatter": (1,),
    "ScatterElements": (1,),
    "ScatterND": (1,),
    "SequenceAt": (1,),
    "SequenceErase": (1,),
    "SequenceInsert": (2,),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "SplitToSequence": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Upsample": (1,),
}
"""Inputs, by position, whose values decide whether the operator is defined."""


def may_run_always(node: SourceNode) -> bool:
    """True if a node and those of its branches are defined for all values of their inputs.

    Bodies of loops are not looked at; see `may_repeat_always`.
    """
    return all(map(_is_total, node.with_inner))


def may_repeat_always(proto: NodeProto, known: Collection[str]) -> bool:
    """True if the bodies of loops in the branches of an If are defined for all values.

    The step of a Loop counts as constant: it is, once the Loop is written out.

    `known` are constants around it.
    """
    return all(_is_body_total(inner, {*known}, inside=False) for inner in subgraphs(proto))


def _is_body_total(graph: GraphProto, known: set[str], *, inside: bool) -> bool:
    """True if the bodies of a graph are total, and, `inside` one, its own nodes."""
    known |= {initializer.name for initializer in graph.initializer}
    for node in graph.node:
        decided = node.op_type in _DIMS or known.issuperset(filter(None, node.input))
        if decided and not node.domain and node.op_type not in DRAWN:
            known.update(node.output)
        places = [at for at in _POSITIONS.get(node.op_type, ()) if at < len(node.input)]
        fails = node.op_type in DRAWN or node.op_type in {"Div", "Mod"}
        open_ = any(node.input[at] and node.input[at] not in known for at in places)
        if inside and (node.domain or fails or open_):
            return False
        for inner in subgraphs(node):
            step = {inner.input[0].name} if node.op_type == "Loop" and inner.input else set()
            body = inside or node.op_type in _REPEATED
            if not _is_body_total(inner, known | step, inside=body):
                return False
    return True


def _is_total(node: SourceNode) -> bool:
    """True if a node is; its branches are not looked at."""
    if node.domain or node.op_type in DRAWN:
        return False
    if node.op_type in {"Div", "Mod"}:
        divisor = node.inputs[1]
        if divisor is None or divisor.dtype is None:
            return False
        if divisor.dtype.is_float:
            return True
        return divisor.const is not None and bool(divisor.const.numpy().all())
    deciding = [node.inputs[at] for at in _POSITIONS.get(node.op_type, ()) if at < len(node.inputs)]
    return all(tensor is None or tensor.const is not None or tensor.settles for tensor in deciding)
