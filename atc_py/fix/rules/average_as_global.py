"""Rule average-as-global: one window over the whole image is the mean of the image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "average-as-global",
    ("AveragePool",),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "AveragePool whose only window has the image and more",
            "唯一窗口覆盖整幅图像的 AveragePool",
        ),
        after=Words("GlobalAveragePool", "GlobalAveragePool"),
        condition=Words(
            "no pads; the window has at least the dims of the image; ceil_mode or equal dims",
            "无填充；窗口不小于图像",
        ),
    ),
    example=RuleCase("AveragePool", (Fed((1, 2, 2, 5000)),), {"kernel_shape": [2, 5000]}, opset=11),
    near_miss=RuleCase(
        "AveragePool", (Fed((1, 2, 3, 5000)),), {"kernel_shape": [2, 299]}, opset=11
    ),
)
def average_as_global(site: Site) -> Sequence[str]:
    """Write the mean of each image."""
    dims = site.shape(0)[2:]
    window = site.integers("kernel_shape")
    covers = all(taps >= dim for taps, dim in zip(window, dims, strict=True))
    require(covers, "the window has the image", "窗口覆盖图像")
    larger = any(taps > dim for taps, dim in zip(window, dims, strict=True))
    require(
        not larger or site.integer("ceil_mode", 0),
        "dims are equal or ceil_mode is 1",
        "大小相等或 ceil_mode 为 1",
    )
    require(not any(site.integers("pads")), "there are no pads", "无填充")
    require(
        site.text("auto_pad", "NOTSET") == "NOTSET", "there are no automatic pads", "无自动填充"
    )
    return [site.op("GlobalAveragePool", [site.name(0)])]
