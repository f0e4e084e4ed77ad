"""Cross-layer equalization: factors moved between layers, so that their channels have equal ranges.

Layers follow one another directly or across functions f with f(s x) = s f(x) for s > 0: Relu,
LeakyRelu, PRelu, pools. Output channels of one are divided by factors, the same input channels of
the next are multiplied, and the network computes what it did:

    a pair:                      s = sqrt(r1 / r2)
    with a depthwise between:    s1 = r1 / (r1 r2 r3)^(1/3),  s2 = (r1 r2 r3)^(1/3) / r3

r1, r2, r3 are the largest |w| of a channel: of outputs, then of inputs. Source: Nagel et al.,
Data-Free Quantization Through Weight Equalization and Bias Correction, 2019, section 4.1; AIMET.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.diag.codes import BAD_OPTION
from atc_py.quantizing.calibrate.weights import channel_rows
from atc_py.system.structs import replace
from atc_py.text import Text

_ROUNDS = 20
_SETTLED = 1e-4
"""A round whose factors are all this near to 1 is the last."""


class ChannelLayer(msgspec.Struct, frozen=True, eq=False):
    """A linear layer as equalization sees it.

    Attributes:
        weight: the weights; float32.
        bias: one number for each output channel, or None.
        output_axis: axis of the weights with output channels (0 for Conv, 1 for MatMul).
        input_axis: axis with the input channels of a group (1 for Conv, 0 for MatMul).
        groups: groups of the output channels, each with inputs of its own. With more than one,
            output_axis is 0 and input_axis 1, as Conv has them.
    """

    weight: NDArray[np.float32]
    bias: NDArray[np.float32] | None = None
    output_axis: int = 0
    input_axis: int = 1
    groups: int = 1

    @property
    def is_depthwise(self) -> bool:
        """True if each channel is computed from the channel of the same number alone."""
        return self.groups > 1 and self.weight.shape[0] == self.groups and self.weight.shape[1] == 1


def equalized(layers: Sequence[ChannelLayer]) -> tuple[ChannelLayer, ...]:
    """Layers that follow one another with equal ranges on both sides of each step.

    Channels that are 0 on one side keep their factor of 1.

    Raises:
        AtcError: BAD_OPTION if channels of two layers do not fit.
    """
    found = list(layers)
    for _ in range(_ROUNDS):
        largest = 0.0
        for at in range(len(found) - 1):
            factors = _step(found, at)
            largest = max(largest, float(np.abs(np.log(factors)).max(initial=0)))
        if largest < _SETTLED:
            break
    return tuple(found)


def output_peaks(layer: ChannelLayer) -> NDArray[np.float32]:
    """The largest |w| of each output channel."""
    return _peaks(channel_rows(layer.weight, layer.output_axis))


def input_peaks(layer: ChannelLayer) -> NDArray[np.float32]:
    """The largest |w| of each input channel, the groups one after the other."""
    if layer.groups == 1:
        return _peaks(channel_rows(layer.weight, layer.input_axis))
    grouped = layer.weight.reshape(layer.groups, -1, *layer.weight.shape[1:])
    return np.concatenate([_peaks(channel_rows(group, layer.input_axis)) for group in grouped])


def high_bias(beta: NDArray[Any], gamma: NDArray[Any]) -> NDArray[np.float32]:
    """The part of a bias that Relu lets through nearly always: max(0, beta - 3 |gamma|).

    beta and gamma are shift and scale of the BatchNormalization that was folded in.
    """
    kept: NDArray[np.float32] = np.maximum(beta - 3 * np.abs(gamma), 0).astype(np.float32)
    return kept


def _peaks(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    peaks: NDArray[np.float32] = np.abs(rows).max(axis=1, initial=0)
    return peaks


def _step(layers: list[ChannelLayer], at: int) -> NDArray[np.float64]:
    """Equalize the layers at `at` and after it in place; return the factors."""
    first, second = layers[at], layers[at + 1]
    r1, r2 = (each.astype(np.float64) for each in (output_peaks(first), input_peaks(second)))
    if r1.shape != r2.shape:
        raise BAD_OPTION.error(
            Text(
                "a layer with {size} output channels is followed by one with {size_2} inputs",
                size=r1.size,
                size_2=r2.size,
            )
        )
    if second.is_depthwise and at + 2 < len(layers):
        r3 = input_peaks(layers[at + 2]).astype(np.float64)
        mean = np.cbrt(r1 * r2 * r3)
        layers[at], layers[at + 1] = _moved(first, second, _ratio(r1, mean))
        after = _ratio(mean, r3)
        layers[at + 1], layers[at + 2] = _moved(layers[at + 1], layers[at + 2], after)
        return np.concatenate([_ratio(r1, mean), after])
    factors = np.sqrt(_ratio(r1, r2))
    layers[at], layers[at + 1] = _moved(first, second, factors)
    return factors


def _ratio(upper: NDArray[np.float64], lower: NDArray[np.float64]) -> NDArray[np.float64]:
    """Upper / lower, and 1 where either is 0."""
    both = (upper > 0) & (lower > 0)
    return np.divide(upper, lower, out=np.ones_like(upper), where=both)


def _moved(
    first: ChannelLayer, second: ChannelLayer, factors: NDArray[np.float64]
) -> tuple[ChannelLayer, ChannelLayer]:
    """Two layers with factors moved from the first into the second."""
    single = factors.astype(np.float32)
    shape = [1] * first.weight.ndim
    shape[first.output_axis] = -1
    divided = replace(
        first,
        weight=first.weight / single.reshape(shape),
        bias=None if first.bias is None else first.bias / single,
    )
    return divided, replace(second, weight=_times_inputs(second, single))


def _times_inputs(layer: ChannelLayer, factors: NDArray[np.float32]) -> NDArray[np.float32]:
    shape = [1] * layer.weight.ndim
    shape[layer.input_axis] = -1
    if layer.groups == 1:
        return layer.weight * factors.reshape(shape)
    grouped = layer.weight.reshape(layer.groups, -1, *layer.weight.shape[1:])
    by_group = factors.reshape(layer.groups, *shape)
    return (grouped * by_group).reshape(layer.weight.shape)
