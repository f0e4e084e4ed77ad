"""Lowering of matrix products."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.ir import AttrValue, DeferredConst, TensorType, Value
from atc_py.lowering.builder import Builder, lowering
from atc_py.spec.rewrites import performs
from atc_py.tensor.shapes import Dims, Shape
from atc_py.text import Text

_MATRIX = 2


@lowering("Gemm")
@performs("add-bias")
def lower_gemm(b: Builder) -> Sequence[Value]:
    """Lower Gemm to MatMulV2; alpha goes into an operand, beta into C; C may become Add.

    Y = alpha * A' * B' + beta * C, A' and B' transposed as transA and transB say. An alpha that
    makes a product smaller is taken up by an operand, so that nothing overflows on the way; one
    that makes it larger only by a constant operand, else by the product.
    """
    result = b.output_type()
    _check_matrices(b)
    _check_factors(b)
    attributes: dict[str, AttrValue] = {
        "transpose_x1": b.flag("transA"),
        "transpose_x2": b.flag("transB"),
    }
    operands, alpha = _with_alpha(b)
    beta = b.number("beta", 1.0)
    c = _scaled(b, b.optional_input(2), beta, "C.scaled") if beta != 0 else None
    bias = _as_row(b, c, result.dims) if c is not None and alpha == 1 else None
    if bias is not None or (c is None and alpha == 1):
        inputs = [*operands, *([bias] if bias is not None else [])]
        return [b.op("MatMulV2", inputs, result, attributes)]
    product = b.op("MatMulV2", operands, result, attributes, "product")
    product = _scaled(b, product, alpha, None if c is None else "product.scaled") or product
    return [product if c is None else b.op("Add", [product, c], result)]


@lowering("MatMul")
def lower_matmul(b: Builder) -> Sequence[Value]:
    """Lower MatMul to MatMulV2, or BatchMatMulV2 where both are stacks of matrices.

    A vector on the left is a row, one on the right a column; their axes go from the result. A
    stack times a single matrix is one product: the rows of all its matrices are those of one.
    """
    left, right, result = b.input(0), b.input(1), b.output_type()
    if left.type.is_open or right.type.is_open:
        return [_open_product(b, left, right)]
    if left.type.rank == 1:
        left = b.reshape(left, (1, *left.type.shape), "A.row")
    if right.type.rank == 1:
        right = b.reshape(right, (*right.type.shape, 1), "B.column")
    if right.type.rank == _MATRIX:
        return [_as(b, _single(b, left, right), result.shape)]
    above = b.broadcast(left.type.shape[:-2], right.type.shape[:-2])
    shape = (*above, left.type.shape[-2], right.type.shape[-1])
    if shape == result.shape:
        return [b.op("BatchMatMulV2", [left, right], result)]
    stacks = TensorType(result.dtype, shape)
    return [_as(b, b.op("BatchMatMulV2", [left, right], stacks, None, "stack"), result.shape)]


def _open_product(b: Builder, left: Value, right: Value) -> Value:
    """The product of matrices, or of stacks of them, whose dims only the run knows.

    The axis that makes a vector a row or a column goes from the result.
    """
    result = b.output_type()
    dims, gone = list(result.dims), []
    if right.type.rank == 1:
        right = _with_axis(b, right, 1, "B.column")
        dims.append(1)
        gone.append(len(dims) - 1)
    if left.type.rank == 1:
        left = _with_axis(b, left, 0, "A.row")
        dims.insert(len(dims) - 1, 1)
        gone = [len(dims) - 2, *(axis + 1 for axis in gone)]
    matrices = left.type.rank == right.type.rank == _MATRIX
    op, stacks = "MatMulV2" if matrices else "BatchMatMulV2", TensorType(result.dtype, tuple(dims))
    product = b.op(op, [left, right], stacks, label="product" if gone else None)
    return b.op("Squeeze", [product], result, {"axis": tuple(gone)}) if gone else product


def _with_axis(b: Builder, vector: Value, axis: int, label: str) -> Value:
    (dim,) = vector.type.dims
    dims = (1, dim) if axis == 0 else (dim, 1)
    return b.op(
        "Unsqueeze", [vector], TensorType(vector.type.dtype, dims), {"axes": (axis,)}, label
    )


def _single(b: Builder, left: Value, right: Value) -> Value:
    """All matrices of `left` below each other times one matrix."""
    *above, inner = left.type.shape
    rows = prod(above)
    left = _as(b, left, (rows, inner), "A.rows")
    shape = (rows, right.type.shape[-1])
    label = None if shape == b.output_type().shape else "product"
    return b.op("MatMulV2", [left, right], TensorType(b.output_type().dtype, shape), None, label)


def _as(b: Builder, value: Value, shape: Shape, label: str | None = None) -> Value:
    return value if value.type.shape == shape else b.reshape(value, shape, label)


def _check_matrices(b: Builder) -> None:
    for position, name in enumerate(("A", "B")):
        rank = b.source(position).rank
        if rank != _MATRIX:
            raise b.bad(
                Text("needs matrices, input {name} has rank {rank}", name=name, rank=rank),
                Text("input {at}", at=name),
            )


def _check_factors(b: Builder) -> None:
    """Refuse factors of a product of integers, which has no place for them."""
    for name in ("alpha", "beta"):
        if b.source(0).required_dtype.is_integer and b.number(name, 1.0) != 1:
            text = Text("{name} of a layer on {dtype} must be 1, found {found}")
            dtype, found = b.source(0).required_dtype.value, b.number(name, 1.0)
            raise b.unsupported(
                text.with_values(name=name, dtype=dtype, found=found),
                f"attribute {name}",
                Text(
                    "multiply it into the scale of the AscendDequant after the node, or into the bias"
                ),
            )


@performs("scale-operands")
def _with_alpha(b: Builder) -> tuple[list[Value], float]:
    """The operands of Gemm, one of them times alpha, and the factor that is left."""
    operands, alpha = [b.input(0), b.input(1)], b.number("alpha", 1.0)
    constant = next((n for n in (1, 0) if operands[n].const is not None), None)
    if alpha == 1 or (constant is None and abs(alpha) > 1):
        return operands, alpha
    position = constant or 0
    scaled = _scaled(b, operands[position], alpha, f"{'AB'[position]}.scaled")
    operands[position] = scaled or operands[position]
    return operands, 1.0


def _scaled(b: Builder, value: Value | None, factor: float, label: str | None) -> Value | None:
    if value is None or factor == 1:
        return value
    if value.const is not None and label is not None:
        const = value.const

        def compute(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
            with np.errstate(over="ignore", invalid="ignore"):
                scaled: npt.NDArray[Any] = array * array.dtype.type(factor)
            return scaled

        name = f"times {factor}"
        return b.const(label, DeferredConst(const.dtype, const.shape, [const], compute, name))
    return b.op("Muls", [value], value.type, {"value": factor}, label)


def _as_row(b: Builder, c: Value, result: Dims) -> Value | None:
    """`c` as a vector with one element per column, or None where it varies over rows."""
    columns = result[1]
    if columns is None or c.type.is_open:
        return None
    if c.type.shape == (columns,):
        return c
    if c.type.shape == (1, columns):
        return b.reshape(c, (columns,), "bias")
    return None
