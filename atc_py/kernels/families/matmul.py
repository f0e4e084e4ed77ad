"""Products of matrices: transposed or not, stacks broadcast, with bias and int8's offsets."""

from collections.abc import Mapping
from math import prod
from typing import Any

from atc_py.kernels.cube import (
    ACCUMULATOR,
    BIAS,
    OFFSET,
    CubeProduct,
    ProductFamily,
    ProductTiling,
    TileBounds,
    applies_links,
    blocked_buffers,
    blocked_operands,
    channel_buffers,
    depths_of,
    is_row_by_row,
    link_buffers,
    links_are_stored_alike,
    operands_of,
    optional_input,
    product_buffers,
    product_tiling,
    sides_of,
    tile_bytes,
    walk_of,
)
from atc_py.kernels.families.each import each_facts, each_plan
from atc_py.kernels.family import KernelFacts, Launch, Plan
from atc_py.kernels.keys import Reach
from atc_py.kernels.tiling import extended, numbers
from atc_py.target import Soc
from atc_py.tensor.dtypes import Format
from atc_py.tensor.shapes import Shape, element_count
from atc_py.tensor.storage import FLOAT32_C0, Storage

_MATRIX = 2
_MOST = 512
"""Rows and columns of a tile: more of them would leave the cube's buffers shallow."""

_BIAS_TABLE = 256
"""Columns that the bias table has room for."""


class MatMulTiling(ProductTiling):
    """Products of two stacks of matrices."""

    extents: tuple[int, ...] = numbers("extents of the stack of results", pad=1)
    steps: tuple[tuple[int, ...], ...] = numbers(
        "matrices from neighbor to neighbor along them, of both operands and what links read",
        pad=0,
    )


_MATRICES, _WEIGHTS = Storage(Format.FRACTAL_NZ), Storage(Format.FRACTAL_Z)
_OPERANDS = {None, _MATRICES, Storage(Format.FRACTAL_NZ, c0=FLOAT32_C0)}


def _operands_transposed(kernel: KernelFacts) -> tuple[bool, bool]:
    """True if the left and the right operand are stored summed axis first.

    FRACTAL_Z of a matrix has the bytes that FRACTAL_NZ of its transposed has.
    """
    turn = "adj" if kernel.op.startswith("Batch") else "transpose"
    flags = [bool(kernel.attributes[f"{turn}_x{number}"]) for number in (1, 2)]
    is_fractal_z = kernel.takes_blocks and kernel.inputs[1].storage == _WEIGHTS
    return flags[0], flags[1] == is_fractal_z


def _room(kernel: KernelFacts, soc: Soc, *, direct: bool) -> TileBounds:
    """The bounds of a tile; sums that leave L0C directly have a bias from the table alone."""
    if direct:
        columns = _BIAS_TABLE if optional_input(kernel, BIAS) else _MOST
        return TileBounds(soc.l0c_kib * 1024 // ACCUMULATOR, _MOST, columns)
    return TileBounds(soc.ub_kib * 1024 // 2 // tile_bytes(kernel), _MOST, _MOST)


def _stacks(launch: Launch) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """The shape of the stack of results, and how both operands move along them."""
    stack = launch.outputs[0][:-_MATRIX]
    result = launch.outputs[0]
    linked = [
        result if element_count(shape) == element_count(result) else shape
        for shape in launch.linked
    ]
    steps = tuple(
        _steps(shape[:-_MATRIX], len(stack)) for shape in (*launch.inputs[:_MATRIX], *linked)
    )
    return stack or (1,), steps


def _steps(stack: Shape, rank: int) -> tuple[int, ...]:
    padded = (1,) * (rank - len(stack)) + stack
    steps = [prod(padded[axis + 1 :]) if dim != 1 else 0 for axis, dim in enumerate(padded)]
    return tuple(steps) or (0,)


class _Products(ProductFamily):
    """Products of matrices that are stored row by row."""

    name = "matmul"
    template = "product"
    operators = frozenset({"BatchMatMul", "BatchMatMulV2", "MatMulV2"})

    def plan(self, launch: Launch) -> Plan:
        """Cut the result; half of the unified buffer, or L0C alone, holds a tile and its sums.

        On split cores, results of weights with offsets are worked out one by one.
        """
        kernel, soc = launch.kernel, launch.soc
        if optional_input(kernel, OFFSET) and soc.vector_cores > soc.aicores:
            return each_plan(launch)
        *stack, m, n = launch.outputs[0]
        k = launch.inputs[0][-2 if _operands_transposed(kernel)[0] else -1]
        size, width = kernel.inputs[0].dtype.itemsize, kernel.outputs[0].dtype.itemsize
        product = CubeProduct(prod(stack), m, n, k, size)
        direct = soc.vector_cores > soc.aicores
        sides = sides_of(product, _room(kernel, soc, direct=direct), soc)
        channels = channel_buffers(kernel, sides.n, direct=direct)
        kept = sum(buffer.nbytes for buffer in channels if buffer.storage == "l1")
        walk = walk_of(product, sides, soc, kept)
        base = product_tiling(product, sides, walk, (-(-m // sides.m), -(-n // sides.n)), soc)
        shape, steps = _stacks(launch)
        tiling = extended(MatMulTiling, base, extents=shape, steps=steps)
        buffers = (
            *product_buffers(product, sides, walk, None if direct else width),
            *channels,
            *link_buffers(kernel, sides),
            *blocked_buffers(kernel),
        )
        return Plan(tiling, tiling.core_num, buffers, launch.moved)

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        turned = _operands_transposed(kernel)
        return {
            "left": kernel.inputs[0],
            "right": kernel.inputs[1],
            "left_turned": turned[0],
            "right_turned": turned[1],
            **operands_of(kernel),
            "channels_left": False,
            "unrolls": False,
            "channels": "tileN",
            "first_channel": "n_.start",
            **each_facts(kernel, "Product"),
        }

    def fuses(self, kernel: KernelFacts, soc: Soc) -> bool:
        """True if what links read may repeat along the stack, but not inside a matrix."""
        tensors = (each for link in kernel.links for each in link.tensors)
        repeated = any(each.reach is Reach.REPEATED for each in tensors)
        return applies_links(kernel, soc) and not repeated


class _ProductsOfBlocks(_Products):
    """Products of matrices in FRACTAL_NZ or row by row, x2 also in FRACTAL_Z, all else in rows."""

    in_blocks = True

    def covers(self, kernel: KernelFacts) -> bool:
        """True if what is beside the matrices and the result is stored row by row."""
        left, right, result = *kernel.inputs[:2], kernel.outputs[0]
        stored = left.storage in _OPERANDS and right.storage in {*_OPERANDS, _WEIGHTS}
        if not stored or len(depths_of((left, right))) > 1:
            return False
        others = any(port.storage is not None for port in kernel.inputs[2:])
        alike = result.storage in {None, _MATRICES} and is_row_by_row(kernel)
        return alike and not others and links_are_stored_alike(kernel)

    def fits(self, launch: Launch) -> bool:
        """False for blocked results, and for offsets, of cores without a unified buffer."""
        blocked = launch.kernel.outputs[0].storage is not None
        buffered = not blocked and optional_input(launch.kernel, OFFSET) is None
        return buffered or launch.soc.vector_cores <= launch.soc.aicores

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        return {**super().context(kernel), **blocked_operands(kernel)}


FAMILIES = (_Products(), _ProductsOfBlocks())
