"""Biases of int8 layers: as int32 sums, and corrected by the mean error of a layer's output.

The bias of channel c is round(b_c / (s_d * s_w)), half to even, without a term for the offset of the
data: the form of AMCT's files, which docs/quantization.md calls unfolded. Where it leaves int32,
onnxruntime's rule raises s_w of the channel.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.diag import Place
from atc_py.diag.codes import SCALE_OUT_OF_RANGE
from atc_py.text import Text

_LARGEST = 2**31 - 1
_MARGIN = 1.0001


def deq_scales(scale_d: float, scales_w: NDArray[np.float32]) -> NDArray[np.float32]:
    """The factors of AscendDequant, s_d * s_w, float32."""
    factors: NDArray[np.float32] = np.float32(scale_d) * scales_w
    return factors


def scales_that_hold_bias(
    bias: NDArray[Any], scale_d: float, scales_w: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Scales of weights, raised where the bias of a channel would leave int32.

    The ratio is onnxruntime's: 1.0001 * |b| / (2^31 - 1) / (s_d * s_w), where that is above 1.
    """
    share = np.abs(bias.astype(np.float64)) / (float(scale_d) * scales_w.astype(np.float64))
    ratio = np.maximum(_MARGIN * share / _LARGEST, 1.0)
    if scales_w.size == 1:
        ratio = ratio.max(keepdims=True)
    return (scales_w * ratio.reshape(scales_w.shape)).astype(np.float32)


def quantized_bias(
    bias: NDArray[Any],
    scale_d: float,
    scales_w: NDArray[np.float32],
    place: Place | None = None,
) -> NDArray[np.int32]:
    """The bias as int32.

    Raises:
        AtcError: SCALE_OUT_OF_RANGE if it leaves int32.
    """
    exact = np.rint(bias.astype(np.float64) / deq_scales(scale_d, scales_w).astype(np.float64))
    outside = np.flatnonzero(~(np.abs(exact) <= _LARGEST))
    if outside.size:
        at = int(outside[0])
        raise SCALE_OUT_OF_RANGE.error(
            Text(
                "the bias of channel {at} is {flat} steps, more than int32 holds",
                at=at,
                flat=f"{exact.flat[at]:g}",
            ),
            place=place,
            help=Text("raise the scale of the channel's weights, or leave the layer in floats"),
        )
    return exact.astype(np.int32)


def bias_correction(
    original: NDArray[Any], quantized: NDArray[Any], axis: int = 1
) -> NDArray[np.float32]:
    """Return what the bias of each channel lacks: the mean of original - quantized output.

    Means are over every axis but `axis`, in float64. Samples of one shape are corrected by the
    mean of their corrections. Source: Nagel et al., Data-Free Quantization, 2019, section 4.2.
    """
    difference = original.astype(np.float64) - quantized.astype(np.float64)
    rows = np.moveaxis(difference, axis, 0).reshape(difference.shape[axis], -1)
    means: NDArray[np.float32] = rows.mean(axis=1).astype(np.float32)
    return means
