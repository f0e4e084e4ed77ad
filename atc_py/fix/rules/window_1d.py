"""Rule window-1d: a window along one axis runs as one of images of one row.

Convolutions and pools of the list `base` take images alone. The axis of 1 goes before the last, so
that the length is on W: a width of 1 with a height above 1 is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.pools import require_known_windows
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_SEQUENCES = 3
"""Rank of N x C x L."""

_OF_ONE = {"dilations": 1, "kernel_shape": 1, "strides": 1, "output_padding": 0, "output_shape": 1}
"""Attributes with a number for each axis, and the number for an axis of 1."""

_POOLS = frozenset({"AveragePool", "MaxPool"})
_WITH_FILTERS = frozenset({"Conv", "ConvTranspose"})


@fix_rule(
    "window-1d",
    ("AveragePool", "Conv", "ConvTranspose", "LpPool", "MaxPool"),
    Exactness.REORDERED,
    RuleText(
        before=Words("a convolution or pool along one axis", "沿一条轴的卷积或池化"),
        after=Words(
            "Unsqueeze, the same operator on an image of one row, Squeeze",
            "Unsqueeze、单行图像上的同一算子、Squeeze",
        ),
        condition=Words(
            "X has rank 3; of a pool, Indices are not used and each window meets X",
            "X 的秩为 3；池化不使用 Indices，且每个窗口都与 X 重叠",
        ),
    ),
    example=RuleCase(
        "Conv",
        (Fed((1, 3, 16)), data(4, 3, 3), data(4)),
        {"pads": [1, 0], "strides": [2], "dilations": [2]},
    ),
    near_miss=RuleCase("Conv", (Fed((1, 2, 4, 4, 4)), data(3, 2, 2, 2, 2))),
)
def window_1d(site: Site) -> Sequence[str]:
    """Write the operator on images of one row."""
    require(len(site.dims(0)) == _SEQUENCES, "X has rank 3", "X 的秩为 3")
    require(site.output(1) is None, "Indices are not used", "不使用 Indices")
    if site.node.op_type in _POOLS:
        require_known_windows(site)
    inputs = [site.unsqueeze(site.name(0), [2])]
    if site.node.op_type in _WITH_FILTERS:
        inputs.append(site.unsqueeze(site.name(1), [2]))
    inputs += [site.name(position) for position in range(len(inputs), len(site.node.inputs))]
    return [site.squeeze(site.again(inputs, **_as_image(site))[0], [2])]


def _as_image(site: Site) -> dict[str, Any]:
    """Return the attributes with a number for each axis, with that of an axis of 1 before it."""
    attributes = site.node.attributes
    changed: dict[str, Any] = {
        name: [one, *site.integers(name)] for name, one in _OF_ONE.items() if name in attributes
    }
    if "pads" in attributes:
        begin, end = site.integers("pads")
        changed["pads"] = [0, begin, 0, end]
    return changed
