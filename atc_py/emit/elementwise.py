"""What all elementwise families share: operands, scratch memory, and the plan of their tiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from atc_py.deq_scale import channel_axis
from atc_py.emit.family import Family, Sample
from atc_py.emit.functions import CANCELLING
from atc_py.emit.grid import grid_of, grid_tiling
from atc_py.emit.links import link_scratch
from atc_py.emit.plan import Buffer, KernelFacts, Plan
from atc_py.emit.scratch import CTYPE_SIZES, Scratch
from atc_py.emit.tiling import BLOCK, DEPTH, Footprint
from atc_py.shapes import Shape, element_count

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
    context, plan = partial(_context, formula=formula), partial(_plan, formula=formula)
    return Family(
        name,
        name,
        operators,
        plan,
        covers,
        context,
        exact,
        sums=lambda kernel: kernel.op in CANCELLING,
        draw=draw,
        fuses=lambda kernel, _soc: formula(kernel).compute != "scalar",
    )


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
        **dict(how.context),
    }


def _plan(launch: Launch, formula: MakeFormula) -> Plan:
    """Tiles of the result: as many rows, or as much of a row, as the unified buffer takes."""
    kernel, how = launch.kernel, formula(launch.kernel)
    scratch, tensors = _scratch(kernel, how), _loaded(kernel, how)
    queued = [(each.name, CTYPE_SIZES[each.ctype]) for each in tensors]
    queued += [(port.name, port.dtype.itemsize) for port in kernel.outputs]
    bits = DEPTH * 8 * sum(size for _, size in queued) + sum(each.bits for each in scratch)
    footprint = Footprint(BLOCK // min(size for _, size in queued), -(-bits // 8))
    result = launch.outputs[0]
    shapes = [_aligned(launch, how, tensor, result) for tensor in tensors]
    tiling = grid_tiling(grid_of(result, shapes), footprint, launch.soc)
    length = tiling.buffer_length
    buffers = [Buffer(f"{name}Queue", "ub", DEPTH * size * length) for name, size in queued]
    buffers += [Buffer(each.name, "ub", each.bits * length // 8) for each in scratch]
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
