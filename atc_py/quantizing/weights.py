"""Scales and codes of a layer's weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from atc_py.frontend.folding.graph import WorkGraph
    from atc_py.frontend.quantizing.layers import FloatLayer

__all__ = ["weight_numbers"]


def weight_numbers(
    graph: WorkGraph, layer: FloatLayer, data_scale: float, method: str
) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Return scales, one per output channel, and codes of a layer's weights."""
    weights = graph.consts[layer.weight].numpy().astype(np.float32)
    others = tuple(at for at in range(weights.ndim) if at != layer.axis)
    largest = np.abs(weights).max(others, keepdims=True)
    scale = np.where(largest > 0, largest / np.float32(127), np.float32(1)).astype(np.float32)
    codes = np.clip(np.rint(weights / scale), -127, 127).astype(np.int8)
    return scale.reshape(-1), codes
