"""Matrix products, alone and stacked, and determinants.

int8 matrices are multiplied in float32 by sums that lose nothing, see `cube_types`; the bias
is added to the int32 result and wraps around with it.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.execution.parallel import PRODUCTS_AT_ONCE, ROWS_TOGETHER, rows_of
from atc_py.device.sim.kernel import (
    Call,
    Launch,
    bound_kernel,
    kernel,
    sequence,
    split_among_workers,
)
from atc_py.device.sim.numerics.cube_types import (
    DIFFERENCE,
    INT8,
    check_channels,
    exact_matmul,
    exact_terms,
    proven_terms,
    result_dtype,
    widened,
    widened_weights,
    with_hf32,
)
from atc_py.device.sim.primitives.blocks import with_row
from atc_py.device.sim.typing_rules import broadcast_dims, require_float, require_rank
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.system.structs import replace
from atc_py.tensor.shapes import Shape
from atc_py.text import Text

_MATRIX = 2

_COLUMNS_TOGETHER = 16
"""Columns that BLAS multiplies a row by at once; it takes the odd ones first."""

_RESULTS = 64 * 1024
"""Elements of results at a time: bias, rounding and all that follows find them in the cache."""

_ROW_PRODUCTS = PRODUCTS_AT_ONCE // 4
"""PRODUCTS_AT_ONCE for one row by a matrix, which waits for memory alone."""


def _turns(node: NodeView) -> list[bool]:
    """Flags of the matrices, which may be transposed first."""
    name = "adj" if node.op.startswith("Batch") else "transpose"
    return [node.flag(f"{name}_x{number}") for number in (1, 2)]


def _product_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """[..., m, n] from [..., m, k] by [..., k, n], after the transpositions asked for."""
    left, right = node.x, node.required(1)
    if node.op == "MatMulV2":
        require_rank(left, _MATRIX, "x1")
        require_rank(right, _MATRIX, "x2")
    dtype, turns = result_dtype(node), _turns(node)
    if min(left.rank, right.rank) < _MATRIX:
        text = Text("matrices are needed, found {found} and {other}")
        raise NodeError(text.with_values(found=left, other=right))
    rows, inner = left.shape[:-3:-1] if turns[0] else left.shape[-2:]
    other_inner, columns = right.shape[:-3:-1] if turns[1] else right.shape[-2:]
    if inner != other_inner:
        text = Text("inner dims must be equal, found {found} and {other}")
        raise NodeError(text.with_values(found=inner, other=other_inner))
    check_channels(node, columns)
    stack = broadcast_dims(left.shape[:-2], right.shape[:-2])
    return (TensorFacts(dtype, (*stack, rows, columns)),)


def _bound(call: Call) -> Launch:
    """A launch that multiplies and chooses each time how, by the data of int8."""
    if call.x.dtype == np.int8:
        return lambda: _products(call, *_operands(call))()  # noqa: PLW0108  (anew)
    if np.may_share_memory(call.x, call.input(1)):
        return _by_itself(call)
    return _products(call, *_operands(call))


def _by_itself(call: Call) -> Launch:
    """A launch that multiplies a matrix by itself, one of the two turned or none.

    numpy takes another routine of BLAS, syrk, where a matrix and its transpose are one memory. That
    adds up in another order, and results must not depend on where operands are: hence a copy.
    """
    right = call.input(1)
    apart = call.workspace.take("apart", right.shape, right.dtype)
    other = replace(call, inputs=(call.x, apart, *call.inputs[2:]))
    return sequence([partial(np.copyto, apart, right), _products(other, *_operands(other))])


@bound_kernel("BatchMatMulV2", _product_types, finishes=True, keeps_shape=True)
@bound_kernel("MatMulV2", _product_types, finishes=True, keeps_shape=True)
def matmul(call: Call) -> Launch:
    """Compute `y = x1 @ (x2 - offset_w) + bias`; either matrix may be transposed first.

    offset_w, for int8, has an element per column: what AMCT calls the value of a quantized weight,
    though its own are symmetric and CANN reserves the operand. `offset_x` changes nothing: it is
    the zero that would be padded with, and the bias already makes up for it. BatchMatMulV2 does so
    for every pair of matrices of two stacks that are broadcast.
    """
    return with_hf32(call, _bound)


def _products(call: Call, left: NDArray[Any], right: NDArray[Any], terms: int) -> Launch:
    out = call.out
    axis, block = _shared_axis(out.shape)
    pieces = max(1, out.shape[axis] // block)
    worthwhile = _ROW_PRODUCTS if out.shape[-_MATRIX] == 1 else PRODUCTS_AT_ONCE
    least = -(-pieces * worthwhile // max(out.size * left.shape[-1], 1))

    def part(first: int, last: int) -> Launch:
        piece = rows_of(out.shape[axis], first, last, block) if block > 1 else slice(first, last)
        a = left if axis == -1 else _cut(left, axis, piece)
        b = right if axis == -_MATRIX else _cut(right, axis, piece)
        return _part(call, (a, b), terms, axis, piece)

    return split_among_workers(call.workers, pieces, part, least)


def _part(
    call: Call, matrices: tuple[NDArray[Any], NDArray[Any]], terms: int, axis: int, piece: slice
) -> Launch:
    """A launch that computes and finishes a piece of the result along `axis`."""
    out, bias = call.out, call.optional(2)
    place: tuple[Any, ...] = (..., piece, *(slice(None),) * (-axis - 1))
    target = sums = out[place]
    if call.finishing is not None and not target.flags.c_contiguous:
        sums = call.workspace.take("sums", target.shape, target.dtype)
    launches: list[Launch] = [
        partial(exact_matmul, *matrices, sums, terms, call.workspace)
        if terms
        else partial(np.matmul, *matrices, sums)
    ]
    some = piece.stop - piece.start
    if sums is target and axis != -1 and target.flags.c_contiguous:
        some = max(1, _RESULTS * some // max(target.size, 1))
        some = max(some - some % ROWS_TOGETHER, min(some, ROWS_TOGETHER))
    for first in range(piece.start, piece.stop, some):
        part = slice(first, min(first + some, piece.stop))
        values = _cut(sums, axis, slice(part.start - piece.start, part.stop - piece.start))
        if bias is not None:
            row = bias if axis != -1 else bias[piece]
            is_fixed = not terms and call.fixed >= {2}
            launches.append(with_row(np.add, values, row, is_fixed=is_fixed))
        if call.finishing is not None:
            where = (..., part, *place[2:])
            launches.append(call.finishing(values, (out.shape, where)))
    if sums is not target:
        launches.append(partial(np.copyto, target, sums))
    return sequence(launches)


def _operands(call: Call) -> tuple[NDArray[Any], NDArray[Any], int]:
    """The matrices as multiplied, and how many int8 products add up exactly, else 0."""
    left, right, offset = call.x, call.input(1), call.optional(3)
    turns, terms = _turns(call.node), 0
    if left.dtype == np.int8:
        terms = exact_terms(INT8, INT8 if offset is None else DIFFERENCE)
        if offset is not None and turns[1]:
            offset = offset[:, None]
        left = widened(call, "left", left)
        right = widened_weights(call, right, offset)
    if turns[0]:
        left = left.swapaxes(-1, -2)
    if turns[1]:
        right = right.swapaxes(-1, -2)
    return left, right, proven_terms(left, right, terms) if terms else 0


def _shared_axis(shape: Shape) -> tuple[int, int]:
    """The axis of the result to cut, from the back, and how much of it stays together."""
    stack = shape[:-_MATRIX]
    longest = max(stack, default=1)
    if longest > 1:
        return stack.index(longest) - len(shape), 1
    if shape[-_MATRIX] == 1 and shape[-1] % _COLUMNS_TOGETHER == 0:
        return -1, _COLUMNS_TOGETHER
    return -_MATRIX, ROWS_TOGETHER


def _cut(array: NDArray[Any], axis: int, piece: slice) -> NDArray[Any]:
    """A piece along `axis`, which counts from the back; all if it is broadcast."""
    if array.ndim < -axis or array.shape[axis] == 1:
        return array
    index = [slice(None)] * array.ndim
    index[axis] = piece
    return array[tuple(index)]


def _determinant_types(node: NodeView) -> tuple[TensorFacts, ...]:
    x = node.x
    require_float(x)
    if x.rank < _MATRIX or x.shape[-1] != x.shape[-2]:
        raise NodeError(Text("square matrices are needed, found {found}", found=x))
    return (TensorFacts(x.dtype, x.shape[:-2]),)


@kernel("MatrixDeterminant", _determinant_types)
def determinant(call: Call) -> None:
    """Multiply the pivots of LAPACK's factors of each matrix, negated for each exchange."""
    call.require_scratch(2 * call.x.nbytes)
    np.copyto(call.out, np.linalg.det(call.x))
