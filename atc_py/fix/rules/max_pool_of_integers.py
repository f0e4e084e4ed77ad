"""Rule max-pool-of-integers: bytes are exact in every float."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.parts.pools import pool_axes
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "max-pool-of-integers",
    ("MaxPool",),
    Exactness.EQUAL,
    RuleText(
        before=Words("MaxPool of int8 or uint8", "int8 或 uint8 的 MaxPool"),
        after=Words("Cast, MaxPool of float32, Cast", "Cast、float32 的 MaxPool、Cast"),
        condition=Words(
            "dims are known; the dtype is int8 or uint8", "形状已知；类型为 int8 或 uint8"
        ),
    ),
    example=RuleCase(
        "MaxPool", (Fed((1, 2, 6, 7), DType.UINT8, (0, 255)),), {"kernel_shape": [2, 3]}, opset=12
    ),
    near_miss=RuleCase(
        "MaxPool", (Fed((1, 2, 9, 8)),), {"kernel_shape": [3, 2], "dilations": [2, 3]}, opset=12
    ),
)
def max_pool_of_integers(site: Site) -> Sequence[str]:
    """Write the pool of floats."""
    whole = site.element in {DType.INT8, DType.UINT8}
    require(whole, "the dtype is int8 or uint8", "类型为 int8 或 uint8")
    pool_axes(site)
    x = site.cast(site.name(0), DType.FLOAT32)
    if site.output(1) is None:
        return [site.cast(site.again([x])[0], site.element)]
    y, indices = site.again([x], 2)
    return [site.cast(y, site.element), indices]
