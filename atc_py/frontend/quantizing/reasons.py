"""Why a layer of a float model has no int8 form, in words."""

from __future__ import annotations

from atc_py.diag import Words

__all__ = [
    "COMPUTED_BIAS",
    "COMPUTED_WEIGHTS",
    "CONSTANT_DATA",
    "NOT_FLOAT32",
    "STACKED_WEIGHTS",
    "TRANSPOSED_DATA",
    "VOLUMES",
]

COMPUTED_WEIGHTS = Words(
    "it multiplies two tensors that are computed at run time", "其两个操作数均在运行时计算"
)
COMPUTED_BIAS = Words("its bias is computed at run time", "其偏置在运行时才计算")
CONSTANT_DATA = Words("its data is constant", "其数据为常量")
NOT_FLOAT32 = Words("its weights are not float32", "其权重不是 float32")
STACKED_WEIGHTS = Words("its weights are not a matrix", "其权重不是矩阵")
TRANSPOSED_DATA = Words("its data is transposed", "其数据被转置")
VOLUMES = Words(
    "it is a 3-D convolution, which the operator lists have for floats alone",
    "它是三维卷积，清单只列浮点类型",
)
