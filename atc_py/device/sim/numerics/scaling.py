"""What quantizing kernels share: saturation, factors along channels, and what operands must be.

Integers saturate; NaN becomes 0, infinities the ends of the range.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.tensor.scale_words import channel_axis, is_a_list
from atc_py.text import Text

Floats: TypeAlias = NDArray[np.float32]
Flat: TypeAlias = Callable[[NDArray[Any], NDArray[Any], Floats], None]


_BLOCK = 32 * 1024
"""Elements at a time: operand, result and scratch of a block stay in the L2 cache.

One thread does all blocks, for the reason that `numerics` gives for rounding.
"""

_ZEROS = np.zeros(_BLOCK, np.float32)
_ZEROS.flags.writeable = False  # an array, because numpy's maximum with a scalar is 3 times slower

_LIMITS = {
    dtype: (np.float32(-(2 ** (dtype.bits - 1))), np.float32(2 ** (dtype.bits - 1) - 1))
    for dtype in (DType.INT4, DType.INT8, DType.INT16)
}
"""The ends of integer dtypes."""


def saturate(values: Floats, dtype: DType, out: NDArray[Any]) -> None:
    """Saturate whole numbers to `dtype`, in its carrier. Changes `values`, which are not empty."""
    low, high = _LIMITS[dtype]
    np.clip(values, low, high, out=values)
    if np.isnan(np.maximum.reduce(values, axis=None)):
        np.copyto(values, 0, where=np.isnan(values))
    np.copyto(out, values, casting="unsafe")


def clear_negative(values: Floats) -> None:
    """Set negative values and -0 to 0, in place; NaN stays. `values` are in C order."""
    flat = values.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        np.maximum(block, _ZEROS[: block.size], out=block)
        np.add(block, np.float32(0), out=block)


def by_flat_blocks(call: Call, formula: Flat) -> None:
    """Call `formula(x, out, scratch)` on flat blocks of the first input and the first output.

    It fills `out`, which has as many elements as x; `scratch` is float32 that nothing else uses.
    """
    x, out = call.x.reshape(-1), call.out.reshape(-1)
    scratch = call.workspace.take("block", (min(_BLOCK, x.size),), np.float32)
    for start in range(0, x.size, _BLOCK):
        target = out[start : start + _BLOCK]
        formula(x[start : start + _BLOCK], target, scratch[: target.size])


def along_channels(parts: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
    """One element, or one per channel of `x`, in a shape that broadcasts against `x`."""
    axis = channel_axis(x.shape, parts.size)
    if parts.size == 1 or axis is None:
        return parts.reshape((1,) * x.ndim)
    return parts.reshape(-1, *(1,) * (x.ndim - 1 - axis))


def check_scale(node: NodeView, name: str, *dtypes: DType) -> None:
    scale = node.required(1)
    check_dtype(scale.dtype, name, *dtypes)
    check_channels(node.x, scale, name)


def check_channels(x: TensorFacts, facts: TensorFacts, name: str) -> None:
    fits = channel_axis(x.shape, facts.elements) is not None and is_a_list(facts.shape)
    if facts.elements != 1 and not fits:
        text = Text("{name} must have 1 element or 1 for each channel of {x}, found {found}")
        raise NodeError(text.with_values(name=name, x=x, found=facts))


def check_dtype(found: DType, name: str, *dtypes: DType) -> DType:
    if found not in dtypes:
        listed = " or ".join(dtype.value for dtype in dtypes)
        text = Text("{name} must be {allowed} on this device, found {found}")
        raise NodeError(text.with_values(name=name, allowed=listed, found=found.value))
    return found
