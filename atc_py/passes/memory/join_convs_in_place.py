"""Concat of convolutions without a copy, for any number of images."""

from atc_py.ir import Engine, Graph, Node, Value
from atc_py.passes.base import Miss, Pass, PassContext
from atc_py.passes.memory.join_in_place import BLOCKED, CHANNELS, is_returned
from atc_py.target import JOINED_IN_PLACE, SocFamily
from atc_py.target.stored_nodes import IMAGES
from atc_py.tensor.storage import c0_of
from atc_py.text import Text

_POOL, _MIXED, _ALONE = "MaxPoolV3", "AscendDequant", "AscendRequant"
_KINDS: dict[tuple[str, ...], str] = {
    ("Conv2D",): "Conv2D",
    (_POOL,): _POOL,
    **{(op, "Conv2D"): op for op in ("Relu", "LeakyRelu", _MIXED, _ALONE)},
    **{(op, _MIXED, "Conv2D"): _MIXED for op in ("Relu", "LeakyRelu")},
}
"""Operands by their operators, the last one first."""

_LONGEST = max(map(len, _KINDS))

_NO_RULE = frozenset({SocFamily.ASCEND950, SocFamily.HI3796CV300CS})
"""Families for which no source has the rule of convolutions."""


class JoinConvsInPlacePass(Pass):
    """ConcatD(x1, ..., xn) of convolutions = PhonyConcat(x1, ..., xn), for images as many as there are.

    Operands are a convolution, a Relu or LeakyRelu of one, a conversion of its sums and a relu of that, or
    a MaxPool; where none is AscendDequant, those of convolutions are all alike. Each has one reader, and
    channels of all but the last fill their blocks. These are the conditions of CANN's ConvConcatFusionPass,
    which has a kernel StridedWrite in the launch of an operand on SoCs that have one.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        if context.soc.family in _NO_RULE:
            return 0
        record, joined = context.fusions[self.row.name], 0
        for node in [node for node in graph.nodes if node.op == "ConcatD"]:
            reason = _why_apart(node)
            if reason:
                record.missed(Miss.at(node, reason), matched=True)
                continue
            node.op, node.engine = JOINED_IN_PLACE, Engine.LOCAL
            joined += 1
        record.applied(joined)
        return joined


def _why_apart(node: Node) -> str:
    """The reason for which operands are not written with a stride; empty where they may be."""
    values = node.present_inputs
    kinds = [_kind_of(value) for value in values]
    wanted = {kinds[0], "" if kinds[0] == _ALONE else _POOL}
    alike = _MIXED in kinds or kinds[0] == _POOL or set(kinds) <= wanted
    if "" in kinds or not alike:
        return Text("operands must be convolutions of the same kind, read only here")
    if any(value.type.is_open for value in values) or not _joins_images(node):
        return Text("channels of all but the last operand must fill blocks of images")
    readers = (reader for reader in node.output.readers if reader.op == JOINED_IN_PLACE)
    if node.engine is not Engine.AICORE or node.scope or next(readers, None):
        return Text("the result must be a launch of its own")
    return Text("the result is an output of the model") if is_returned(node.output) else ""


def _kind_of(value: Value) -> str:
    """The kind of an operand, all of whose nodes have one reader; empty for anything else."""
    ops: list[str] = []
    node = value.producer
    while node is not None and node.engine is Engine.AICORE and len(node.output.consumers) == 1:
        ops.append(node.op)
        if tuple(ops) in _KINDS:
            return _KINDS[tuple(ops)]
        if len(ops) == _LONGEST or not node.present_inputs:
            return ""
        node = node.present_inputs[0].producer
    return ""


def _joins_images(node: Node) -> bool:
    """True if channels of images in blocks follow one another, those of all but the last in whole blocks."""
    result, axis = node.output.type, node.attributes["concat_dim"]
    kinds = [value.type for value in node.present_inputs]
    if not isinstance(axis, int) or axis % result.rank != CHANNELS or result.dtype not in BLOCKED:
        return False
    c0 = c0_of(result.dtype)
    whole = all(kind.shape[CHANNELS] % c0 == 0 for kind in kinds[:-1])
    return whole and all(kind.storage == IMAGES for kind in (*kinds, result))
