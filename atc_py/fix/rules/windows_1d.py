"""Windows along one axis: the list has convolutions and pools of images alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText, require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_TEXT = RuleText(
    before=Words("a window along one axis", "一维窗口"),
    after=Words(
        "Unsqueeze, the same window along W of an image of one row, Squeeze",
        "Unsqueeze、在单行图像的 W 轴上做同样的窗口运算、Squeeze",
    ),
    condition=Words("X has rank 3", "X 的秩为 3"),
)

_SEQUENCE = 3
"""Rank of N x C x L."""

_LISTS = {"dilations": 1, "kernel_shape": 1, "strides": 1, "output_padding": 0, "output_shape": 1}
"""Attributes with a number an axis, and that of an axis of 1."""


@fix_rule("window-1d", ("Conv", "ConvTranspose"), Exactness.REORDERED, _TEXT)
def convolve_image(site: Site) -> Sequence[str]:
    """Write a convolution of sequences as one of images of one row."""
    _require_sequences(site)
    weights = site.unsqueeze(site.name(1), [2])
    rest = [site.name(position) for position in range(2, len(site.node.inputs))]
    y = site.again([site.unsqueeze(site.name(0), [2]), weights, *rest], **_as_image(site))
    return [site.squeeze(y[0], [2])]


@fix_rule("pool-1d", ("AveragePool", "LpPool", "MaxPool"), Exactness.REORDERED, _TEXT)
def pool_image(site: Site) -> Sequence[str]:
    """Write a pool of sequences as one of images of one row."""
    _require_sequences(site)
    require(site.output(1) is None, "Indices are not asked for", "未使用 Indices 输出")
    y = site.again([site.unsqueeze(site.name(0), [2])], **_as_image(site))
    return [site.squeeze(y[0], [2])]


def _require_sequences(site: Site) -> None:
    """Require X of rank 3."""
    require(len(site.dims(0)) == _SEQUENCE, "X has rank 3", "X 的秩为 3")


def _as_image(site: Site) -> dict[str, object]:
    """Return the attributes along one axis with those of an axis of 1 before them."""
    attributes = site.node.attributes
    changed: dict[str, object] = {
        name: [one, *site.ints(name)] for name, one in _LISTS.items() if name in attributes
    }
    if "pads" in attributes:
        begin, end = site.ints("pads")
        changed["pads"] = [0, begin, 0, end]
    return changed
