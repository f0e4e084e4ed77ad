"""One more function of each element for a kernel, where its family can apply it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from atc_py.emit.cpp import C_TYPES, HOST_TYPES
from atc_py.emit.family import family_of
from atc_py.emit.keys import attributes_of
from atc_py.emit.links import LinkKey, linked, reach_of
from atc_py.emit.plan import KernelFacts, Port
from atc_py.target import find_operator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.ir import Node, Value
    from atc_py.target import Soc, TargetOp

__all__ = ["with_link"]


def with_link(
    facts: KernelFacts, nodes: Sequence[Node], follower: Node, soc: Soc
) -> KernelFacts | None:
    """The kernel that does what `facts` does and then `follower`; None where none can.

    Args:
        facts: the kernel so far.
        nodes: of one launch of it.
        follower: a node of the same scope.
        soc: what the kernel is for.
    """
    head, value = nodes[0].outputs[0], nodes[-1].outputs[0]
    row = find_operator(follower.op)
    types = [each.type for each in (*follower.present_inputs, *follower.outputs)]
    if row is None or len(follower.outputs) != 1 or any(each.is_open for each in types):
        return None
    if {each.dtype for each in types} != {head.type.dtype} or not _follows(follower, value):
        return None
    key = _link_key(follower, row, head, value)
    repeats = any(entry is not None and entry[1].repeats for entry in key.inputs)
    if repeats and types[-1].dims != head.type.dims:
        return None
    number = len(facts.links) + 1
    link = linked(key, number, _ports(follower, row, value, number))
    longer = replace(
        facts,
        key=replace(
            facts.key,
            outputs=((types[-1].dtype, types[-1].format),),
            links=(*facts.key.links, key),
        ),
        outputs=(replace(facts.outputs[0], format=types[-1].format.value),),
        links=(*facts.links, link),
    )
    return longer if link.fits and family_of(longer).fuses(longer, soc) else None


def _follows(follower: Node, value: Value) -> bool:
    """Whether `follower` alone reads `value`, and has all its operands."""
    if len(value.consumers) != 1:
        return False
    places = [_behind_views(each) is value for each in follower.present_inputs]
    return any(places) and len(places) == len(follower.inputs)


def _behind_views(value: Value) -> Value:
    """What `value` is another view of, as far as views belong to the launch."""
    while value.producer is not None and value.producer.scope:
        row = find_operator(value.producer.op)
        if row is None or row.launches_kernel:
            break
        value = value.producer.present_inputs[0]
    return value


def _link_key(node: Node, row: TargetOp, head: Value, value: Value) -> LinkKey:
    """What a kernel depends on of the function that `node` is."""
    inputs = tuple(
        None
        if _behind_views(each) is value
        else (each.type.format, reach_of(each.type.dims, head.type.dims))
        for each in node.present_inputs
    )
    return LinkKey(node.op, head.type.dtype, inputs, attributes_of(node, row))


def _ports(node: Node, row: TargetOp, value: Value, number: int) -> tuple[Port | None, ...]:
    """What the function reads beside the result so far: `then1_x2` is the first link's `x2`."""
    found: list[Port | None] = []
    for position, each in enumerate(node.present_inputs):
        operand = row.input_at(position)
        if _behind_views(each) is value or operand is None:
            found.append(None)
            continue
        dtype = each.type.dtype
        types = C_TYPES[dtype], HOST_TYPES[dtype]
        name = f"then{number}_{operand.name}"
        found.append(Port(name, position, dtype, each.type.format.value, *types))
    return tuple(found)
