"""Rule resize-all-axes: axes, a policy for the aspect ratio and antialiasing without effect, stated for all axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.parts.resampling import resized_axes
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_MODES = frozenset(
    {"align_corners", "asymmetric", "half_pixel", "pytorch_half_pixel", "tf_half_pixel_for_nn"}
)
"""Coordinates without a region that the lists have."""

_ADDED = {"antialias": 0, "axes": (), "keep_aspect_ratio_policy": "stretch"}
"""Attributes of opset 18, and what they are without effect."""

_IMAGES = 4


@fix_rule(
    "resize-all-axes",
    ("Resize",),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "Resize with axes, keep_aspect_ratio_policy, or antialias where nothing shrinks",
            "带 axes、keep_aspect_ratio_policy，或未缩小却带 antialias 的 Resize",
        ),
        after=Words("Resize with sizes or scales for all axes", "给出所有轴大小或比例的 Resize"),
        condition=Words(
            "dims, scales and sizes are known; mode nearest or linear; at most four axes; no region",
            "形状、scales、sizes 已知；nearest 或 linear；不超过四维；无 roi",
        ),
    ),
    example=RuleCase(
        "Resize",
        (Fed((1, 2, 6, 7)), None, None, ConstInput(np.array([12, 9]))),
        {"mode": "linear", "axes": [2, 3], "coordinate_transformation_mode": "half_pixel"},
        opset=18,
    ),
    near_miss=RuleCase(
        "Resize",
        (Fed((1, 2, 6, 7)), None, None, ConstInput(np.array([4, 5]))),
        {"mode": "linear", "axes": [2, 3], "antialias": 1},
        opset=18,
    ),
)
def resize_all_axes(site: Site) -> Sequence[str]:
    """Write Resize with a number for each axis."""
    changed = any(site.node.attributes.get(each, no) != no for each, no in _ADDED.items())
    require(changed, "an attribute of opset 18 has an effect", "使用了 opset 18 的属性")
    mode = site.text("coordinate_transformation_mode", "half_pixel")
    require(mode in _MODES, "the list has the coordinates", "清单支持该坐标模式")
    kind = site.text("mode", "nearest")
    require(kind in {"nearest", "linear"}, "mode is nearest or linear", "模式为 nearest 或 linear")
    require(site.element in FLOATS, "X is float16 or float32", "X 为 float16 或 float32")
    axes = resized_axes(site)
    require(len(axes) <= _IMAGES, "X has at most four axes", "X 不超过四维")
    smooth = site.integer("antialias", 0) and any(each.scale < 1 for each in axes)
    require(not smooth, "no axis shrinks with antialias", "带 antialias 时无轴缩小")
    sizes = [each.count for each in axes]
    even = all(np.float32(each.count) / np.float32(each.size) == each.scale for each in axes)
    without: dict[str, Any] = dict.fromkeys(_ADDED)
    empty = site.const([], DType.FLOAT32, "empty")
    if even:
        return site.again([site.name(0), empty, empty, site.const(sizes, label="sizes")], **without)
    whole = all(int(np.float32(each.size) * each.scale) == each.count for each in axes)
    require(whole, "the scales give the sizes", "比例与大小一致")
    scales = site.const([each.scale for each in axes], DType.FLOAT32, "scales")
    return site.again([site.name(0), empty, scales], **without)
