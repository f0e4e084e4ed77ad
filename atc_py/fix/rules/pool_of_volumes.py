"""Rule pool-of-volumes: a window over volumes is one over their slices, then one along the depth.

Largest values, norms and means (with the number of elements that count, a product over the axes) allow it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.parts.pools import pool_axes
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_VOLUMES = 5

_OF_AXES = ("dilations", "kernel_shape", "strides")
"""Attributes with a number for each axis."""


@fix_rule(
    "pool-of-volumes",
    ("AveragePool", "LpPool", "MaxPool"),
    Exactness.REORDERED,
    RuleText(
        before=Words("a pool of volumes", "三维体数据的池化"),
        after=Words(
            "Reshape, the pool of the slices, Reshape, the pool along the depth, Reshape",
            "Reshape、对切片池化、Reshape、沿深度池化、Reshape",
        ),
        condition=Words("dims are known; Indices are not used", "形状已知；不使用 Indices"),
        float16=Words("the result of the slices is rounded once more", "切片的结果多舍入一次"),
    ),
    example=RuleCase(
        "AveragePool",
        (Fed((1, 2, 5, 6, 7)),),
        {"kernel_shape": [2, 3, 3], "strides": [1, 2, 2], "pads": [1, 1, 0, 0, 1, 2]},
        opset=11,
    ),
    near_miss=RuleCase("MaxPool", (Fed((1, 2, 6, 7, 8, 9)),), {"kernel_shape": [2, 2, 2, 2]}),
)
def pool_of_volumes(site: Site) -> Sequence[str]:
    """Write the pool of the slices and the one along the depth."""
    x = site.shape(0)
    require(len(x) == _VOLUMES, "X has rank 5", "X 的秩为 5")
    require(site.output(1) is None, "Indices are not used", "不使用 Indices")
    depth, height, width = (each.count for each in pool_axes(site))
    slices = site.reshape(site.name(0), [x[0], x[1] * x[2], *x[3:]])
    (y,) = site.again([slices], **_of_axes(site, (1, 2)))
    y = site.reshape(y, [*x[:3], height * width])
    (y,) = site.again([y], **_of_axes(site, (0,)))
    return [site.reshape(y, [*x[:2], depth, height, width])]


def _of_axes(site: Site, axes: Sequence[int]) -> dict[str, Any]:
    """Return the attributes of a pool along these axes alone, of two numbers for each."""
    found: dict[str, Any] = {}
    fill = 2 - len(axes)
    for name in _OF_AXES:
        if site.integers(name):
            found[name] = [*(site.integers(name)[axis] for axis in axes), *([1] * fill)]
    pads = site.integers("pads")
    if pads:
        ends = [[pads[3 * end + axis] for axis in axes] + [0] * fill for end in (0, 1)]
        found["pads"] = [*ends[0], *ends[1]]
    return found
