"""Convolutions, pools and resizing of volumes and signals."""

from typing import Any

import numpy as np

from tests.fuzz.drafts import Draft
from tests.fuzz.forms.registry import FLOATS, any_shape, maybe, near, newer_form

_AXES = (3, 3, 3, 3, 1)


def _window(draft: Draft, axes: int) -> dict[str, Any]:
    """Return strides, pads and auto_pad."""
    rng = draft.rng
    if rng.random() < 0.3:
        padding: dict[str, Any] = {"auto_pad": rng.choice(("SAME_UPPER", "SAME_LOWER", "VALID"))}
    else:
        pads = [rng.choice((0, 0, 1, 1, 2)) for _ in range(2 * axes)]
        padding = {"pads": maybe(draft, 0.6, pads)}
    strides = [rng.choice((1, 1, 2, 3, 64)) for _ in range(axes)]
    return {"strides": maybe(draft, 0.6, strides), **padding}


@newer_form("Conv", "ConvTranspose")
def _deep_convolution(draft: Draft, op: str) -> None:
    rng = draft.rng
    axes, group = rng.choice(_AXES), rng.choice((1, 1, 2, 3))
    each, out = rng.choice((1, 2, 16)), rng.choice((1, 2, 5))
    kernel = [rng.choice((1, 2, 3)) for _ in range(axes)]
    dtype = rng.choice(FLOATS)
    spatial = any_shape(draft, axes)
    x = draft.fed([rng.choice((1, 2)), near(draft, each * group, 1), *spatial], dtype)
    filters = (out * group, each) if op == "Conv" else (each * group, out)
    inputs = [x, draft.tensor([*filters, *kernel], dtype)]
    if rng.random() < 0.4:
        inputs.append(draft.tensor([out * group], dtype))
    attributes = _window(draft, axes)
    attributes["group"] = group if group > 1 else None
    attributes["dilations"] = maybe(draft, 0.3, [rng.choice((1, 1, 2)) for _ in range(axes)])
    attributes["kernel_shape"] = maybe(draft, 0.8, kernel)
    if op == "ConvTranspose":
        extra = [rng.choice((0, 1)) for _ in range(axes)]
        attributes["output_padding"] = maybe(draft, 0.3, extra)
        wanted = [rng.randint(1, 12) for _ in range(axes)]
        attributes["output_shape"] = maybe(draft, 0.15, wanted)
    draft.node(op, inputs, **attributes)


@newer_form("AveragePool", "MaxPool")
def _deep_pool(draft: Draft, op: str) -> None:
    rng = draft.rng
    axes = rng.choice(_AXES)
    attributes = _window(draft, axes)
    attributes["kernel_shape"] = [rng.choice((1, 2, 2, 3, 5, 16)) for _ in range(axes)]
    if draft.opset >= 10:
        attributes["ceil_mode"] = maybe(draft, 0.4, 1)
    if op == "AveragePool":
        attributes["count_include_pad"] = maybe(draft, 0.3, 1)
    draft.node(op, [draft.fed(any_shape(draft, axes + 2), rng.choice(FLOATS))], **attributes)


@newer_form("Resize")
def _deep_resize(draft: Draft, op: str) -> None:
    rng = draft.rng
    x = draft.fed(any_shape(draft, 5), rng.choice(FLOATS))
    scales = [1, 1, *(rng.choice((1, 2, 1.5, 0.5)) for _ in "dhw")]
    numbers = draft.const(np.array(scales), "float32")
    mode = rng.choice(("linear", "linear", "nearest", "cubic"))
    if draft.opset < 11:
        draft.node(op, [x, numbers], mode=mode)
        return
    how = rng.choice(("align_corners", "pytorch_half_pixel", "asymmetric", "half_pixel"))
    roi = draft.const(np.zeros(0), "float32")
    draft.node(op, [x, roi, numbers], mode=mode, coordinate_transformation_mode=how)
