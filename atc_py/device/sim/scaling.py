"""What quantising kernels share: saturation, factors along channels, and what operands must be.

Integers saturate; NaN becomes 0, infinities the ends of the range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.deq_scale import channel_axis
from atc_py.device.sim.node import NodeError, TensorFacts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from atc_py.device.sim.node import NodeFacts
    from atc_py.dtypes import DType

    Floats = NDArray[np.float32]

__all__ = [
    "along_channels",
    "check_channels",
    "check_dtype",
    "check_scale",
    "clear_negative",
    "saturate",
]


def saturate(values: Floats, out: NDArray[Any]) -> None:
    """Whole numbers as the integers of `out`. Changes `values`."""
    limits = np.iinfo(out.dtype)
    np.copyto(values, 0, where=np.isnan(values))
    np.clip(values, limits.min, limits.max, out=values)
    np.copyto(out, values, casting="unsafe")


def clear_negative(values: Floats) -> None:
    """Negative values and -0 become 0, in place; NaN stays."""
    np.maximum(values, np.float32(0), out=values)
    values += np.float32(0)


def along_channels(parts: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
    """One element, or one for each channel of `x`, in a shape that broadcasts against `x`."""
    axis = channel_axis(x.shape, parts.size)
    if parts.size == 1 or axis is None:
        return parts.reshape((1,) * x.ndim)
    return parts.reshape(-1, *(1,) * (x.ndim - 1 - axis))


def check_scale(node: NodeFacts, name: str, *dtypes: DType) -> None:
    """Hold the second input to `dtypes`, and to one element or one for each channel of the first.

    Raises:
        NodeError: it has another dtype or another number of elements.
    """
    scale = node.required(1)
    check_dtype(scale.dtype, name, *dtypes)
    check_channels(node.x, scale, name)


def check_channels(x: TensorFacts, facts: TensorFacts, name: str) -> None:
    """Hold a tensor to one element or one for each channel of `x`.

    Raises:
        NodeError: it has another number of elements.
    """
    if facts.elements != 1 and channel_axis(x.shape, facts.elements) is None:
        raise NodeError(f"{name} must have 1 element or 1 for each channel of {x}, found {facts}")


def check_dtype(found: DType, name: str, *dtypes: DType) -> DType:
    """The dtype `found` of an operand or attribute, which must be one of `dtypes`.

    Raises:
        NodeError: it is another.
    """
    if found not in dtypes:
        listed = " or ".join(dtype.value for dtype in dtypes)
        raise NodeError(f"{name} must be {listed} on this device, found {found.value}")
    return found
