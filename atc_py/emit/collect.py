"""Grouping of a graph's nodes into launches, of launches into kernels, and the kernels' names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from atc_py.diag import Place
from atc_py.diag.codes import BROKEN_INVARIANT
from atc_py.emit.cpp import C_TYPES, HOST_TYPES, identifier
from atc_py.emit.joining import stored_operands, with_link
from atc_py.emit.keys import KernelKey, PortKey, kernel_key, kernel_name
from atc_py.emit.plan import KernelFacts, Launch
from atc_py.emit.ports import KernelPort
from atc_py.emit.registry import family_of
from atc_py.ir import Engine
from atc_py.system.structs import replace
from atc_py.target import find_operator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from atc_py.diag import AtcError
    from atc_py.ir import Graph, Node
    from atc_py.target import Operand, Soc, TargetOp

__all__ = ["Collected", "collect"]


class Collected(msgspec.Struct, frozen=True):
    """A kernel and the nodes that it serves.

    Attributes:
        name: `conv2d_relu_f16_1a2b3c4d`.
        facts: the facts for its family.
        launches: the nodes of each launch, in the graph's order: one for the operator, and one for
            each of the kernel's links.
    """

    name: str
    facts: KernelFacts
    launches: list[tuple[Node, ...]]

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes of all launches."""
        return tuple(node for launch in self.launches for node in launch)


def collect(graph: Graph, soc: Soc) -> list[Collected]:
    """Return the distinct kernels of `graph` for `soc`, in the order of their first nodes.

    Nodes of one scope are one launch as far as the head's family applies their functions; the
    nodes after them are the next launch.

    Raises:
        AtcError: BROKEN_INVARIANT where a node has no engine or no operator row.
    """
    kernels: dict[str, Collected] = {}
    taken: set[str] = set()
    for facts, nodes in _launches(graph, soc):
        text = facts.key.text()
        if text not in kernels:
            name = kernel_name(facts.key, taken)
            taken.add(name)
            kernels[text] = Collected(name, facts, [])
        kernels[text].launches.append(nodes)
    return list(kernels.values())


def _launches(graph: Graph, soc: Soc) -> Iterator[tuple[KernelFacts, tuple[Node, ...]]]:
    """Yield the nodes of each launch, and the kernel that they need."""
    launching = {node: (row, engine) for node, row, engine in _launching(graph)}
    scopes: dict[int, list[Node]] = {}
    for node in launching:
        scopes.setdefault(node.scope, []).append(node)
    done: set[Node] = set()
    for node, (row, engine) in launching.items():
        if node in done:
            continue
        facts = _facts(kernel_key(node, row, engine, stored_operands(node, soc)), row)
        family = family_of(facts)
        if family.in_blocks and not family.fits(Launch(facts, node, soc)):
            facts = replace(facts, key=replace(facts.key, by_rows=True))
        nodes: tuple[Node, ...] = (node,)
        if node.scope:
            members = scopes[node.scope]
            for follower in members[members.index(node) + 1 :]:
                longer = with_link(facts, nodes, follower, soc)
                if longer is None:
                    break
                facts, nodes = longer, (*nodes, follower)
        done.update(nodes)
        yield facts, nodes


def _facts(key: KernelKey, row: TargetOp) -> KernelFacts:
    """Return the kernel of `key`, which has no links, as families see it."""
    return KernelFacts(
        key, row, _ports(key.inputs, row.input_at), _ports(key.outputs, row.output_at)
    )


def _launching(graph: Graph) -> Iterator[tuple[Node, TargetOp, Engine]]:
    """Yield the nodes that launch kernels, with their rows and engines."""
    for node in graph.nodes:
        row = find_operator(node.op)
        if row is None:
            raise _broken_invariant(node, f"no target operator is called {node.op!r}")
        if not row.launches_kernel or node.engine is Engine.LOCAL:
            continue
        if node.engine is None:
            raise _broken_invariant(node, f"{node.op} reaches kernel emission without an engine")
        if not (node.outputs and _fits_row(node, row)):
            raise _broken_invariant(node, f"{node.op} has other operands than its row declares")
        yield node, row, node.engine


def _fits_row(node: Node, row: TargetOp) -> bool:
    """Return True if each operand of `node` fits its row and every required one is present."""
    inputs_fit = all(row.input_at(position) for position in range(len(node.inputs)))
    outputs_fit = all(row.output_at(position) for position in range(len(node.outputs)))
    needed = (n for n, operand in enumerate(row.inputs) if not operand.optional)
    return inputs_fit and outputs_fit and all(node.input(position) for position in needed)


def _broken_invariant(node: Node, message: str) -> AtcError:
    """Build the error for a node that a pass left in a state without kernels."""
    return BROKEN_INVARIANT.error(message, place=Place(node_name=node.name, op_type=node.op))


def _ports(
    ports: tuple[PortKey | None, ...], operand_at: Callable[[int], Operand | None]
) -> tuple[KernelPort, ...]:
    """Return the operands that are there; those of a variadic one are numbered from 0."""
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
