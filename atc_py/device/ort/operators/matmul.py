"""Matrix products, alone and stacked, and determinants."""

from onnx import GraphProto

from atc_py.device.ort.body import Body, emulates
from atc_py.device.ort.products import (
    bytes_of_operand,
    factors,
    offset_of_weights,
    single_offset,
    zero_point,
)
from atc_py.tensor.dtypes import DType

_BIAS = 2

_MATRIX = 2
"""Axes of a matrix."""


@emulates("MatMulV2")
def matmul(body: Body) -> str:
    """Write `y = x1 @ (x2 - offset_w) + bias`; either matrix may be transposed first.

    Floats are added up in float32, rounded to HF32 first where `impl_mode` says so; int8 is added up
    in int32, which wraps around.
    """
    node = body.node
    turns = (node.flag("transpose_x1"), node.flag("transpose_x2"))
    if node.dtype() is DType.INT8:
        return _integer_product(body, turns)
    if not any(turns) and not node.has(_BIAS):
        return body.add("MatMul", *factors(body))
    bias = [body.x(_BIAS)] if node.has(_BIAS) else []
    attributes = {f"trans{name}": int(turn) for name, turn in zip("AB", turns, strict=True)}
    return body.add("Gemm", *factors(body), *bias, **attributes)


@emulates("BatchMatMul", "BatchMatMulV2")
def batch_matmul(body: Body) -> str:
    """Write MatMulV2 for every pair of matrices of two stacks that are broadcast."""
    node = body.node
    turns = (node.flag("adj_x1"), node.flag("adj_x2"))
    if node.dtype() is DType.INT8:
        return _integer_product(body, turns)
    product = body.add("MatMul", *_turned(body, factors(body), turns))
    return body.add("Add", product, body.x(_BIAS)) if node.has(_BIAS) else product


def _turned(body: Body, matrices: list[str], turns: tuple[bool, bool]) -> list[str]:
    found = []
    for at, (matrix, turn) in enumerate(zip(matrices, turns, strict=True)):
        last = body.node.rank(at) - 1
        perm = [*range(last - 1), last, last - 1]
        found.append(body.add("Transpose", matrix, perm=perm) if turn else matrix)
    return found


def _integer_product(body: Body, turns: tuple[bool, bool]) -> str:
    left, right = _turned(body, [bytes_of_operand(body, at) for at in range(2)], turns)
    zeros = zero_point(body), single_offset(body)
    total = body.add("MatMulInteger", left, right, *zeros)
    if 0 in body.node.required(0).dims[-_MATRIX:]:
        # Of sums of nothing onnxruntime writes no result.
        total = body.add("Mul", total, body.const(0, DType.INT32))
    offset = offset_of_weights(body)
    if offset is not None:
        wide = body.add("Sub", body.cast(left, DType.INT32), body.const(128, DType.INT32))
        sums = body.add("ReduceSum", wide, body.ints(-1))
        total = body.add("Sub", total, body.add("Mul", sums, offset))
    return body.add("Add", total, body.own(_BIAS)) if body.node.has(_BIAS) else total


@emulates("MatrixDeterminant")
def determinant(body: Body) -> str:
    """Write the product of the pivots of each matrix, negated for each exchange of rows.

    It is worked out in float64. Det of onnxruntime has float32 alone, and returns NaN of singular
    matrices whose other pivots have a product that is too large.
    """
    x = body.cast(body.own(), DType.FLOAT64)
    dims = body.add("Shape", x)
    size = body.add("Slice", dims, body.ints(-_MATRIX), body.ints(body.node.rank()))
    stack = body.add("Slice", dims, body.ints(0), body.ints(-_MATRIX))
    count = body.add("ReduceProd", stack) if body.node.rank() > _MATRIX else body.ints(1)
    matrices = body.add("Reshape", x, body.add("Concat", count, size, axis=0), allowzero=1)
    ones = body.add("Expand", body.const([1.0], DType.FLOAT64), count)
    steps = body.add("Gather", size, body.const(0, DType.INT64))
    products = body.several("Loop", 2, steps, "", matrices, ones, body=_elimination(body))[1]
    return body.cast(body.add("Reshape", products, stack, allowzero=1), body.node.dtype())


def _elimination(body: Body) -> GraphProto:
    """The body of a loop that removes the first column of each matrix and its pivot's row."""
    dtype, inner = DType.FLOAT64, body.inner()
    index, go, matrices, product = (inner.name(each) for each in ("i", "go", "matrices", "product"))
    zero = inner.const(0, DType.INT64)
    one, none = inner.const(1.0, dtype), inner.const(0.0, dtype)
    column = inner.add("Gather", matrices, zero, axis=2)
    place = inner.add("ArgMax", inner.add("Abs", column), axis=1)
    row = inner.add("GatherND", matrices, place, batch_dims=1)
    pivot = inner.add("Gather", row, zero, axis=1)
    stays = inner.add("Equal", inner.add("Squeeze", place, inner.ints(1)), zero)
    sign = inner.add("Where", stays, one, inner.const(-1.0, dtype))
    total = inner.add("Mul", product, inner.add("Mul", pivot, sign))
    singular = inner.add("Equal", pivot, none)
    total = inner.add("Where", singular, none, total)
    # The first row takes the place of the pivot's; a column of zeros has factors of 0.
    ends = inner.ints(1), inner.ints(2**31)
    count = inner.add("Squeeze", inner.add("Shape", column, start=1, end=2))
    numbers = inner.add("Range", inner.const(1, DType.INT64), count, inner.const(1, DType.INT64))
    left = inner.add("Unsqueeze", inner.add("Equal", numbers, place), inner.ints(2))
    first = inner.add("Gather", matrices, inner.ints(0), axis=1)
    rest = inner.add("Slice", matrices, *ends, inner.ints(1))
    rest = inner.add("Where", left, first, rest)
    divisor = inner.add("Where", singular, one, pivot)
    divisor = inner.add("Unsqueeze", divisor, inner.ints(1, 2))
    ratios = inner.add("Div", inner.add("Gather", rest, inner.ints(0), axis=2), divisor)
    row = inner.add("Unsqueeze", inner.add("Slice", row, *ends, inner.ints(1)), inner.ints(1))
    others = inner.add("Slice", rest, *ends, inner.ints(2))
    smaller = inner.add("Sub", others, inner.add("Mul", ratios, row))
    on = inner.add("Identity", go)
    square, single = (None, None, None), (None,)
    return inner.as_graph(
        [
            (index, DType.INT64, ()),
            (go, DType.BOOL, ()),
            (matrices, dtype, square),
            (product, dtype, single),
        ],
        [(on, DType.BOOL, ()), (smaller, dtype, square), (total, dtype, single)],
    )
