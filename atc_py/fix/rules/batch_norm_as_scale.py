"""Rule batch-norm-as-scale: y = x * s + (B - mean * s) with s = scale / sqrt(var + epsilon), one number a channel each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_PIXELS = 2

_MODE_STATED = 7
"""Opset before which an attribute, which is absent by default, says that it does not train."""


@fix_rule(
    "batch-norm-as-scale",
    ("BatchNormalization",),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "BatchNormalization of a rank that is not listed", "秩不在清单中的 BatchNormalization"
        ),
        after=Words("Mul and Add with constants", "与常量做 Mul、Add"),
        condition=Words(
            "the four parameters are constant; it does not train", "四个参数为常量；非训练"
        ),
    ),
    example=RuleCase(
        "BatchNormalization",
        (Fed((2, 3, 5)), data(3), data(3), data(3), ConstInput(np.full(3, 2, np.float32))),
        opset=9,
    ),
    near_miss=RuleCase(
        "BatchNormalization", (Fed((2, 3, 5)), Fed((3,)), data(3), data(3), data(3)), opset=9
    ),
)
def batch_norm_as_scale(site: Site) -> Sequence[str]:
    """Write the multiplication and the addition."""
    tests = site.opset >= _MODE_STATED or site.integer("is_test", 0) == 1
    trains = site.integer("training_mode", 0) or not tests
    require(not trains, "it does not train", "非训练模式")
    require(site.integer("spatial", 1) == 1, "it is of channels", "按通道归一化")
    require(site.element.is_float, "the dtype is one of floats", "数据类型为浮点")
    require(all(each is None for each in site.node.outputs[1:]), "Y alone is used", "只使用 Y")
    rank = len(site.dims(0))
    scale, bias, mean, var = (site.constant(each).astype(np.float64) for each in range(1, 5))
    factor = scale / np.sqrt(var + site.number("epsilon", 1e-5))
    dims = [-1, *[1] * (rank - _PIXELS)]
    factors = site.const(factor.reshape(dims), site.element, "scale")
    offsets = site.const((bias - mean * factor).reshape(dims), site.element, "offset")
    return [site.op("Add", [site.op("Mul", [site.name(0), factors]), offsets])]
