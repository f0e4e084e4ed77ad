"""Random cases of the rules of convolutions and pools."""

from typing import Any

import numpy as np

from atc_py.fix.case import Fed, RuleCase, data
from tests.fix.draws import draws


def convolution(
    rng: np.random.Generator, size: tuple[int, ...], taps: tuple[int, ...], **attributes: Any
) -> RuleCase:
    """Return a convolution with random batch, channels, groups and, in half of the cases, a bias."""
    group = int(rng.integers(1, 3))
    channels, filters = (group * int(each) for each in rng.integers(1, 4, 2))
    inputs: list[Any] = [
        Fed((int(rng.integers(1, 3)), channels, *size)),
        data(filters, channels // group, *taps, seed=int(rng.integers(1000))),
        *([data(filters)] if rng.integers(2) else []),
    ]
    return RuleCase("Conv", tuple(inputs), {"group": group, **attributes})


@draws("window-1d")
def window_1d(rng: np.random.Generator) -> RuleCase:
    taps, step, dilation = (int(each) for each in rng.integers(1, 4, 3))
    span = (taps - 1) * dilation + 1
    size = span + step + int(rng.integers(1, 20))
    pads = [int(each) for each in rng.integers(0, 3, 2)]
    return convolution(rng, (size,), (taps,), strides=[step], dilations=[dilation], pads=pads)


@draws("conv-stride-fold")
def conv_stride_fold(rng: np.random.Generator) -> RuleCase:
    step = int(rng.integers(64, 150))
    taps = int(rng.integers(1, 300))
    pads = [0, int(rng.integers(0, 200)), 0, int(rng.integers(0, 200))]
    size = taps + step * int(rng.integers(1, 4)) + int(rng.integers(0, step))
    if rng.integers(2):
        return convolution(rng, (1, size), (1, taps), strides=[1, step], pads=pads)
    taps = int(rng.integers(1, 100))
    rows, width = int(rng.integers(1, 3)), int(rng.integers(1, 100))
    strides = [step, int(rng.choice([1, 2, 70]))]
    pads = [int(rng.integers(0, 40)), 0, int(rng.integers(0, 40)), 1]
    tall = taps + step * int(rng.integers(1, 3)) + int(rng.integers(0, step))
    return convolution(rng, (tall, rows + width), (taps, rows), strides=strides, pads=pads)


@draws("conv-swap-axes")
def conv_swap_axes(rng: np.random.Generator) -> RuleCase:
    taps, width = (int(each) for each in rng.integers(1, 5, 2))
    step = int(rng.integers(1, 3))
    height = taps + step + int(rng.integers(0, 6))
    pads = [int(rng.integers(0, 2)), 0, int(rng.integers(0, 2)), 0]
    return convolution(rng, (height, width), (taps, width), strides=[step, 1], pads=pads)


@draws("conv-one-window")
def conv_one_window(rng: np.random.Generator) -> RuleCase:
    taps = [int(each) for each in rng.integers(1, 4, 2)]
    dilations = [int(each) for each in rng.integers(1, 3, 2)]
    pads = [int(rng.integers(0, tap)) for tap in (*taps, *taps)]
    spans = [(tap - 1) * dilation + 1 for tap, dilation in zip(taps, dilations, strict=True)]
    size = tuple(max(span + int(rng.integers(1, 4)), 2) for span in spans)
    strides = [dim + 5 for dim in size]
    return convolution(rng, size, tuple(taps), strides=strides, dilations=dilations, pads=pads)


@draws("average-as-global")
def average_as_global(rng: np.random.Generator) -> RuleCase:
    dims = (int(rng.integers(1, 4)), int(rng.integers(4097, 4500)))
    fed = Fed((1, int(rng.integers(1, 3)), *dims))
    return RuleCase("AveragePool", (fed,), {"kernel_shape": list(dims)}, opset=11)


@draws("conv-wide-kernel")
def conv_wide_kernel(rng: np.random.Generator) -> RuleCase:
    taps, step, rows = int(rng.integers(256, 600)), int(rng.integers(1, 4)), int(rng.integers(1, 3))
    by = int(rng.choice([1, 1, 2]))
    if rng.integers(3) == 0:
        taps, by = int(rng.integers(2, 5)), int(rng.integers(256, 400))
    size = (taps - 1) * by + 1 + step * int(rng.integers(1, 9)) + int(rng.integers(0, 3))
    pads = [0, int(rng.integers(0, 9)), 0, int(rng.integers(0, 9))]
    sizes, kernel, lists = (rows + 1, size), (rows, taps), ([1, step], [1, by])
    if rng.integers(2):
        sizes, kernel = sizes[::-1], kernel[::-1]
        lists, pads = (lists[0][::-1], lists[1][::-1]), [pads[1], 1, pads[3], 1]
    return convolution(rng, sizes, kernel, strides=lists[0], dilations=lists[1], pads=pads)


@draws("conv-far-pads")
def conv_far_pads(rng: np.random.Generator) -> RuleCase:
    taps = [int(each) for each in rng.integers(1, 5, 2)]
    size = tuple(tap + int(rng.integers(1, 9)) for tap in taps)
    pads = [int(each) for each in rng.integers(0, 3, 4)]
    pads[int(rng.integers(4))] = int(rng.integers(256, 400))
    return convolution(rng, size, tuple(taps), pads=pads)


@draws("conv-long-row")
def conv_long_row(rng: np.random.Generator) -> RuleCase:
    taps, step, dilation = (int(each) for each in rng.integers(1, 9, 3))
    pads = [0, int(rng.integers(0, 9)), 0, int(rng.integers(0, 9))]
    size = int(rng.integers(4100, 20000))
    lists = {"strides": [1, step], "dilations": [1, dilation], "pads": pads}
    return convolution(rng, (1, size), (1, taps), **lists)
