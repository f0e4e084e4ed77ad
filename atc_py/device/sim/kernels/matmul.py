"""Matrix products, alone and stacked, and determinants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.device.sim.kernel import Call, kernel
from atc_py.device.sim.node import NodeError, NodeFacts, TensorFacts
from atc_py.device.sim.typing_rules import one_dtype, require_float, require_rank
from atc_py.shapes import Shape, broadcast_shapes

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__: list[str] = []

_MATRIX = 2

_BLOCK = 64
"""Rows or columns that stay together: BLAS adds up the odd ones at an end in another order, and
equal columns should give equal results wherever they are cut."""

_ROWS, _COLUMNS = 1, 4
"""Blocks of rows or columns below which a part is not worth a worker of its own."""


def _product(node: NodeFacts, turn: str) -> Shape:
    """[..., m, n] from [..., m, k] by [..., k, n], after the transpositions asked for."""
    left, right, bias = node.x, node.required(1), node.input(2)
    require_float(left)
    if min(left.rank, right.rank) < _MATRIX:
        raise NodeError(f"matrices are needed, found {left} and {right}")
    if node.input(3) is not None:
        raise NodeError("offset_w is for quantised matrices, which this device does not take")
    one_dtype(node.present)
    node.expect("offset_x", 0)
    rows, inner = left.shape[:-3:-1] if node.flag(f"{turn}_x1") else left.shape[-2:]
    other_inner, columns = right.shape[:-3:-1] if node.flag(f"{turn}_x2") else right.shape[-2:]
    if inner != other_inner:
        raise NodeError(f"inner extents must be equal, found {inner} and {other_inner}")
    if bias is not None and bias.shape != (columns,):
        raise NodeError(f"bias must have shape {columns}, found {bias}")
    try:
        stack = broadcast_shapes(left.shape[:-2], right.shape[:-2])
    except ValueError as error:
        raise NodeError(str(error)) from None
    return (*stack, rows, columns)


def _matmul_types(node: NodeFacts) -> tuple[TensorFacts, ...]:
    """As `_product`, of single matrices."""
    require_rank(node.x, _MATRIX, "x1")
    require_rank(node.required(1), _MATRIX, "x2")
    return (TensorFacts(node.x.dtype, _product(node, "transpose")),)


def _batch_types(node: NodeFacts) -> tuple[TensorFacts, ...]:
    """As `_product`."""
    return (TensorFacts(node.x.dtype, _product(node, "adj")),)


@kernel("MatMulV2", _matmul_types)
def matmul(call: Call) -> None:
    """`y = x1 @ x2 + bias`; either matrix may be transposed first."""
    _multiply(call, "transpose")


@kernel("BatchMatMulV2", _batch_types)
def batch_matmul(call: Call) -> None:
    """As MatMulV2, for every pair of matrices of two stacks that are broadcast."""
    _multiply(call, "adj")


def _multiply(call: Call, turn: str) -> None:
    """The products, shared among workers along one axis of the result."""
    out, node = call.out, call.node
    left, right = (
        call.input(position).swapaxes(-1, -2)
        if node.flag(f"{turn}_x{position + 1}")
        else call.input(position)
        for position in range(2)
    )
    bias = call.optional(2)
    axis, block, least = _shared_axis(out.shape)

    def part(first: int, last: int) -> None:
        start, stop = first * block, min(last * block, out.shape[axis])
        target = _cut(out, axis, start, stop)
        a = left if axis == -1 else _cut(left, axis, start, stop)
        b = right if axis == -_MATRIX else _cut(right, axis, start, stop)
        np.matmul(a, b, out=target)
        if bias is not None:
            np.add(target, bias if axis != -1 else bias[start:stop], out=target)

    call.workers.split(-(-out.shape[axis] // block), part, least)


def _shared_axis(shape: Shape) -> tuple[int, int, int]:
    """The axis of the result to cut, from the back, in blocks of what, and how many at least."""
    stack = shape[:-_MATRIX]
    longest = max(stack, default=1)
    if longest > 1:
        return stack.index(longest) - len(shape), 1, 1
    if shape[-_MATRIX] > _BLOCK:
        return -_MATRIX, _BLOCK, _ROWS
    return -1, _BLOCK, _COLUMNS


def _cut(array: NDArray[Any], axis: int, start: int, stop: int) -> NDArray[Any]:
    """Elements [start, stop) along `axis`, which counts from the back; all if it is broadcast."""
    if array.ndim < -axis or array.shape[axis] == 1:
        return array
    index = [slice(None)] * array.ndim
    index[axis] = slice(start, stop)
    return array[tuple(index)]


def _determinant_types(node: NodeFacts) -> tuple[TensorFacts, ...]:
    """The shape of x without its last two axes, which are equally long."""
    x = node.x
    require_float(x)
    if x.rank < _MATRIX or x.shape[-1] != x.shape[-2]:
        raise NodeError(f"square matrices are needed, found {x}")
    return (TensorFacts(x.dtype, x.shape[:-2]),)


@kernel("MatrixDeterminant", _determinant_types)
def determinant(call: Call) -> None:
    """By LAPACK's factors of each matrix: the product of the pivots, negated for each exchange."""
    np.copyto(call.out, np.linalg.det(call.x))
