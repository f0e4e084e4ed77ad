"""Rule random-as-float32: random numbers are drawn in float32 and cast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import meant_for
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_FLOAT64 = 11
"""ONNX's number of the dtype."""


@fix_rule(
    "random-as-float32",
    ("RandomUniform",),
    Exactness.EQUAL,
    RuleText(
        before=Words("RandomUniform in float64", "float64 的 RandomUniform"),
        after=Words("RandomUniform in float32, Cast", "float32 的 RandomUniform，再 Cast"),
        condition=Words("ONNX leaves the numbers to the engine", "随机数由引擎决定，ONNX 未规定"),
    ),
    example=RuleCase("RandomUniform", (), {"dtype": 11, "shape": [2, 3], "seed": 3.0}),
    near_miss=RuleCase("RandomUniform", (), {"dtype": 1, "shape": [2, 3], "seed": 3.0}),
    deviations=("RandomUniform/float64-refused",),
)
def random_as_float32(site: Site) -> Sequence[str]:
    """Write narrower numbers."""
    meant_for(site.integer("dtype", 1) == _FLOAT64)
    (found,) = site.again([], dtype=1)
    return [site.cast(found, DType.FLOAT64)]
