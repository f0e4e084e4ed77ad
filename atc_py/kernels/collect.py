"""Nodes of a graph as launches: what joins the launch before, kernels of launches, their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from atc_py.diag import BROKEN_INVARIANT, AtcError, Place
from atc_py.ir import Engine, Graph, Node, Value
from atc_py.kernels.cpp import C_TYPES, HOST_TYPES, identifier
from atc_py.kernels.family import Family, KernelFacts, Launch
from atc_py.kernels.keys import (
    LinkInput,
    LinkKey,
    PortKey,
    attributes_of,
    compiled_numbers,
    kernel_key,
    kernel_name,
)
from atc_py.kernels.links import linked, reach_of
from atc_py.kernels.ports import KernelPort
from atc_py.kernels.registry import family_of
from atc_py.system.structs import replace
from atc_py.target import Operand, Soc, TargetOp, find_operator
from atc_py.target.soc import SLOPED
from atc_py.target.storage_choices import StorageChoice, select_storages
from atc_py.target.stored_nodes import is_stored_as
from atc_py.tensor.dtypes import DType
from atc_py.text import Text


class Collected(msgspec.Struct, frozen=True):
    """A kernel and the nodes that it serves."""

    name: str  # `conv2d_relu_f16_1a2b3c4d`
    facts: KernelFacts
    # the nodes of each launch, in the graph's order: one for the operator, and one for each of the
    # kernel's links
    launches: list[tuple[Node, ...]]

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(node for launch in self.launches for node in launch)


def collect(graph: Graph, soc: Soc) -> list[Collected]:
    """The distinct kernels of `graph` for `soc`, in the order of their first nodes.

    Nodes of one scope are one launch as far as the head's family applies their functions; the
    nodes after them are the next launch.

    Raises:
        AtcError: BROKEN_INVARIANT where a node has no engine or no operator row.
    """
    kernels: dict[str, Collected] = {}
    taken: set[str] = set()
    for kernel, nodes in _launches(graph, soc):
        text = kernel.text
        if text not in kernels:
            name = kernel_name(kernel.facts.key, taken)
            taken.add(name)
            kernels[text] = Collected(name, kernel.facts, [])
        kernels[text].launches.append(nodes)
    return list(kernels.values())


def _launches(graph: Graph, soc: Soc) -> Iterator[tuple[_Kernel, tuple[Node, ...]]]:
    alike = _nodes_alike(graph)
    known: dict[str, tuple[KernelFacts, Family]] = {}
    scopes: dict[int, list[Node]] = {}
    for node in alike:
        scopes.setdefault(node.scope, []).append(node)
    done: set[Node] = set()
    for node, likeness in alike.items():
        if node in done:
            continue
        if likeness.kernel is None:
            likeness.kernel = _kernel(node, likeness, soc, known)
        kernel = likeness.kernel
        nodes: tuple[Node, ...] = (node,)
        if node.scope:
            members = scopes[node.scope]
            for follower in members[members.index(node) + 1 :]:
                longer = kernel.longer(nodes, follower, alike[follower], soc)
                if longer is None:
                    break
                kernel, nodes = longer, (*nodes, follower)
        done.update(nodes)
        yield kernel, nodes


class _Kernel:
    """A kernel of a launch, and those that do one function more."""

    def __init__(self, facts: KernelFacts, text: str = "") -> None:
        self.facts = facts
        self.text = text or facts.key.text()
        self._longer: dict[tuple[object, ...], _Kernel | None] = {}

    def longer(
        self, nodes: Sequence[Node], follower: Node, likeness: _Likeness, soc: Soc
    ) -> _Kernel | None:
        """`with_link` from a cache, None where no kernel does what `follower` does as well.

        A kernel has one head of one likeness and followers likewise, so that another follower of
        the same likeness, which reads the results so far at the same places, makes the same kernel.
        """
        key = likeness, places_read(follower, nodes[-1].outputs[0])
        if key not in self._longer:
            facts = with_link(self.facts, nodes, follower, soc)
            self._longer[key] = None if facts is None else _Kernel(facts)
        return self._longer[key]


class _Likeness(msgspec.Struct, eq=False):
    """A set of nodes that are alike in all that kernels depend on."""

    row: TargetOp
    engine: Engine
    kernel: _Kernel | None = None  # the kernel of each of them alone; None before it is asked for


def _nodes_alike(graph: Graph) -> dict[Node, _Likeness]:
    """The nodes that launch kernels, in order, each with its likeness.

    Nodes are alike if operator, engine, attributes, the numbers that kernels are compiled for, and
    the types of all operands and results are equal, and the same operands are constants.
    """
    alike: dict[Node, _Likeness] = {}
    met: dict[tuple[object, ...], _Likeness | None] = {}
    for node in graph.nodes:
        row = find_operator(node.op)
        if row is None:
            raise _broken_invariant(
                node, Text("no target operator is called {op}", op=repr(node.op))
            )
        operands = [value and (value.type, value.const is None) for value in node.inputs]
        results = [value.type for value in node.outputs]
        # as text, in which 0.0 and -0.0 differ
        attributes = repr((*node.attributes.items(), *compiled_numbers(node, row)))
        key = node.op, node.engine, attributes, tuple(operands), tuple(results)
        if key not in met:
            engine = _launching_engine(node, row)
            met[key] = None if engine is None else _Likeness(row, engine)
        likeness = met[key]
        if likeness is not None:
            alike[node] = likeness
    return alike


def _kernel(
    node: Node,
    likeness: _Likeness,
    soc: Soc,
    known: dict[str, tuple[KernelFacts, Family]],
) -> _Kernel:
    """The kernel of a node alone; `known` has those before by the texts of their keys."""
    row = likeness.row
    key = kernel_key(node, row, likeness.engine, stored_operands(node, soc))
    text = key.text()
    if text not in known:
        inputs, outputs = _ports(key.inputs, row.input_at), _ports(key.outputs, row.output_at)
        facts = KernelFacts(key, row, inputs, outputs)
        known[text] = facts, family_of(facts)
    facts, family = known[text]
    if family.in_blocks and not family.fits(Launch(facts, node, soc)):
        return _Kernel(replace(facts, key=replace(facts.key, by_rows=True)))
    return _Kernel(facts, text)


def _launching_engine(node: Node, row: TargetOp) -> Engine | None:
    if not row.launches_kernel or node.engine is Engine.LOCAL:
        return None
    if node.engine is None:
        raise _broken_invariant(
            node, Text("{op} reaches kernel emission without an engine", op=node.op)
        )
    if not (node.outputs and _fits_row(node, row)):
        raise _broken_invariant(
            node, Text("the operands of {op} differ from those that its row declares", op=node.op)
        )
    return node.engine


def _fits_row(node: Node, row: TargetOp) -> bool:
    inputs_fit = all(row.input_at(position) for position in range(len(node.inputs)))
    outputs_fit = all(row.output_at(position) for position in range(len(node.outputs)))
    needed = (n for n, operand in enumerate(row.inputs) if not operand.optional)
    return inputs_fit and outputs_fit and all(node.input(position) for position in needed)


def _broken_invariant(node: Node, message: Text) -> AtcError:
    return BROKEN_INVARIANT.error(message, place=Place(node_name=node.name, op_type=node.op))


def _ports(
    ports: tuple[PortKey | None, ...], operand_at: Callable[[int], Operand | None]
) -> tuple[KernelPort, ...]:
    """The operands that are there; those of a variadic one are numbered from 0."""
    listed = []
    first: dict[str, int] = {}
    for position, port in enumerate(ports):
        operand = operand_at(position)
        if operand is None:
            continue
        number = position - first.setdefault(operand.name, position)
        if port is None:
            continue
        name = f"{operand.name}{number}" if operand.variadic else identifier(operand.name)
        types = C_TYPES[port.dtype], HOST_TYPES[port.dtype]
        listed.append(
            KernelPort(name, position, port.dtype, port.format.value, *types, port.storage)
        )
    return tuple(listed)


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
    link = linked(key, number, _link_ports(follower, row, value, number, stored), row)
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


def _link_ports(
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
