"""Concat without a copy: its operands are computed where the result has them."""

from atc_py.ir import Engine, Graph, Node, Value
from atc_py.passes.base import Pass, PassContext
from atc_py.target import JOINED_IN_PLACE, is_view
from atc_py.target.stored_nodes import IMAGES
from atc_py.tensor.dtypes import DType
from atc_py.tensor.storage import c0_of

CHANNELS = 1
_UNIT = 32
"""Bytes that every operand must be a multiple of."""

BLOCKED = frozenset({DType.FLOAT16, DType.INT8, DType.INT4})
"""Dtypes of images in blocks that are joined so."""


class JoinInPlacePass(Pass):
    """ConcatD(x1, ..., xn) = PhonyConcat(x1, ..., xn), which launches nothing.

    Channels of one image, in whole blocks or in rows of whole multiples of 32 bytes. Each operand is
    made by a kernel of the AI Core, stands there once, is not an output of the model, and its maker
    has no operand of another such Concat; nor is the result an output. These are the conditions of
    CANN's pass; graphs with open dims have none.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        found = [node for node in graph.nodes if node.op == "ConcatD"]
        if not found or any(value.type.is_open for value in graph.values()):
            return 0
        taken: set[Node] = set()
        joined = 0
        for node in found:
            makers = node.producers
            if not _is_one_image(node) or not _may_lie_inside(node, makers, taken):
                continue
            taken.update(makers)
            node.op, node.engine = JOINED_IN_PLACE, Engine.LOCAL
            joined += 1
        context.fusions[self.row.name].applied(joined)
        return joined


def _is_one_image(node: Node) -> bool:
    """True if a Concat joins the channels of one image, which stand one after another."""
    result = node.output.type
    axis = node.attributes["concat_dim"]
    if not isinstance(axis, int) or result.rank <= CHANNELS or axis % result.rank != CHANNELS:
        return False
    kinds = [value.type for value in node.present_inputs]
    if result.shape[0] != 1 or not all(kind.stored_nbytes for kind in kinds):
        return False
    if any(kind.storage != result.storage for kind in kinds):
        return False
    if result.storage is None:
        return all(kind.stored_nbytes % _UNIT == 0 for kind in kinds)
    c0 = c0_of(result.dtype)
    whole = all(kind.shape[CHANNELS] % c0 == 0 for kind in kinds)
    return result.storage == IMAGES and result.dtype in BLOCKED and whole


def _may_lie_inside(node: Node, makers: list[Node], taken: set[Node]) -> bool:
    values = node.present_inputs
    if (
        node.engine is not Engine.AICORE
        or node.scope
        or len(set(values)) < len(values)
        or len(makers) < len(values)
    ):
        return False
    if any(is_returned(value) for value in (*values, node.output)):
        return False
    if any(reader.op == JOINED_IN_PLACE for reader in node.output.readers):
        return False
    return all(
        maker not in taken and maker.engine is Engine.AICORE and not is_view(maker.op)
        for maker in makers
    )


def is_returned(value: Value) -> bool:
    """True if a value, or a view of it, is an output of the model."""
    views = [reader for reader in value.readers if is_view(reader.op)]
    return value.is_output or any(is_returned(view.output) for view in views)
