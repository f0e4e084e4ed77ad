"""What all elementwise families share: operands, scratch memory, and the plan of their tiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from atc_py.emit.family import Family, Sample
from atc_py.emit.functions import CANCELLING
from atc_py.emit.grid import grid_of, grid_tiling
from atc_py.emit.links import link_scratch
from atc_py.emit.plan import Buffer, KernelFacts, Plan
from atc_py.emit.plane_kernels import fits_planes, keeps_zeros, plane_facts
from atc_py.emit.planes import PATTERN, PlaneTiling, Seen, lanes_of, plane_tiling
from atc_py.emit.scratch import CTYPE_SIZES, Scratch
from atc_py.emit.tiling import BLOCK, DEPTH, Footprint
from atc_py.tensor.scale_words import channel_axis
from atc_py.tensor.shapes import Shape, element_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from atc_py.emit.plan import Launch, Port

__all__ = ["Formula", "Loaded", "MakeFormula", "elementwise_family", "loaded"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A tensor that a kernel loads tile by tile.

    Attributes:
        name: its name in the kernel.
        port: the operand that it is loaded from.
        ctype: its C++ type in the buffer.
        load: the member function that loads it; None for the plain copy.
    """

    name: str
    port: Port
    ctype: str
    load: str | None = None


@dataclass(frozen=True, slots=True)
class Formula:
    """How an elementwise kernel computes.

    Attributes:
        compute: C++ type of its arithmetic, or `scalar` for the scalar unit.
        operands: tensors to load; inputs that are not among them are single values.
        wide: whether operands and result go through float32.
        scratch: further tensors.
        along_channels: whether operands but the first have one element for each channel.
        context: what else the template knows.
    """

    compute: str
    operands: tuple[Loaded, ...]
    wide: bool = False
    scratch: tuple[Scratch, ...] = ()
    along_channels: bool = False
    context: tuple[tuple[str, Any], ...] = ()


Draw: TypeAlias = "Callable[[Sample, np.random.Generator], NDArray[Any] | None]"
MakeFormula: TypeAlias = Callable[[KernelFacts], Formula]


def loaded(ports: Sequence[Port]) -> tuple[Loaded, ...]:
    """Operands loaded as they are."""
    return tuple(Loaded(port.name, port, port.ctype) for port in ports)


def elementwise_family(
    name: str,
    operators: frozenset[str],
    formula: MakeFormula,
    exact: Callable[[KernelFacts], bool],
    covers: Callable[[KernelFacts], bool] = lambda _kernel: True,
    draw: Draw = lambda _sample, _generator: None,
) -> Family:
    """A family whose template `<name>.cpp.j2` extends `elementwise.cpp.j2`.

    Args:
        name: of the family and its template.
        operators: target operators that it writes.
        formula: how it computes a kernel.
        exact: as `Family.exact`.
        covers: as `Family.covers`.
        draw: as `Family.draw`.
    """
    rows = Family(
        name,
        name,
        operators,
        partial(_plan, formula=formula),
        covers,
        partial(_context, formula=formula),
        exact,
        sums=lambda kernel: kernel.op in CANCELLING,
        draw=draw,
        fuses=lambda kernel, _soc: formula(kernel).compute != "scalar",
    )
    blocks = replace(
        rows,
        plan=partial(_plan_planes, formula=formula),
        covers=lambda kernel: covers(kernel) and fits_planes(kernel),
        context=partial(_context_planes, formula=formula),
        fits=lambda launch: _planes(launch, formula) is not None,
        in_blocks=True,
    )
    return replace(rows, blocked=blocks)


def _scratch(kernel: KernelFacts, formula: Formula) -> tuple[Scratch, ...]:
    """Operands and result in float32 where they go through it; what formula and links name."""
    names = [operand.name for operand in formula.operands] if formula.wide else []
    result = kernel.outputs[0]
    if formula.wide and result.ctype in {"half", "bfloat16_t"}:
        names.append(result.name)
    found = [*(Scratch(f"{name}Wide", "float") for name in names), *formula.scratch]
    found += [each for each in link_scratch(kernel.links, result.name) if each not in found]
    return tuple(found)


def _loaded(kernel: KernelFacts, formula: Formula) -> tuple[Loaded, ...]:
    """All tensors that are loaded tile by tile: the operator's, then those of links."""
    ports = [each.port for link in kernel.links for each in link.tensors]
    return (*formula.operands, *loaded(ports))


def _context(kernel: KernelFacts, formula: MakeFormula) -> Mapping[str, Any]:
    """What templates of elementwise families know."""
    how = formula(kernel)
    return {
        "compute": how.compute,
        "operands": how.operands,
        "loaded": _loaded(kernel, how),
        "wide": how.wide,
        "scratch": _scratch(kernel, how),
        "planes": None,
        **dict(how.context),
    }


