"""Rule stft-as-convolution: a short-time Fourier transform as a convolution with sines and cosines.

STFT-17 of ONNX: y[b, t, f] = sum over n of window[n] * x[b, t * step + n] * exp(-2 pi i f n / N).

The bound is that of the reference: onnxruntime's own transform of 400 elements is 3e-5 of the range off
what float64 gives, the product 2e-7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


_REAL = (2, 3)
"""Ranks of real signals: onnxruntime takes them without an axis for their one part, too."""


@fix_rule(
    "stft-as-convolution",
    ("STFT",),
    Exactness.BOUNDED,
    RuleText(
        before=Words("STFT of real signals", "实信号的 STFT"),
        after=Words(
            "Reshape, Conv whose filters are the window times cosines and sines, Reshape, Transpose",
            "Reshape、以加窗余弦与正弦为卷积核的 Conv、Reshape、Transpose",
        ),
        condition=Words(
            "step, window and length are constant, dims are known, the signal is real",
            "步长、窗与帧长为常量，形状已知，信号为实数",
        ),
        float16=Words(
            "inputs are rounded to 11 bits, sums are float32", "输入舍入为 11 位，累加为 float32"
        ),
    ),
    bound=1e-4,
    example=RuleCase(
        "STFT",
        (Fed((2, 60, 1)), ConstInput(np.array(8)), data(16), ConstInput(np.array(16))),
        opset=17,
    ),
    near_miss=RuleCase(
        "STFT", (Fed((2, 60, 2)), ConstInput(np.array(8)), data(16)), {"onesided": 0}, opset=17
    ),
)
def stft_as_convolution(site: Site) -> Sequence[str]:
    """Write the transform as one convolution of rows."""
    dims = site.shape(0)
    require(site.element in FLOATS, "the signal is float16 or float32", "信号为 float16 或 float32")
    require(len(dims) in _REAL and dims[2:] in {(), (1,)}, "the signal is real", "信号为实数")
    step = int(site.constant(1))
    window = site.constant(2).astype(np.float64) if site.tensor(2) is not None else None
    if site.tensor(3) is not None:
        length = int(site.constant(3))
    else:
        require(window is not None, "a window or a length is given", "给出窗或帧长")
        length = 0 if window is None else len(window)
    require(0 < length <= dims[1] and step > 0, "the signal has a frame", "信号至少含一帧")
    count = length // 2 + 1 if site.integer("onesided", 1) else length
    angles = 2 * np.pi * tables.outer(tables.arange(count), tables.arange(length)) / length
    waves = np.concatenate([np.cos(angles), -np.sin(angles)])
    if window is not None:
        require(len(window) == length, "the window has the length of a frame", "窗长等于帧长")
        waves *= window
    filters = site.const(waves.reshape(2 * count, 1, 1, length), site.element, "waves")
    rows = site.reshape(site.name(0), [dims[0], 1, 1, dims[1]])
    y = site.op("Conv", [rows, filters], kernel_shape=[1, length], strides=[1, step])
    frames = (dims[1] - length) // step + 1
    parts = site.reshape(y, [dims[0], 2, count, frames])
    return [site.transpose(parts, [0, 3, 2, 1])]
