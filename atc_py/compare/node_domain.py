"""The domain of a node: elements for which ONNX says what its result is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx
    from numpy.typing import NDArray

__all__ = ["defined_elements"]


def defined_elements(
    nodes: Sequence[onnx.NodeProto], feeds: Mapping[str, NDArray[Any]], result: NDArray[Any]
) -> NDArray[np.bool_] | None:
    """Return True for the elements of a result that ONNX defines; None for all.

    A Cast of floats to integers is undefined beyond the range of these; random numbers are the
    engine's own.
    """
    if len(nodes) == 1 and nodes[0].op_type.startswith("Random"):
        return np.zeros(result.shape, np.bool_)
    if len(nodes) != 1 or nodes[0].op_type != "Cast" or result.dtype.kind not in "iu":
        return None
    x = feeds.get(nodes[0].input[0])
    if x is None or x.dtype.kind != "f" or x.shape != result.shape:
        return None
    limits = np.iinfo(result.dtype)
    whole = np.trunc(x.astype(np.float64))
    return np.asarray((whole >= limits.min) & (whole <= limits.max))
