"""Results that are written over an operand that is not needed afterwards."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from atc_py.ir import Engine, Node, Value
from atc_py.passes.memory.liveness import Block, Liveness
from atc_py.target import find_operator

Tenancy: TypeAlias = "tuple[Block, ...]"
"""Blocks that have one place, each written over the one before it."""

Reads: TypeAlias = "dict[Block, list[Value]]"
"""The values that a node reads, by the block that holds them."""


def merged(live: Liveness, sizes: Mapping[Block, int]) -> list[Tenancy]:
    """The arena's blocks as tenancies: results reuse the memory of operands where allowed.

    Args:
        live: blocks and launches.
        sizes: of the blocks in the arena; a result and the operand under it have the same size.
    """
    rows: dict[Block, list[Block]] = {}
    for block in live.blocks:
        if block not in sizes:
            continue
        old = next((old for old in _operands(block, live, sizes) if old in rows), None)
        row = [] if old is None else rows.pop(old)
        row.append(block)
        rows[block] = row
    return [tuple(row) for row in rows.values()]


def _operands(result: Block, live: Liveness, sizes: Mapping[Block, int]) -> Iterator[Block]:
    """Yield blocks that the launch reads last and that `result` may overwrite."""
    reads = [(node, _by_block(node, live.block_of)) for node in live.launches[result.first]]
    for old in dict.fromkeys(block for _, read in reads for block in read):
        ends = old.first < result.first == old.last
        same = ends and sizes.get(old) == sizes[result]
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
        if not _is_in_place(node) or len(node.outputs) != 1:
            return False
        if any(not _same_elements(value, node.output) for value in used):
            return False
        derived.add(block_of[node.output])
    return result in derived


def _is_in_place(node: Node) -> bool:
    """True if the row of the operator allows it, on the engine that the node runs on."""
    row = find_operator(node.op)
    return row is not None and row.in_place and node.engine is Engine.AICORE


def _same_elements(value: Value, result: Value) -> bool:
    """True if elements of the same place have the same address."""
    one, other = value.type, result.type
    same = (one.stored_dims, one.storage) == (other.stored_dims, other.storage)
    return same and value.type.dtype.itemsize == result.type.dtype.itemsize
