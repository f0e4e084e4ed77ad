"""Why a layer of a float model has no int8 form, in words."""

from __future__ import annotations

from atc_py.diag import Words

__all__ = [
    "COMPUTED_WEIGHTS",
    "CONSTANT_DATA",
    "NOT_FLOAT32",
    "STACKED_WEIGHTS",
    "TRANSPOSED_DATA",
]

COMPUTED_WEIGHTS = Words(
    "it multiplies two tensors that are computed at run time", "其两个操作数均在运行时计算"
)
CONSTANT_DATA = Words("its data is constant", "其数据为常量")
NOT_FLOAT32 = Words("its weights are not float32", "其权重不是 float32")
STACKED_WEIGHTS = Words("its weights are not a matrix", "其权重不是矩阵")
TRANSPOSED_DATA = Words("its data is transposed", "其数据被转置")
