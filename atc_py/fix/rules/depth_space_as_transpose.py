"""Rule depth-space-as-transpose: blocks of pixels become channels, or channels blocks, by Reshape and Transpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_IMAGES = 4


@fix_rule(
    "depth-space-as-transpose",
    ("DepthToSpace", "SpaceToDepth"),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "DepthToSpace or SpaceToDepth of a dtype, block or mode that is not listed",
            "类型、块大小或模式不在清单中的 DepthToSpace、SpaceToDepth",
        ),
        after=Words("Reshape, Transpose, Reshape", "Reshape、Transpose、Reshape"),
        condition=Words("the input is images of known dims", "输入为形状已知的图像"),
    ),
    example=RuleCase(
        "DepthToSpace", (Fed((1, 8, 2, 3), DType.BOOL),), {"blocksize": 2, "mode": "CRD"}
    ),
    near_miss=RuleCase("Mish", (Fed((2, 3, 4)),), opset=18),
)
def depth_space_as_transpose(site: Site) -> Sequence[str]:
    """Write the axes of the blocks, and move them."""
    x, block = site.shape(0), site.integer("blocksize", 1)
    require(len(x) == _IMAGES and block > 0, "the input is images", "输入为图像")
    rows = site.text("mode", "DCR") == "DCR"
    n, c, h, w = x
    if site.node.op_type == "SpaceToDepth":
        require(h % block == 0 and w % block == 0, "blocks fit the image", "块与图像相符")
        y = site.reshape(site.name(0), [n, c, h // block, block, w // block, block])
        y = site.transpose(y, [0, 3, 5, 1, 2, 4] if rows else [0, 1, 3, 5, 2, 4])
        return [site.reshape(y, [n, c * block * block, h // block, w // block])]
    require(c % (block * block) == 0, "blocks fit the channels", "块与通道相符")
    each = c // (block * block)
    if rows:
        y = site.reshape(site.name(0), [n, block, block, each, h, w])
        y = site.transpose(y, [0, 3, 4, 1, 5, 2])
    else:
        y = site.reshape(site.name(0), [n, each, block, block, h, w])
        y = site.transpose(y, [0, 1, 4, 2, 5, 3])
    return [site.reshape(y, [n, each, h * block, w * block])]
