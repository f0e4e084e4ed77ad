"""Random cases of the rules of transposed convolutions and of layouts of pixels."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from atc_py.tensor.dtypes import DType
from tests.fix.draws import draws
from tests.fix.draws.pools import numbers


def transposed(rng: np.random.Generator, axes: int, *, dilated: bool, form: str) -> RuleCase:
    """Return a ConvTranspose with random groups, strides and, in half of the cases, a bias.

    Args:
        rng: source of the numbers.
        axes: number of axes.
        dilated: whether taps are apart.
        form: "pads", "shape" or "auto": how the dims of the result are stated.
    """
    group, size, taps = int(rng.integers(1, 3)), numbers(rng, 1, 6, axes), numbers(rng, 1, 4, axes)
    strides = numbers(rng, 1, 4, axes)
    dilations = numbers(rng, 1, 4, axes) if dilated else [1] * axes
    if dilated:
        dilations[-1], taps[-1] = max(dilations[-1], 2), max(taps[-1], 2)
    extra = [int(rng.integers(0, max(step, 1))) for step in strides]
    full = _full(size, taps, strides, dilations)
    attributes: dict[str, Any] = {"kernel_shape": taps, "strides": strides, "group": group}
    if dilated:
        attributes["dilations"] = dilations
    if form == "pads":
        begins = [int(rng.integers(0, max(each // 2, 1))) for each in full]
        ends = [int(rng.integers(0, max(each // 2, 1))) for each in full]
        attributes["pads"], attributes["output_padding"] = [*begins, *ends], extra
    elif form == "shape":
        attributes["output_shape"] = [max(each - int(rng.integers(0, 4)), 1) for each in full]
        if rng.integers(2):
            attributes["auto_pad"] = str(rng.choice(["SAME_UPPER", "SAME_LOWER"]))
    else:
        attributes["auto_pad"] = str(rng.choice(["SAME_UPPER", "SAME_LOWER"]))
        attributes["strides"] = [min(pair) for pair in zip(strides, taps, strict=True)]
    channels, filters = group * int(rng.integers(1, 3)), int(rng.integers(1, 3))
    inputs: list[Any] = [
        Fed((int(rng.integers(1, 3)), channels, *size)),
        data(channels, filters, *taps),
        *([data(filters * group)] if rng.integers(2) else []),
    ]
    return RuleCase("ConvTranspose", tuple(inputs), attributes)


def _full(
    size: Sequence[int], taps: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> list[int]:
    axes = zip(size, taps, strides, dilations, strict=True)
    return [(dim - 1) * step + (tap - 1) * by + 1 for dim, tap, step, by in axes]


@draws("conv-transpose-explicit")
def conv_transpose_explicit(rng: np.random.Generator) -> RuleCase:
    return transposed(rng, int(rng.integers(1, 3)), dilated=True, form="shape")


@draws("conv-transpose-spread-filter")
def conv_transpose_spread_filter(rng: np.random.Generator) -> RuleCase:
    form = str(rng.choice(["pads", "shape"]))
    return transposed(rng, int(rng.integers(1, 3)), dilated=True, form=form)


@draws("conv-transpose-of-volumes")
def conv_transpose_of_volumes(rng: np.random.Generator) -> RuleCase:
    form = str(rng.choice(["pads", "shape", "auto"]))
    return transposed(rng, 3, dilated=form != "auto" and bool(rng.integers(2)), form=form)


@draws("col2im-as-conv-transpose")
def col2im_as_conv_transpose(rng: np.random.Generator) -> RuleCase:
    axes = int(rng.integers(1, 3))
    block, strides, dilations = (numbers(rng, 1, 4, axes) for _ in range(3))
    pads = [int(rng.integers(0, tap)) for tap in (*block, *block)]
    spans = [(tap - 1) * by + 1 for tap, by in zip(block, dilations, strict=True)]
    image = [
        max(span - pads[at] - pads[axes + at], 0) + int(rng.integers(1, 5))
        for at, span in enumerate(spans)
    ]
    counts = [
        (image[at] + pads[at] + pads[axes + at] - spans[at]) // strides[at] + 1
        for at in range(axes)
    ]
    lead = numbers(rng, 1, 3, 2) if axes == 2 else [int(rng.integers(1, 3)), 1]
    fed = Fed((lead[0], lead[1] * int(np.prod(block)), int(np.prod(counts))))
    shapes = [ConstInput(np.array(each)) for each in (image, block)]
    attributes = {"pads": pads, "strides": strides, "dilations": dilations}
    return RuleCase("Col2Im", (fed, *shapes), attributes, opset=18)


@draws("depth-space-as-transpose")
def depth_space_as_transpose(rng: np.random.Generator) -> RuleCase:
    block = int(rng.integers(1, 4))
    n, c, h, w = numbers(rng, 1, 4, 4)
    fed = Fed((n, c * block * block, h, w), DType.BOOL)
    mode = str(rng.choice(["DCR", "CRD"]))
    return RuleCase("DepthToSpace", (fed,), {"blocksize": block, "mode": mode})
