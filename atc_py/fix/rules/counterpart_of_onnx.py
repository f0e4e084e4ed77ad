"""Rule counterpart-of-onnx: operators of onnxruntime that ONNX has by another name or in another form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_PADS_AS_INPUT = 11


def _expand_dims(site: Site) -> str:
    """Return the input with one more axis."""
    rank = len(site.dims(0))
    axis = int(site.constant(1).reshape(-1)[0])
    return site.unsqueeze(site.name(0), [axis % (rank + 1)])


def _gather_nd(site: Site) -> str:
    """Return the slices that the indices select."""
    return site.op("GatherND", [site.name(0), site.name(1)])


def _pad(site: Site) -> str:
    """Return the padded input."""
    require(site.opset >= _PADS_AS_INPUT, "the opset is 11 or more", "opset 不低于 11")
    pads = site.const(site.constant(1).reshape(-1), label="pads")
    inputs = [site.name(0), pads]
    if site.tensor(2) is not None:
        value = site.constant(2).reshape(-1)[0]
        inputs.append(site.const(value, site.element, "value"))
    return site.op("Pad", inputs, mode=site.text("mode", "constant"))


def _conv_transpose(site: Site) -> str:
    """Return the transposed convolution with its pads as an attribute."""
    given: dict[str, Any] = {**site.node.attributes}
    if given.get("auto_pad", "NOTSET") == "NOTSET":
        given["pads"] = [int(each) for each in site.constant(2).reshape(-1)]
    inputs = [site.name(at) for at in (0, 1, 3) if site.tensor(at) is not None]
    return site.op("ConvTranspose", inputs, **given)


_FORMS: dict[str, Callable[[Site], str]] = {
    "ConvTransposeWithDynamicPads": _conv_transpose,
    "ExpandDims": _expand_dims,
    "GatherND": _gather_nd,
    "Pad": _pad,
}


@fix_rule(
    "counterpart-of-onnx",
    [f"com.microsoft::{name}" for name in _FORMS],
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "ConvTransposeWithDynamicPads, ExpandDims, GatherND or Pad of onnxruntime",
            "onnxruntime 的 ConvTransposeWithDynamicPads、ExpandDims、GatherND 或 Pad",
        ),
        after=Words(
            "ConvTranspose, Unsqueeze, GatherND or Pad", "ConvTranspose、Unsqueeze、GatherND 或 Pad"
        ),
        condition=Words("pads and axes are constant", "填充与轴为常量"),
    ),
    example=RuleCase(
        "ConvTransposeWithDynamicPads",
        (Fed((1, 2, 4, 4)), data(2, 3, 3, 3), ConstInput(np.array([1, 1, 1, 1]))),
        {"strides": [2, 2]},
        opset=1,
        domain="com.microsoft",
    ),
    near_miss=None,
)
def counterpart_of_onnx(site: Site) -> Sequence[str]:
    """Write the operator of ONNX."""
    return [_FORMS[site.node.op_type](site)]
