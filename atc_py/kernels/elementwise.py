"""Elementwise families: operands, rows or blocks, scratch memory, and the plan of their tiles."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.kernels.family import Buffer, Family, InputSample, KernelFacts, Launch, Plan
from atc_py.kernels.links import link_scratch
from atc_py.kernels.planes import (
    PATTERN,
    Seen,
    grid_of,
    grid_tiling,
    lanes_of,
    moves_in_planes,
    plane_tiling,
)
from atc_py.kernels.ports import CTYPE_SIZES, Formula, KernelPort, Loaded, Scratch, loaded
from atc_py.kernels.tiling import BLOCK, DEPTH, ElementFootprint
from atc_py.target import Soc
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.scale_words import channel_axis
from atc_py.tensor.shapes import Shape, element_count
from atc_py.tensor.storage import c0_of

_FORMATS = {Format.NC1HWC0, Format.NDC1HWC0, Format.FRACTAL_NZ}


def fits_planes(kernel: KernelFacts) -> bool:
    """True if results and blocked operands are stored alike, in mergeable blocks."""
    ports = (*kernel.operands, *kernel.outputs)
    formats = {port.storage.format for port in ports if port.storage is not None}
    if len(formats) != 1 or not formats <= _FORMATS:
        return False
    if any(port.storage is None for port in kernel.outputs):
        return False
    lanes = lanes_of(ports)
    return all(
        port.dtype is not DType.INT4
        and (_parts(port, lanes) == 1 or c0_of(port.dtype) * port.dtype.itemsize % BLOCK == 0)
        for port in ports
    )


def _parts(port: KernelPort, lanes: int) -> int:
    """The number of blocks of an operand that fit side by side in one of `lanes`."""
    return 1 if port.storage is None else lanes // c0_of(port.dtype)


def keeps_zeros(kernel: KernelFacts) -> bool:
    """True if zeros in the padding of all operands are zeros in that of the result.

    All operands must have padding, in blocks of one length.
    """
    functions = (kernel.row.vector, *(link.function for link in kernel.links))
    zeros = all(each is not None and each.zero_of_zeros for each in functions)
    storages = [port.storage for port in kernel.operands]
    blocks = {c0_of(port.dtype) for port in (*kernel.operands, *kernel.outputs)}
    return zeros and None not in storages and len(blocks) == 1


def plane_facts(kernel: KernelFacts, tensors: Sequence[Loaded]) -> Mapping[str, Any]:
    """Facts for `planes.j2`: lanes of a pixel, blocks in one, whether padding is cleared."""
    lanes = lanes_of((*kernel.operands, *kernel.outputs))
    parts = {each.name: _parts(each.port, lanes) for each in tensors}
    parts.update({port.name: _parts(port, lanes) for port in kernel.outputs})
    return {
        "lanes": lanes,
        "parts": parts,
        "stored": {each.name: each.port.storage is not None for each in tensors},
        "c0": {name: lanes // count for name, count in parts.items()},
        "loads_parts": any(parts[each.name] > 1 for each in tensors),
        "stores_parts": any(parts[port.name] > 1 for port in kernel.outputs),
        "clears": not keeps_zeros(kernel),
        "pattern": PATTERN,
    }


class ElementwiseFamily(Family):
    """A family whose template `<name>.cpp.j2` extends `elementwise.cpp.j2`."""

    def __init__(self, name: str, operators: AbstractSet[str]) -> None:
        self.name = self.template = name
        self.operators = operators

    @abstractmethod
    def formula(self, kernel: KernelFacts) -> Formula:
        """Say how a kernel computes."""

    def plan(self, launch: Launch) -> Plan:
        """Cut the result into tiles of as many rows, or as much of a row, as fit the unified buffer."""
        kernel, how = launch.kernel, self.formula(launch.kernel)
        result = launch.outputs[0]
        shapes = dict(zip(kernel.operands, (*launch.inputs, *launch.linked), strict=True))
        aligned = [
            _aligned_shape(shapes, how, tensor, result) for tensor in _loaded_tensors(kernel, how)
        ]
        tiling = grid_tiling(grid_of(result, aligned), _footprint(kernel, how), launch.soc)
        buffers = _buffers(kernel, how, tiling.buffer_length)
        return Plan(tiling, tiling.core_num, tuple(buffers), launch.moved)

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        how = self.formula(kernel)
        return {
            "compute": how.compute,
            "operands": how.operands,
            "loaded": _loaded_tensors(kernel, how),
            "wide": how.wide,
            "scratch": _scratch(kernel, how),
            "planes": None,
            **dict(how.context),
        }

    def sums(self, kernel: KernelFacts) -> bool:
        """True for functions whose value is a small rest of larger numbers."""
        function = kernel.row.vector
        return function is not None and function.cancels

    def fuses(self, kernel: KernelFacts, soc: Soc) -> bool:
        return self.formula(kernel).compute != "scalar"


class _InPlanes(Family):
    """The kernels of an elementwise family for operands in blocks: planes of pixels."""

    in_blocks = True

    def __init__(self, rows: ElementwiseFamily) -> None:
        self._rows = rows
        self.name, self.template, self.operators = rows.name, rows.template, rows.operators

    def covers(self, kernel: KernelFacts) -> bool:
        return self._rows.covers(kernel) and fits_planes(kernel)

    def fits(self, launch: Launch) -> bool:
        """True if every operand fits the blocks of the result."""
        return moves_in_planes(*self._tensors(launch, self._rows.formula(launch.kernel)))

    def plan(self, launch: Launch) -> Plan:
        """Cut rows of pixels, with a mask of the lanes that are channels."""
        kernel, how = launch.kernel, self._rows.formula(launch.kernel)
        tensors = self._tensors(launch, how)
        tiling = plane_tiling(*tensors, _footprint(kernel, how), launch.soc)
        if tiling is None:
            raise ValueError(f"{launch.node.name} does not work on blocks")
        buffers = _buffers(kernel, how, tiling.buffer_length)
        if not keeps_zeros(kernel):
            buffers += [Buffer(f"{port.name}Pattern", "ub", PATTERN) for port in kernel.outputs]
        return Plan(tiling, tiling.core_num, tuple(buffers), launch.moved)

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        tensors = _loaded_tensors(kernel, self._rows.formula(kernel))
        return {**self._rows.context(kernel), "planes": plane_facts(kernel, tensors)}

    def exact(self, kernel: KernelFacts) -> bool:
        return self._rows.exact(kernel)

    def sums(self, kernel: KernelFacts) -> bool:
        return self._rows.sums(kernel)

    def fuses(self, kernel: KernelFacts, soc: Soc) -> bool:
        return self._rows.fuses(kernel, soc)

    def draw(self, sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        return self._rows.draw(sample, generator)

    def _tensors(self, launch: Launch, how: Formula) -> tuple[Seen, list[Seen], int]:
        """The first result; all operands and results; the lanes of a pixel."""
        kernel = launch.kernel
        shapes = dict(zip(kernel.operands, (*launch.inputs, *launch.linked), strict=True))
        result = Seen(kernel.outputs[0], launch.outputs[0])
        operands = []
        for tensor in _loaded_tensors(kernel, how):
            shape = shapes[tensor.port]
            linked = tensor not in how.operands
            if linked and element_count(shape) == element_count(result.shape):
                shape = result.shape
            by_channel = how.along_channels and not linked and shape != result.shape
            operands.append(Seen(tensor.port, shape, by_channel))
        pairs = zip(kernel.outputs, launch.outputs, strict=True)
        outputs = [Seen(port, shape) for port, shape in pairs]
        return result, [*operands, *outputs], lanes_of((*kernel.operands, *kernel.outputs))


def rows_and_planes(*families: ElementwiseFamily) -> tuple[Family, ...]:
    return (*families, *(_InPlanes(family) for family in families))


def _scratch(kernel: KernelFacts, formula: Formula) -> tuple[Scratch, ...]:
    """The scratch: operands and result that pass through float32, and named scratch."""
    narrow = (operand for operand in formula.operands if operand.ctype != "float")
    names = [operand.name for operand in narrow] if formula.wide else []
    result = kernel.outputs[0]
    if formula.wide and result.ctype in {"half", "bfloat16_t"}:
        names.append(result.name)
    found = [*(Scratch(f"{name}Wide", "float") for name in names), *formula.scratch]
    found += [each for each in link_scratch(kernel.links, result.name) if each not in found]
    return tuple(found)


def _loaded_tensors(kernel: KernelFacts, formula: Formula) -> tuple[Loaded, ...]:
    """All tensors that are loaded tile by tile: the operator's, then those of links."""
    ports = [each.port for link in kernel.links for each in link.tensors]
    return (*formula.operands, *loaded(ports))


