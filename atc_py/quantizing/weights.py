"""Scales and codes of a layer's weights."""

import numpy as np
from numpy.typing import NDArray

from atc_py.onnx_graph.graph import OnnxGraph
from atc_py.quantizing.calibrate.value_range import EPSILON
from atc_py.quantizing.calibrate.weights import (
    quantized_weights,
    scales_that_hold_bias,
    weight_scales,
)
from atc_py.quantizing.layers.layers import FloatLayer

_MOST_CODE = 127

_LARGEST_PRODUCT = 128 * 128
"""Of two codes; that many of them, times the taps, the sum of a channel may take beside the bias."""


def layer_weights(graph: OnnxGraph, layer: FloatLayer) -> NDArray[np.float32]:
    """The weights of a layer; the one weight 1 of a pool."""
    if layer.is_pool:
        return np.ones(layer.shape, np.float32)
    const = graph.consts[layer.weight]
    result = np.array(const.numpy(), np.float32)
    const.release()
    return result


def layer_bias(graph: OnnxGraph, layer: FloatLayer) -> NDArray[np.float32] | None:
    """The constant bias of a layer, one number per output channel; None where it has none.

    An addend of Gemm that differs from row to row is no bias.
    """
    const = graph.consts.get(layer.bias)
    if const is None:
        return None
    found = np.array(const.numpy(), np.float32)
    if found.size not in {1, layer.channels} or found.shape[-1:] not in {
        (),
        (1,),
        (layer.channels,),
    }:
        return None
    spread: NDArray[np.float32] = np.broadcast_to(found.reshape(-1), (layer.channels,)).copy()
    return spread


def weight_numbers(
    graph: OnnxGraph,
    layer: FloatLayer,
    data_scale: float,
    method: str,
    *,
    per_channel: bool = True,
) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Scales, one per index of the layer's axis, and codes of its weights.

    Without `per_channel` there is one scale, without axes. Scales are raised where sums with the
    bias would leave int32.
    """
    weights = layer_weights(graph, layer)
    if layer.is_pool:
        return np.ones_like(weights), np.ones(weights.shape, np.int8)
    place = layer.node.place.with_field(f"weights {layer.weight}")
    scales = weight_scales(weights, layer.axis if per_channel else None, method, place)
    # Weights that are too small for a scale keep some codes with the least one; with 1, which they
    # would get, they would all be 0.
    others = tuple(at for at in range(weights.ndim) if at != layer.axis)
    peaks = np.abs(weights).max(axis=others if scales.size > 1 else None, initial=0)
    small = (peaks > 0) & (peaks < _MOST_CODE * EPSILON)
    scales = np.where(small.reshape(scales.shape), np.float32(EPSILON), scales)
    bias = layer_bias(graph, layer)
    if bias is not None:
        per_scale = np.abs(bias).reshape(-1, scales.size).max(axis=0)
        taps = weights.size // scales.size
        room = np.float64(data_scale) * scales * (taps * _LARGEST_PRODUCT)
        held = scales_that_hold_bias(per_scale + room, data_scale, scales)
        scales = np.where(per_scale > 0, held, scales)
    scales = scales if per_channel else scales.reshape(())
    return scales, weight_codes(weights, layer, scales)


def weight_codes(
    weights: NDArray[np.float32], layer: FloatLayer, scales: NDArray[np.float32]
) -> NDArray[np.int8]:
    return quantized_weights(weights, scales, None if scales.size == 1 else layer.axis)