def _context_planes(kernel: KernelFacts, formula: MakeFormula) -> Mapping[str, Any]:
    """The same, and what they know of operands in blocks."""
    how = formula(kernel)
    return {**_context(kernel, formula), "planes": plane_facts(kernel, _loaded(kernel, how))}


def _queued(kernel: KernelFacts, how: Formula) -> list[tuple[str, int]]:
    """Names of what goes through queues, and its bytes an element."""
    queued = [(each.name, CTYPE_SIZES[each.ctype]) for each in _loaded(kernel, how)]
    return queued + [(port.name, port.dtype.itemsize) for port in kernel.outputs]


def _footprint(kernel: KernelFacts, how: Formula) -> Footprint:
    """What an element takes of the unified buffer."""
    queued = _queued(kernel, how)
    bits = sum(each.bits for each in _scratch(kernel, how))
    bits += DEPTH * 8 * sum(size for _, size in queued)
    return Footprint(BLOCK // min(size for _, size in queued), -(-bits // 8))


def _plan(launch: Launch, formula: MakeFormula) -> Plan:
    """Tiles of the result: as many rows, or as much of a row, as the unified buffer takes."""
    kernel, how = launch.kernel, formula(launch.kernel)
    result = launch.outputs[0]
    shapes = [_aligned(launch, how, tensor, result) for tensor in _loaded(kernel, how)]
    tiling = grid_tiling(grid_of(result, shapes), _footprint(kernel, how), launch.soc)
    buffers = _buffers(kernel, how, tiling.buffer_length)
    return Plan(tiling, tiling.core_num, tuple(buffers), launch.moved)


def _buffers(kernel: KernelFacts, how: Formula, length: int) -> list[Buffer]:
    """Queues and scratch of `length` elements."""
    queued = _queued(kernel, how)
    found = [Buffer(f"{name}Queue", "ub", DEPTH * size * length) for name, size in queued]
    scratch = _scratch(kernel, how)
    return found + [Buffer(each.name, "ub", each.bits * length // 8) for each in scratch]


def _planes(launch: Launch, formula: MakeFormula) -> PlaneTiling | None:
    """Tiles of a result in blocks; None where an operand does not go along with blocks."""
    kernel, how = launch.kernel, formula(launch.kernel)
    shapes = dict(zip(kernel.operands, (*launch.inputs, *launch.linked), strict=True))
    result = Seen(kernel.outputs[0], launch.outputs[0])
    operands = []
    for tensor in _loaded(kernel, how):
        shape = shapes[tensor.port]
        linked = tensor not in how.operands
        if linked and element_count(shape) == element_count(result.shape):
            shape = result.shape
        by_channel = how.along_channels and not linked and shape != result.shape
        operands.append(Seen(tensor.port, shape, by_channel))
    pairs = zip(kernel.outputs, launch.outputs, strict=True)
    outputs = [Seen(port, shape) for port, shape in pairs]
    lanes = lanes_of((*kernel.operands, *kernel.outputs))
    footprint = _footprint(kernel, how)
    return plane_tiling(result, operands, outputs, lanes, footprint, launch.soc)


def _plan_planes(launch: Launch, formula: MakeFormula) -> Plan:
    """Tiles of rows of pixels; what says which lanes are channels beside them.

    Raises:
        ValueError: the family's `fits` refuses the launch.
    """
    tiling = _planes(launch, formula)
    if tiling is None:
        raise ValueError(f"{launch.node.name} does not work on blocks")
    kernel = launch.kernel
    buffers = _buffers(kernel, formula(kernel), tiling.buffer_length)
    if not keeps_zeros(kernel):
        buffers += [Buffer(f"{port.name}Pattern", "ub", PATTERN) for port in kernel.outputs]
    return Plan(tiling, tiling.core_num, tuple(buffers), launch.moved)


def _aligned(launch: Launch, how: Formula, tensor: Loaded, result: Shape) -> Shape:
    """The shape of an operand with the rank of `result`, 1 where it repeats."""
    shapes = dict(zip(launch.kernel.operands, (*launch.inputs, *launch.linked), strict=True))
    shape = shapes[tensor.port]
    if tensor not in how.operands and element_count(shape) == element_count(result):
        return result
    if how.along_channels and tensor in how.operands[1:] and shape != result:
        count = element_count(shape)
        axis = channel_axis(result, count)
        return tuple(count if at == axis else 1 for at in range(len(result)))
    return (1,) * (len(result) - len(shape)) + shape[-len(result) :]