def _queued_names(kernel: KernelFacts, how: Formula) -> list[tuple[str, int]]:
    """Names of the tensors in queues, and their bytes per element."""
    queued = [(each.name, CTYPE_SIZES[each.ctype]) for each in _loaded_tensors(kernel, how)]
    return queued + [(port.name, port.dtype.itemsize) for port in kernel.outputs]


def _footprint(kernel: KernelFacts, how: Formula) -> ElementFootprint:
    queued = _queued_names(kernel, how)
    bits = sum(each.bits for each in _scratch(kernel, how))
    bits += DEPTH * 8 * sum(size for _, size in queued)
    return ElementFootprint(BLOCK // min(size for _, size in queued), -(-bits // 8))


def _buffers(kernel: KernelFacts, how: Formula, length: int) -> list[Buffer]:
    queued = _queued_names(kernel, how)
    found = [Buffer(f"{name}Queue", "ub", DEPTH * size * length) for name, size in queued]
    scratch = _scratch(kernel, how)
    return found + [Buffer(each.name, "ub", each.bits * length // 8) for each in scratch]


def _aligned_shape(
    shapes: Mapping[KernelPort, Shape], how: Formula, tensor: Loaded, result: Shape
) -> Shape:
    """The shape of an operand with the rank of `result`, 1 where it repeats."""
    shape = shapes[tensor.port]
    if tensor not in how.operands and element_count(shape) == element_count(result):
        return result
    if how.along_channels and tensor in how.operands[1:] and shape != result:
        count = element_count(shape)
        axis = channel_axis(result, count)
        return tuple(count if at == axis else 1 for at in range(len(result)))
    return (1,) * (len(result) - len(shape)) + shape[-len(result) :]
