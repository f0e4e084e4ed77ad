"""Rule max-unpool-as-scatter: values at their positions in a vector of zeros, by ScatterND."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_MOST_ELEMENTS = 2**26
"""Elements of the constant of zeros that is written into."""

_OUTPUT_SHAPE = 2


@fix_rule(
    "max-unpool-as-scatter",
    ("MaxUnpool",),
    Exactness.EQUAL,
    RuleText(
        before=Words("MaxUnpool", "MaxUnpool"),
        after=Words(
            "Reshape of values and positions to vectors, ScatterND into zeros, Reshape",
            "将值与位置变形为向量，ScatterND 写入全零向量，再 Reshape",
        ),
        condition=Words(
            "dims and output_shape are known; positions count in the shape of the result, as in "
            "onnxruntime",
            "形状与 output_shape 已知；位置按结果的形状计数，与 onnxruntime 相同",
        ),
    ),
    example=RuleCase(
        "MaxUnpool",
        (Fed((1, 1, 2, 2)), ConstInput(np.array([[[[1, 3], [4, 15]]]]))),
        {"kernel_shape": [2, 2], "strides": [2, 2]},
    ),
    near_miss=RuleCase(
        "MaxPool",
        (Fed((1, 2, 9, 8)),),
        {"kernel_shape": [3, 2], "dilations": [2, 2]},
        opset=12,
    ),
)
def max_unpool_as_scatter(site: Site) -> Sequence[str]:
    """Write ScatterND into zeros."""
    x = site.shape(0)
    require(site.element in FLOATS, "X is float16 or float32", "X 为 float16 或 float32")
    if site.tensor(_OUTPUT_SHAPE) is not None:
        dims = [int(each) for each in site.constant(_OUTPUT_SHAPE)]
    else:
        rank = len(x) - 2
        taps = site.integers("kernel_shape")
        strides = site.integers("strides") or (1,) * rank
        pads = site.integers("pads") or (0,) * (2 * rank)
        dims = [*x[:2]]
        for at, size in enumerate(x[2:]):
            dims.append((size - 1) * strides[at] + taps[at] - pads[at] - pads[rank + at])
    require(min(dims) > 0, "the result has elements", "结果非空")
    require(prod(dims) <= _MOST_ELEMENTS, "the result is small enough", "结果不太大")
    zeros = site.const(tables.zeros(prod(dims)), site.element, "zeros")
    values = site.reshape(site.name(0), [-1])
    positions = site.reshape(site.name(1), [-1, 1])
    return [site.reshape(site.op("ScatterND", [zeros, positions, values]), dims)]
