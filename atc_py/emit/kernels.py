"""One kernel stub for each distinct kernel of a graph: source, tiling table, description."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from atc_py.atomic import atomic_write
from atc_py.diag import Place
from atc_py.diag.codes import BROKEN_INVARIANT, CANNOT_WRITE
from atc_py.emit.cpp import (
    C_TYPES,
    HOST_TYPES,
    VECTOR_DTYPES,
    attribute_constant,
    identifier,
    round_mode,
)
from atc_py.emit.describe import describe
from atc_py.emit.geometry import SCRATCH, tile_node
from atc_py.emit.keys import KernelKey, kernel_key, kernel_name
from atc_py.emit.templating import SUFFIX, render
from atc_py.ir import Engine
from atc_py.resources import templates_dir
from atc_py.shapes import Dims, format_shape
from atc_py.target import find_operator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from atc_py.diag import AtcError
    from atc_py.dtypes import DType
    from atc_py.emit.tiling import Tiling
    from atc_py.formats import Format
    from atc_py.ir import Graph, Node
    from atc_py.target import Operand, Soc, TargetOp

__all__ = ["KernelSet", "emit_kernels", "write_kernels"]


@dataclass(frozen=True, slots=True)
class KernelSet:
    """The kernels of a graph.

    Attributes:
        files: text by member path: `<kernel>/<kernel>.cpp`, `<kernel>/<kernel>_tiling.h` and
            `<kernel>/<kernel>.json`.
        kernel_of: name of the kernel that a node launches, by node name; nodes that launch none
            are not in it.
    """

    files: Mapping[str, str]
    kernel_of: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A kernel while it is put together: its key and the nodes that it serves."""

    name: str
    key: KernelKey
    row: TargetOp
    nodes: list[Node]


@dataclass(frozen=True, slots=True)
class _Port:
    """An operand as templates see it; `host` is its C++ type on the AI CPU."""

    name: str
    dtype: str
    format: str
    ctype: str
    host: str


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a tiling table as templates see it."""

    shapes: str
    nodes: tuple[str, ...]
    values: tuple[int, ...]
    dims: str


def emit_kernels(graph: Graph, soc: Soc, templates: Path | None = None) -> KernelSet:
    """Kernel stubs for the nodes of `graph`, which must have their engines, on `soc`.

    Args:
        graph: in phase typed or later.
        soc: what the tiling is worked out for.
        templates: folder of kernel templates instead of atc-py's own.

    Raises:
        AtcError: BAD_TEMPLATE; BROKEN_INVARIANT where a node has no engine or no operator row.
    """
    folder = templates_dir() / "kernels" if templates is None else templates
    kernels = _collect(graph)
    files: dict[str, str] = {}
    for kernel in kernels:
        context = _context(kernel, soc)
        template = "aicpu" if kernel.key.engine is Engine.AICPU else kernel.row.family
        stem = f"{kernel.name}/{kernel.name}"
        files[f"{stem}.cpp"] = render(folder, f"{template}.cpp{SUFFIX}", context)
        files[f"{stem}_tiling.h"] = render(folder, f"tiling.h{SUFFIX}", context)
        files[f"{stem}.json"] = describe(kernel.key, kernel.row)
    kernel_of = {node.name: kernel.name for kernel in kernels for node in kernel.nodes}
    return KernelSet(files, kernel_of)


def write_kernels(kernels: KernelSet, folder: Path) -> None:
    """Write the texts of `kernels` below `folder`, each file whole or not at all.

    Files of the same paths are replaced; nothing else in `folder` is touched.

    Raises:
        AtcError: CANNOT_WRITE.
    """
    for member, text in kernels.files.items():
        path = folder / member
        _make_folder(path.parent)
        with atomic_write(path, durable=False) as file:
            file.write(text.encode())


def _make_folder(folder: Path) -> None:
    """Make `folder` and those above it where they are not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CANNOT_WRITE.error(
            f"cannot make the folder {folder}: {error.strerror or error}",
            place=Place(file=str(folder)),
            help="choose a folder that can be written to and that no file stands in the way of",
        ) from error


def _collect(graph: Graph) -> list[_Kernel]:
    """The distinct kernels of `graph`, in the order of their first nodes."""
    kernels: dict[str, _Kernel] = {}
    taken: set[str] = set()
    for node, row, engine in _launches(graph):
        key = kernel_key(node, row, engine)
        text = key.text()
        if text not in kernels:
            name = kernel_name(key, taken)
            taken.add(name)
            kernels[text] = _Kernel(name, key, row, [])
        kernels[text].nodes.append(node)
    return list(kernels.values())


