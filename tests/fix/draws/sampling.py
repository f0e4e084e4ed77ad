"""Random cases of the rules that sample images between their pixels."""

from typing import Any

import numpy as np

from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from tests.fix.draws import draws
from tests.fix.draws.pools import numbers


@draws("grid-sample-as-gather")
def grid_sample_as_gather(rng: np.random.Generator) -> RuleCase:
    axes = int(rng.integers(2, 4))
    mode = str(rng.choice(["linear", "nearest", *(["cubic"] if axes == 2 else [])]))
    batch = int(rng.integers(1, 3))
    dims = (batch, int(rng.integers(1, 4)), *numbers(rng, 2, 7, axes))
    grid = (batch, *numbers(rng, 1, 6, axes), axes)
    attributes: dict[str, Any] = {
        "mode": mode,
        "padding_mode": str(rng.choice(["zeros", "border", "reflection"])),
        "align_corners": int(rng.integers(2)),
    }
    return RuleCase("GridSample", (Fed(dims), Fed(grid)), attributes, opset=20)


@draws("deform-conv-as-gather")
def deform_conv_as_gather(rng: np.random.Generator) -> RuleCase:
    group, offset_group = numbers(rng, 1, 3, 2)
    channels = 2 * int(rng.integers(1, 3))
    taps, strides, dilations = (numbers(rng, 1, 4, 2) for _ in range(3))
    pads = numbers(rng, 0, 3, 4)
    size = [
        (tap - 1) * by + 1 + int(rng.integers(0, 4))
        for tap, by in zip(taps, dilations, strict=True)
    ]
    counts = [
        (size[at] + pads[at] + pads[2 + at] - (taps[at] - 1) * dilations[at] - 1) // strides[at] + 1
        for at in range(2)
    ]
    batch, filters = int(rng.integers(1, 3)), group * int(rng.integers(1, 3))
    places = offset_group * taps[0] * taps[1]
    inputs: list[Any] = [
        Fed((batch, channels, *size)),
        data(filters, channels // group, *taps),
        Fed((batch, 2 * places, *counts)),
        data(filters) if rng.integers(2) else None,
    ]
    if rng.integers(2):
        inputs.append(Fed((batch, places, *counts)))
    attributes = {
        "group": group, "offset_group": offset_group, "pads": pads, "strides": strides,
        "dilations": dilations, "kernel_shape": taps,
    }  # fmt: skip
    return RuleCase("DeformConv", tuple(inputs), attributes, opset=19)


@draws("affine-grid-as-product")
def affine_grid_as_product(rng: np.random.Generator) -> RuleCase:
    axes, batch = int(rng.integers(2, 4)), int(rng.integers(1, 4))
    corners = {"align_corners": int(rng.integers(2))}
    sizes = np.array([batch, 1, *numbers(rng, 1 + corners["align_corners"], 6, axes)])
    fed = Fed((batch, axes, axes + 1))
    return RuleCase("AffineGrid", (fed, ConstInput(sizes)), corners, opset=20)


@draws("roi-align-as-gather")
def roi_align_as_gather(rng: np.random.Generator) -> RuleCase:
    batch, count = numbers(rng, 1, 4, 2)
    dims = (batch, int(rng.integers(1, 4)), *numbers(rng, 2, 9, 2))
    corners = rng.uniform(-4, 14, (count, 4)).astype(np.float32)
    corners[:, 2:] = corners[:, :2] + np.abs(corners[:, 2:])
    images = rng.integers(0, batch, count)
    attributes = {
        "output_height": int(rng.integers(1, 4)),
        "output_width": int(rng.integers(1, 4)),
        "sampling_ratio": int(rng.integers(1, 4)),
        "spatial_scale": float(rng.choice([1.0, 0.5])),
    }
    inputs = (Fed(dims), ConstInput(corners), ConstInput(images))
    return RuleCase("RoiAlign", inputs, attributes, opset=16)
