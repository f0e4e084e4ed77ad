"""Rule conv-transpose-not-set: auto_pad is written as NOTSET, so that nodes before do not decide it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import Fed, case_after
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import meant_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from atc_py.fix.case import CaseNode
    from atc_py.fix.site import Site

__all__: list[str] = []

_KERNEL: Mapping[str, Any] = {"kernel_shape": [2, 2]}
_SHAPED: tuple[CaseNode, ...] = (
    ("ConvTranspose", ("x0", "x1"), ("first",), {**_KERNEL, "output_shape": [5, 6]}),
)
_PLAIN: tuple[CaseNode, ...] = (("ConvTranspose", ("x0", "x1"), ("first",), _KERNEL),)
_INPUTS: Mapping[str, Fed | NDArray[Any]] = {
    "x0": Fed((1, 1, 4, 5)),
    "x1": np.ones((1, 1, 2, 2), np.float32),
}


@fix_rule(
    "conv-transpose-not-set",
    ("ConvTranspose",),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "ConvTranspose without auto_pad after one with output_shape",
            "位于带 output_shape 的 ConvTranspose 之后、未设置 auto_pad 的 ConvTranspose",
        ),
        after=Words("ConvTranspose with auto_pad NOTSET", "写明 auto_pad 为 NOTSET 的 ConvTranspose"),
        condition=Words("it has no output_shape", "未设置 output_shape"),
    ),
    example=case_after(_SHAPED, "ConvTranspose", ("first", "x1"), _INPUTS, attributes=_KERNEL),
    near_miss=case_after(_PLAIN, "ConvTranspose", ("first", "x1"), _INPUTS, attributes=_KERNEL),
    deviations=("ConvTranspose/marked-by-node-before",),
)  # fmt: skip
def conv_transpose_not_set(site: Site) -> Sequence[str]:
    """Write the operator with auto_pad as it is without the attribute."""
    stated = site.node.attributes
    meant_for("auto_pad" not in stated and not stated.get("output_shape"))
    inputs = [site.name(at) for at in range(len(site.node.inputs))]
    return site.again(inputs, auto_pad="NOTSET")