def _launches(graph: Graph) -> Iterator[tuple[Node, TargetOp, Engine]]:
    """The nodes that launch kernels, with their rows and engines."""
    for node in graph.nodes:
        row = find_operator(node.op)
        if row is None:
            raise _broken(node, f"no target operator is called {node.op!r}")
        if not row.launches_kernel or node.engine is Engine.LOCAL:
            continue
        if node.engine is None:
            raise _broken(node, f"{node.op} reaches kernel emission without an engine")
        if not (node.outputs and _fits(node, row)):
            raise _broken(node, f"{node.op} has other operands than its row declares")
        yield node, row, node.engine


def _fits(node: Node, row: TargetOp) -> bool:
    """Whether every operand of `node` has a place in its row, and every needed one is there."""
    inputs_fit = all(row.input_at(position) for position in range(len(node.inputs)))
    outputs_fit = all(row.output_at(position) for position in range(len(node.outputs)))
    needed = (n for n, operand in enumerate(row.inputs) if not operand.optional)
    return inputs_fit and outputs_fit and all(node.input(position) for position in needed)


def _broken(node: Node, message: str) -> AtcError:
    """The diagnostic for a node that a pass left in a state that kernels are not made for."""
    return BROKEN_INVARIANT.error(message, place=Place(node_name=node.name, op_type=node.op))


def _context(kernel: _Kernel, soc: Soc) -> dict[str, Any]:
    """What templates know of a kernel."""
    key, row = kernel.key, kernel.row
    inputs = _ports(key.inputs, row.input_at)
    outputs = _ports(key.outputs, row.output_at)
    served = _served(kernel.nodes)
    tilings = {shapes: tile_node(nodes[0], row, key, soc) for shapes, nodes in served.items()}
    rank = max(1, *(len(shape) for shapes in served for shape in shapes))
    names = [port.name for port in (*inputs, *outputs)]
    dtypes = [port[0] for port in (*key.inputs, *key.outputs) if port is not None]
    return {
        "kernel": kernel.name,
        "op": key.op,
        "soc": soc.name,
        "summary": row.summary,
        "inputs": inputs,
        "outputs": outputs,
        "constants": [
            attribute_constant(name, value)
            for name, value in key.attributes
            if row.attribute(name) is not None
        ],
        "native": dtypes[0] in VECTOR_DTYPES,
        "itemsize": dtypes[0].itemsize,
        "round_mode": round_mode(dtypes[0], key.outputs[0][0]),
        "accumulator": "float" if dtypes[0].is_float else "int32_t",
        "split_cores": soc.vector_cores > soc.aicores,
        "scratch": SCRATCH.get(row.family, 0),
        "fields": fields(next(iter(tilings.values()))),
        "rank": rank,
        "rows": [_row(served[shapes], shapes, tilings[shapes], names, rank) for shapes in served],
    }


def _ports(
    ports: tuple[tuple[DType, Format] | None, ...], operand_at: Callable[[int], Operand | None]
) -> list[_Port]:
    """The operands that are there; those of a variadic one are numbered from 0."""
    listed = []
    for position, port in enumerate(ports):
        operand = operand_at(position)
        if port is None or operand is None:
            continue
        number = sum(operand_at(before) is operand for before in range(position))
        name = f"{operand.name}{number}" if operand.variadic else identifier(operand.name)
        dtype, fmt = port
        types = C_TYPES[dtype], HOST_TYPES[dtype]
        listed.append(_Port(name, dtype.value, fmt.value, *types))
    return listed


def _served(nodes: list[Node]) -> dict[tuple[Dims, ...], list[Node]]:
    """The nodes by the shapes of their operands, smallest shapes first."""
    served: dict[tuple[Dims, ...], list[Node]] = {}
    for node in nodes:
        shapes = tuple(value.type.dims for value in (*node.present_inputs, *node.outputs))
        served.setdefault(shapes, []).append(node)
    return dict(sorted(served.items(), key=_extents_first))


def _row(
    nodes: list[Node], shapes: tuple[Dims, ...], tiling: Tiling, names: list[str], rank: int
) -> _Row:
    """One row of a tiling table; shapes are padded with 1 on the left to a common rank.

    In a row with open extents these stand as 1: the host works such a row out in the run.
    """
    listed = ", ".join(
        f"{name} {format_shape(shape)}" for name, shape in zip(names, shapes, strict=True)
    )
    dims = ", ".join(
        "{" + ", ".join(str(extent or int(extent is None)) for extent in _padded(shape, rank)) + "}"
        for shape in shapes
    )
    if any(None in shape for shape in shapes):
        listed += "; ? is known to the run alone and counted as 1 here"
    values = tuple(getattr(tiling, field.name) for field in fields(tiling))
    return _Row(listed, tuple(node.name for node in nodes), values, "{" + dims + "}")


def _padded(shape: Dims, rank: int) -> Dims:
    """`shape` with 1 on the left up to `rank` axes."""
    return (1,) * (rank - len(shape)) + shape


def _extents_first(served: tuple[tuple[Dims, ...], list[Node]]) -> list[list[int]]:
    """What rows are ordered by: extents, open ones before all others."""
    return [[-1 if extent is None else extent for extent in dims] for dims in served[0]]
