"""Live ranges: which values need memory of their own, from which launch to which, and which share it.

Time is counted in nodes: a launch of several nodes happens when its last node stands there, as all
that they read has been computed by then. A view needs no memory: it keeps alive what it shows.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TypeAlias

import msgspec

from atc_py.ir import Engine, Graph, Home, Node, Value, launch_positions
from atc_py.target import JOINED_IN_PLACE, find_operator, is_view


class Block(msgspec.Struct, eq=False):
    """A value and its views."""

    value: Value  # what a node computes or the graph is given
    first: int  # moment at which it is written
    last: int  # moment at which it is read for the last time; `first` where nobody reads it
    home: Home | None = None  # where it is stored, or None for the arena
    joined: bool = False  # whether it has parts that are computed one by one
    # number of the launch in which all its makers and readers are; 0 if they share none, None
    # before there is one
    scope: int | None = None
    units: int = 0  # of the arena, in multiples of its alignment
    offset: int = 0  # in the arena, likewise

    @property
    def nbytes(self) -> int:
        return self.value.type.stored_nbytes

    def meet(self, scope: int) -> None:
        """Count in a maker or a reader."""
        if self.scope != scope:
            self.scope = scope if self.scope is None else 0


class Liveness(msgspec.Struct, frozen=True):
    """The blocks of a graph."""

    blocks: tuple[Block, ...]  # in the order in which they begin
    block_of: dict[Value, Block]
    launches: dict[int, list[Node]]  # the nodes of each moment, views with a scope among them
    shifts: dict[Value, int]  # bytes from the start of its block to a value, where they are not 0


def live_ranges(graph: Graph) -> Liveness:
    """Blocks of `graph` with their homes; constants and inputs begin at moment 0.

    What is joined in place begins with the first of its parts.
    """
    blocks: list[Block] = []
    block_of: dict[Value, Block] = {}
    for values, home in ((graph.inputs, Home.INPUT), (graph.constants(), Home.WEIGHTS)):
        for value in values:
            block_of[value] = Block(value, 0, 0, home)
    parts = _parts(graph)
    shifts = {part: shift for part, (_, shift) in parts.items() if shift}
    positions = launch_positions(graph.nodes)
    launches = {at: [graph.nodes[each] for each in found] for at, found in positions.items()}
    for moment, nodes in launches.items():
        for node in nodes:
            for value in node.present_inputs:
                block = block_of[value]
                block.last = max(block.last, moment)
                block.meet(node.scope)
            for value in node.outputs:
                if is_view(node.op) and node.present_inputs[0] in shifts:
                    shifts[value] = shifts[node.present_inputs[0]]
            blocks.extend(_write(node, moment, block_of, parts))
    returned = {block_of[value] for value in graph.outputs}
    for block in blocks:
        block.home = _home(block, block in returned)
    return Liveness(tuple(dict.fromkeys(block_of.values())), block_of, launches, shifts)


_Parts: TypeAlias = "dict[Value, tuple[Value, int]]"
"""For a value that is computed inside another one: that one, and the bytes before it there."""


def _parts(graph: Graph) -> _Parts:
    parts: _Parts = {}
    for node in graph.nodes:
        if node.op == JOINED_IN_PLACE:
            images = max(1, node.output.type.shape[0])
            sizes = [value.type.stored_nbytes // images for value in node.present_inputs]
            shifts = accumulate(sizes, initial=0)
            parts |= {
                value: (node.output, shift)
                for value, shift in zip(node.present_inputs, shifts, strict=False)
            }
    return parts


def _write(node: Node, moment: int, block_of: dict[Value, Block], parts: _Parts) -> list[Block]:
    """The blocks that begin with a node; a view joins the block of what it shows instead.

    So does a part the block of the whole, unless it is the first.
    """
    if is_view(node.op) and node.present_inputs:
        shown = block_of[node.present_inputs[0]]
        block_of.update(dict.fromkeys(node.outputs, shown))
        return []
    begun = []
    for value in node.outputs:
        whole = parts[value][0] if value in parts else value
        if whole not in block_of:
            block_of[whole] = Block(whole, moment, moment, joined=whole is not value)
            begun.append(block_of[whole])
        block_of[value] = block_of[whole]
        block_of[whole].meet(node.scope)
    return begun


def _home(block: Block, returned: bool) -> Home | None:
    if block.value.type.is_open:
        return Home.RUN
    if returned:
        return Home.OUTPUT
    return Home.CHIP if block.scope else None


Tenancy: TypeAlias = "tuple[Block, ...]"
"""Blocks that have one place, each written over the one before it."""

Reads: TypeAlias = "dict[Block, list[Value]]"
"""The values that a node reads, by the block that holds them."""


def merged(live: Liveness) -> list[Tenancy]:
    """The arena's blocks, which have their sizes, as tenancies.

    Results reuse the memory of operands where allowed; both have one size.
    """
    rows: dict[Block, list[Block]] = {}
    for block in live.blocks:
        if block.home is not None:
            continue
        old = next((old for old in _operands(block, live) if old in rows), None)
        row = [] if old is None else rows.pop(old)
        row.append(block)
        rows[block] = row
    return [tuple(row) for row in rows.values()]


def _operands(result: Block, live: Liveness) -> Iterator[Block]:
    """Yield blocks that the launch reads last and that `result` may overwrite."""
    reads = [(node, _by_block(node, live.block_of)) for node in live.launches[result.first]]
    for old in dict.fromkeys(block for _, read in reads for block in read):
        ends = old.first < result.first == old.last and not (old.joined or result.joined)
        same = ends and old.home is None and old.units == result.units
        if same and _may_overwrite(old, result, reads, live.block_of):
            yield old


def _by_block(node: Node, block_of: Mapping[Value, Block]) -> Reads:
    reads: Reads = {}
    for value in node.present_inputs:
        reads.setdefault(block_of[value], []).append(value)
    return reads


def _may_overwrite(
    old: Block,
    result: Block,
    launch: Sequence[tuple[Node, Reads]],
    block_of: Mapping[Value, Block],
) -> bool:
    """True if all uses of `old` in the launch are element by element up to `result`."""
    derived = {old}
    for node, reads in launch:
        used = [value for block in derived & reads.keys() for value in reads[block]]
        if not used or block_of[node.output] in derived:
            continue  # it does not look at it, or shows it only
        row = find_operator(node.op)
        in_place = row is not None and row.in_place and node.engine is Engine.AICORE
        if not in_place or len(node.outputs) != 1:
            return False
        if any(not _same_elements(value, node.output) for value in used):
            return False
        derived.add(block_of[node.output])
    return result in derived


def _same_elements(value: Value, result: Value) -> bool:
    one, other = value.type, result.type
    same = (one.stored_dims, one.storage) == (other.stored_dims, other.storage)
    return same and value.type.dtype.itemsize == result.type.dtype.itemsize
