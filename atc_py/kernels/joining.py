"""Nodes beside their neighbors: how their operands are stored, and which join the launch before."""

from collections.abc import Sequence

from atc_py.ir import Node, Value
from atc_py.kernels.cpp import C_TYPES, HOST_TYPES
from atc_py.kernels.family import Family
from atc_py.kernels.keys import LinkInput, LinkKey, PortKey, attributes_of
from atc_py.kernels.links import linked, reach_of
from atc_py.kernels.plan import KernelFacts, Launch
from atc_py.kernels.ports import KernelPort
from atc_py.kernels.registry import family_of
from atc_py.system.structs import replace
from atc_py.target import Soc, TargetOp, find_operator
from atc_py.target.soc import SLOPED
from atc_py.target.storage_choices import StorageChoice, select_storages
from atc_py.target.stored_nodes import is_stored_as
from atc_py.tensor.dtypes import DType


def stored_operands(node: Node, soc: Soc) -> StorageChoice:
    """The storages in which a kernel of `node` takes its operands and gives its results.

    They are those of the values, unless a value has the same bytes in the storage that the
    operator's kernels take. TransData takes what there is.
    """
    values = [*node.inputs, *node.outputs]
    held = [None if value is None else value.type.storage for value in values]
    count = len(node.inputs)
    chosen = select_storages(node, soc) if any(held) and node.op != "TransData" else None
    if chosen is not None:
        wanted = [chosen.input(at) for at in range(count)]
        wanted += [chosen.output(at) for at in range(len(node.outputs))]
        for at, (value, storage) in enumerate(zip(values, wanted, strict=True)):
            if value is not None and storage != held[at] and is_stored_as(value.type, storage):
                held[at] = storage
    return StorageChoice(inputs=tuple(held[:count]), outputs=tuple(held[count:]))


def with_link(
    facts: KernelFacts, nodes: Sequence[Node], follower: Node, soc: Soc
) -> KernelFacts | None:
    """The kernel that does what `facts` does and then `follower`; None where none can.

    `nodes` and `follower` are of one scope.
    """
    head, value = nodes[0].outputs[0], nodes[-1].outputs[0]
    row = find_operator(follower.op)
    types = [each.type for each in (*follower.present_inputs, *follower.outputs)]
    if row is None or len(follower.outputs) != 1 or any(each.is_open for each in types):
        return None
    if not _has_dtype(follower, head.type.dtype) or places_read(follower, value) is None:
        return None
    stored = stored_operands(follower, soc)
    if stored.output(0) != facts.outputs[0].storage:
        return None
    key = _link_key(follower, row, head, value, stored)
    repeats = any(entry is not None and entry.reach.repeats for entry in key.inputs)
    if repeats and types[-1].dims != head.type.dims:
        return None
    number = len(facts.links) + 1
    link = linked(key, number, _ports(follower, row, value, number, stored), row)
    if link is None or not link.fits:
        return None
    longer = replace(
        facts,
        key=replace(
            facts.key,
            outputs=(PortKey(types[-1].dtype, types[-1].format, stored.output(0)),),
            links=(*facts.key.links, key),
        ),
        outputs=(replace(facts.outputs[0], format=types[-1].format.value),),
        links=(*facts.links, link),
        has_blocked_links=facts.has_blocked_links
        or any(each is not None and each.port.storage is not None for each in link.operands),
    )
    launch = Launch(longer, nodes[0], soc, (*nodes[1:], follower))
    return longer if _can_apply_links(launch, family_of(facts)) else None


def _has_dtype(follower: Node, dtype: DType) -> bool:
    """True if all values of a node are of `dtype`, but slopes, which may be float32."""
    kept = follower.present_inputs[: 1 if follower.op == SLOPED else None]
    others = {value.type.dtype for value in follower.present_inputs} - {DType.FLOAT32, dtype}
    return not others and {value.type.dtype for value in (*kept, *follower.outputs)} == {dtype}


def places_read(follower: Node, value: Value) -> tuple[bool, ...] | None:
    """At which of its inputs `follower` reads `value` or a view of it in the launch.

    None where it has no kernel with the node before it: `value` has another reader, or it reads it
    nowhere, or an input is absent.
    """
    if len(value.consumers) != 1:
        return None
    places = tuple([_source_of_views(each) is value for each in follower.present_inputs])
    return places if any(places) and len(places) == len(follower.inputs) else None


def _can_apply_links(launch: Launch, before: Family) -> bool:
    """True if the kernel's family applies its links and addresses operands as `before` did."""
    family = family_of(launch.kernel)
    alike = family.in_blocks == before.in_blocks
    return alike and family.fuses(launch.kernel, launch.soc) and family.fits(launch)


def _source_of_views(value: Value) -> Value:
    """The value that `value` is a view of, as far as views belong to the launch."""
    while value.producer is not None and value.producer.scope:
        row = find_operator(value.producer.op)
        if row is None or row.launches_kernel:
            break
        value = value.producer.present_inputs[0]
    return value


def _link_key(
    node: Node, row: TargetOp, head: Value, value: Value, stored: StorageChoice
) -> LinkKey:
    inputs = tuple(
        None
        if _source_of_views(each) is value
        else LinkInput(
            each.type.format,
            reach_of(each.type.dims, head.type.dims),
            stored.input(at),
            None if each.type.dtype is head.type.dtype else each.type.dtype,
        )
        for at, each in enumerate(node.present_inputs)
    )
    return LinkKey(node.op, head.type.dtype, inputs, attributes_of(node, row))


def _ports(
    node: Node, row: TargetOp, value: Value, number: int, stored: StorageChoice
) -> tuple[KernelPort | None, ...]:
    """Operands of the function besides the result so far: `then1_x2` is the first link's `x2`."""
    found: list[KernelPort | None] = []
    for position, each in enumerate(node.present_inputs):
        operand = row.input_at(position)
        if _source_of_views(each) is value or operand is None:
            found.append(None)
            continue
        dtype = each.type.dtype
        types = C_TYPES[dtype], HOST_TYPES[dtype]
        name = f"then{number}_{operand.name}"
        storage = stored.input(position)
        found.append(KernelPort(name, position, dtype, each.type.format.value, *types, storage))
    return tuple(found)
