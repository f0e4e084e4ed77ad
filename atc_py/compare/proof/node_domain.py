"""The domain of a node: elements for which ONNX says what its result is."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.compare.proof.node_group import NodeGroup

_TERMS: Mapping[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "ReduceL1": np.abs,
    "ReduceL2": np.square,
    "ReduceSumSquare": np.square,
}
"""Reductions that add up what they compute of each element."""


def defined_elements(
    group: NodeGroup, feeds: Mapping[str, NDArray[Any]], result: NDArray[Any]
) -> NDArray[np.bool_] | None:
    """True for the elements of a result that ONNX defines; None for all.

    A Cast of floats to integers is undefined beyond the range of these, and so is a reduction of
    integers whose terms add up beyond it: onnxruntime saturates, other engines wrap around. Random
    numbers are the engine's own.
    """
    if len(group.nodes) != 1:
        return None
    (node,) = group.nodes
    if node.op_type.startswith("Random"):
        return np.zeros(result.shape, np.bool_)
    x = feeds.get(node.input[0]) if node.input else None
    if x is None or result.dtype.kind not in "iu":
        return None
    if node.op_type in _TERMS and x.dtype == result.dtype:
        return _sums_in_range(x, _TERMS[node.op_type], result)
    if node.op_type != "Cast" or x.dtype.kind != "f" or x.shape != result.shape:
        return None
    limits = np.iinfo(result.dtype)
    whole = np.trunc(x.astype(np.float64))
    return np.asarray((whole >= limits.min) & (whole <= limits.max))


def _sums_in_range(
    x: NDArray[Any], term: Callable[[NDArray[Any]], NDArray[Any]], result: NDArray[Any]
) -> NDArray[np.bool_]:
    """Return where sums of terms are in range: each by itself where none is added, else all or none."""
    terms, most = term(x.astype(np.float64)), np.iinfo(result.dtype).max
    if result.size == x.size:
        return np.asarray(terms.reshape(result.shape) <= most)
    return np.full(result.shape, bool(terms.sum() <= most))
