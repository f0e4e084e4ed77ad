"""The table of a kernel's tilings: one row for each set of shapes that it serves."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from atc_py.ir import Node, Value
from atc_py.kernels.cpp import camel
from atc_py.kernels.family import KernelFacts, Plan
from atc_py.kernels.tiling import Declared
from atc_py.tensor.shapes import Dims, format_shape


class Row(msgspec.Struct, frozen=True):
    """One row as templates see it."""

    shapes: str  # the operands' shapes, as text
    nodes: tuple[str, ...]
    values: tuple[str, ...]  # the tiling's fields as C++ initializers
    dims: str  # shapes padded to a common rank, as a C++ initializer


class Field(msgspec.Struct, frozen=True):
    """One field of a tiling as C++ declares it: `declared` is its name with its array bounds."""

    ctype: str
    declared: str
    doc: str


class KernelTable(msgspec.Struct, frozen=True):
    """The table as templates see it."""

    fields: tuple[Field, ...]  # of each row
    rows: tuple[Row, ...]  # in the order of their shapes
    rank: int  # axes of `dims`
    axes: int  # `kArray`, the common length of arrays; 0 where there are none


Shapes = tuple[Dims, ...]


def served(
    kernel: KernelFacts, launches: Sequence[tuple[Node, ...]]
) -> dict[Shapes, list[tuple[Node, ...]]]:
    """Launches of a kernel by the shapes of their operands, smallest shapes first."""
    found: dict[Shapes, list[tuple[Node, ...]]] = {}
    for nodes in launches:
        values = [*nodes[0].present_inputs, *_link_operands(kernel, nodes[1:]), *nodes[-1].outputs]
        found.setdefault(tuple(value.type.dims for value in values), []).append(nodes)
    return dict(sorted(found.items(), key=_smallest_first))


def _link_operands(kernel: KernelFacts, followers: Sequence[Node]) -> Iterator[Value]:
    """The operands of a kernel's links besides the result so far."""
    for link, node in zip(kernel.links, followers, strict=True):
        for value, operand in zip(node.present_inputs, link.operands, strict=True):
            if operand is not None:
                yield value


def table_of(
    groups: dict[Shapes, list[tuple[Node, ...]]], plans: dict[Shapes, Plan], names: Sequence[str]
) -> KernelTable:
    rank = max(1, *(len(shape) for shapes in groups for shape in shapes))
    tilings = [plan.tiling for plan in plans.values()]
    members = tilings[0].declared.items()
    arrays = [name for name, facts in members if facts.pad is not None]
    axes = max((_length(getattr(row, name)) for row in tilings for name in arrays), default=0)
    rows = tuple(
        Row(
            _shapes_text(names, shapes),
            tuple(node.name for launch in launches for node in launch),
            tuple(
                _initializer(getattr(plans[shapes].tiling, name), facts, axes)
                for name, facts in members
            ),
            "{" + ", ".join(_braced((1,) * (rank - len(shape)) + shape) for shape in shapes) + "}",
        )
        for shapes, launches in groups.items()
    )
    listed = tuple(_field(name, facts, getattr(tilings[0], name)) for name, facts in members)
    return KernelTable(listed, rows, rank, axes)


def _field(name: str, facts: Declared, value: Any) -> Field:
    brackets = ""
    if isinstance(value, tuple):
        nested = bool(value) and isinstance(value[0], tuple)
        brackets = f"[{len(value)}][kArray]" if nested else "[kArray]"
        if facts.by_operand:
            brackets = f"[{len(value)}]"
    return Field(facts.ctype, camel(name) + brackets, facts.doc)


def _length(value: Any) -> int:
    """The length of the last axis of an array, or 1 of an empty one."""
    nested = value and isinstance(value[0], tuple)
    return max(1, len(value[0] if nested else value))


def _initializer(value: Any, facts: Declared, axes: int) -> str:
    """`value` in C++; arrays are filled up on the left to `axes`."""
    if not isinstance(value, tuple):
        return str(int(value))
    if value and isinstance(value[0], tuple):
        return "{" + ", ".join(_initializer(each, facts, axes) for each in value) + "}"
    if facts.by_operand:
        return _braced(value)
    return _braced((facts.pad,) * (axes - len(value)) + value)


def _braced(values: Sequence[int | None]) -> str:
    """Numbers in braces; a dim that only the run knows is written as 1."""
    return "{" + ", ".join("1" if value is None else str(value) for value in values) + "}"


def _shapes_text(names: Sequence[str], shapes: Shapes) -> str:
    """`x 2x3, y 2x3`; the host works rows with open dims out in the run."""
    listed = ", ".join(
        f"{name} {format_shape(shape)}" for name, shape in zip(names, shapes, strict=True)
    )
    if any(None in shape for shape in shapes):
        listed += "; ? is known to the run alone and counted as 1 here"
    return listed


def _smallest_first(group: tuple[Shapes, list[tuple[Node, ...]]]) -> list[list[int]]:
    return [[-1 if dim is None else dim for dim in dims] for dims in group[0]]
