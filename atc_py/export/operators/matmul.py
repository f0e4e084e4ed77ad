"""Matrix products, alone and stacked, and determinants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.export.hf32 import factors
from atc_py.export.registry import emulates

if TYPE_CHECKING:
    from atc_py.export.body import Body

__all__: list[str] = []


@emulates("MatMulV2")
def matmul(body: Body) -> str:
    """Write `y = x1 @ (x2 - offset_w) + bias`; either matrix may be transposed first."""
    node = body.node
    turns = [node.flag("transpose_x1"), node.flag("transpose_x2")]
    if not any(turns) and not node.has(2):
        return body.add("MatMul", *factors(body))
    bias = [body.x(2)] if node.has(2) else []
    transA, transB = (int(turn) for turn in turns)  # noqa: N806  (ONNX's names)
    return body.add("Gemm", *factors(body), *bias, transA=transA, transB=transB)


@emulates("BatchMatMul", "BatchMatMulV2")
def batch_matmul(body: Body) -> str:
    """Write MatMulV2 for every pair of matrices of two stacks that are broadcast."""
    node = body.node
    turned = [
        _turned(body, matrix, node.rank(at)) if node.flag(f"adj_x{at + 1}") else matrix
        for at, matrix in enumerate(factors(body))
    ]
    product = body.add("MatMul", *turned)
    return body.add("Add", product, body.x(2)) if node.has(2) else product


def _turned(body: Body, matrix: str, rank: int) -> str:
    """Return stacked matrices transposed."""
    return body.add("Transpose", matrix, perm=[*range(rank - 2), rank - 1, rank - 2])


@emulates("MatrixDeterminant")
def determinant(body: Body) -> str:
    """Write the determinant of each matrix."""
    return body.add("Det", body.x())
