"""Inputs of a fused launch by position, as atc lists them.

A product with a fix pipe has thirteen slots since CANN 8: four of the product, then the other addend
at 4 and the slopes at 6, before the sum, and 9, after it [proven by a real file of Ascend310B].
Other launches have the operands that are there, in order [proven by files of 2021 and CANN 8].
"""

from collections.abc import Sequence

from atc_py.package.schema import OmModel, OmNode
from atc_py.target import find_operator, find_soc, is_view

ABSENT = -1
_PRODUCTS = frozenset({"Conv2D", "Conv2DTransposeD", "DepthwiseConv2D"})
_SLOTS, _SUM, _BEFORE, _AFTER = 13, 4, 6, 9
_OF_PRODUCT = 4


def launch_slots(description: OmModel, nodes: Sequence[OmNode], head: OmNode | None) -> list[int]:
    """The tensors that a launch reads by position, ABSENT for a slot that is not used.

    `head` is the operator of the cube among the nodes, if there is one.
    """
    piped = None if head is None else _piped(description, nodes, head)
    if piped is not None:
        return piped
    made = {tensor for node in nodes for tensor in node.outputs}
    read = (tensor for node in nodes for tensor in node.inputs)
    return list(dict.fromkeys(tensor for tensor in read if tensor >= 0 and tensor not in made))


def all_inputs(node: OmNode) -> list[int]:
    """The tensors that a node reads, with ABSENT for each optional input that it could have."""
    row = find_operator(node.op)
    inputs = list(node.inputs)
    if row is not None and not any(operand.variadic for operand in row.inputs):
        inputs += [ABSENT] * (len(row.inputs) - len(inputs))
    return inputs


def _piped(description: OmModel, nodes: Sequence[OmNode], head: OmNode) -> list[int] | None:
    """The slots of a product with a fix pipe; None where it has none, or does something else."""
    if head.op not in _PRODUCTS or not find_soc(description.soc).fix_pipe:
        return None
    own = all_inputs(head)
    slots = (own + [ABSENT] * _SLOTS)[:_OF_PRODUCT] + [ABSENT] * (_SLOTS - _OF_PRODUCT)
    made = set(head.outputs)
    for node in nodes:
        if node is head or is_view(node.op):
            continue
        others = [tensor for tensor in node.inputs if tensor >= 0 and tensor not in made]
        made |= set(node.outputs)
        if not others:
            continue
        slot = _SUM
        if node.op == "PRelu":
            slot = _BEFORE if slots[_SUM] == ABSENT else _AFTER
        elif node.op != "Add":
            return None
        if len(others) > 1 or slots[slot] != ABSENT:
            return None
        slots[slot] = others[0]
    return slots
