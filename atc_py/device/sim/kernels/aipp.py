"""Preprocessing of pictures: a part of each, other colors, normalization, a frame.

A byte of a channel has one result in float16, so results are looked up in a table of 256. Colors
are converted in integers: `(s + 128) >> 8` of a sum of products is that sum divided by 256, rounded
half up.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, Rounding, kernel
from atc_py.device.sim.primitives.aipp_settings import (
    BATCH_BYTES,
    HEADER_BYTES,
    Preprocessing,
    from_buffer,
    from_node,
)
from atc_py.device.sim.typing_rules import require_rank
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

Array = NDArray[Any]


_BYTE = 255


def _aipp_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """Features for each picture; those of a dynamic node are what the model declares."""
    images, declared = node.x, node.outputs[0]
    if images.dtype is not DType.UINT8:
        raise NodeError(Text("images must be uint8, found {found}", found=images))
    if declared.dtype not in {DType.FLOAT16, DType.UINT8}:
        raise NodeError(Text("features are float16 or uint8, found {found}", found=declared))
    mode = node.text("aipp_mode")
    if mode == "dynamic":
        return (_dynamic_type(node, declared),)
    if mode != "static" or node.input(1) is not None:
        raise NodeError(Text("aipp_mode must be static without params, or dynamic with them"))
    settings = from_node(node)
    batch, rest = divmod(images.elements, settings.nbytes)
    if rest or not batch or batch != images.shape[0]:
        text = Text("images of {nbytes} bytes each do not fill {images}")
        raise NodeError(text.with_values(nbytes=settings.nbytes, images=images))
    return (TensorFacts(declared.dtype, (batch, *settings.shape)),)


def _dynamic_type(node: NodeView, declared: TensorFacts) -> TensorFacts:
    params = node.required(1)
    require_rank(declared, 4, "features")
    if declared.is_open:
        text = Text("features of dynamic AIPP must have known dims, found {found}")
        raise NodeError(text.with_values(found=declared))
    wanted = HEADER_BYTES + BATCH_BYTES * declared.shape[0]
    if params.dtype is not DType.UINT8 or params.elements != wanted:
        text = Text("params must be {wanted} bytes, found {found}")
        raise NodeError(text.with_values(wanted=wanted, found=params))
    return declared


@kernel("Aipp", _aipp_types, rounding=Rounding.ON_GRID)
def aipp(call: Call) -> None:
    """Preprocess each picture with the settings of the node, or with its own of `params`."""
    data, count = call.x.reshape(-1), len(call.out)
    if call.node.text("aipp_mode") == "static":
        settings = [from_node(call.node)] * count
    else:
        settings = _dynamic_settings(call, count)
    step = settings[0].nbytes if settings else 0

    def preprocess(start: int, stop: int) -> None:
        for at in range(start, stop):
            _one(data[at * step : (at + 1) * step], settings[at], call.out[at])

    call.workers.split(count, preprocess)


def _dynamic_settings(call: Call, count: int) -> list[Preprocessing]:
    params = np.ascontiguousarray(call.input(1)).reshape(-1)
    stated = int(params.view(np.int8)[4])
    if stated != count:
        text = Text("params are for {stated} pictures, but the model takes {count}")
        raise NodeError(text.with_values(stated=stated, count=count))
    settings = [from_buffer(params, at) for at in range(count)]
    for at, each in enumerate(settings):
        if each.shape != call.out.shape[1:]:
            text = Text("params make {shape} of picture {n}, but the model takes {wanted}")
            raise NodeError(
                text.with_values(shape=list(each.shape), n=at, wanted=list(call.out.shape[1:]))
            )
    if count and count * settings[0].nbytes > call.x.size:
        text = Text("{count} pictures of {nbytes} bytes are larger than max_src_image_size {most}")
        raise NodeError(text.with_values(count=count, nbytes=settings[0].nbytes, most=call.x.size))
    return settings


def _one(data: Array, settings: Preprocessing, out: Array) -> None:
    pads, area = settings.pads, settings.area
    if out.shape[1:] != (area.height, area.width):
        out.fill(_padding(pads.value, out.dtype))
    inside = out[:, pads.top : pads.top + area.height, pads.left : pads.left + area.width]
    channels: Sequence[Array] = settings.layout.load(data, settings.size, area, settings.skip)
    if settings.swap and len(channels) == 3:  # noqa: PLR2004  (one channel has no other to swap with)
        first, second, third = channels
        chroma = settings.layout.chroma
        channels = (first, third, second) if chroma else (third, second, first)
    if settings.csc:
        channels = _converted(channels, settings)
    for number, (channel, features) in enumerate(zip(channels, inside, strict=False)):
        if out.dtype == np.uint8:
            features[...] = channel
        else:
            _table(settings, number).take(channel, out=features, mode="clip")


def _converted(channels: Sequence[Array], settings: Preprocessing) -> list[Array]:
    """Channels in other colors, one where only the first row counts."""
    terms = [
        channel.astype(np.int32) - bias
        for channel, bias in zip(channels, settings.input_bias, strict=True)
    ]
    found = []
    for row, bias in zip(settings.matrix, settings.output_bias, strict=True):
        total = terms[0] * row[0] + terms[1] * row[1] + terms[2] * row[2]
        np.right_shift(total + 128, 8, out=total)
        found.append(np.clip(total + bias, 0, _BYTE))
        if settings.is_gray:
            break
    return found


def _table(settings: Preprocessing, channel: int) -> Array:
    """The float16 feature of each byte of a channel, each step rounded."""
    with np.errstate(over="ignore", invalid="ignore"):
        centered = (np.arange(256) - settings.mean[channel]).astype(np.float16)
        features: Array = (centered - settings.low[channel]) * settings.factor[channel]
    return features.astype(np.float32)


def _padding(value: float, dtype: np.dtype[Any]) -> Any:
    """The padding value as features have it: clipped to bytes, or float16."""
    if dtype == np.uint8:
        return int(min(max(value, 0), _BYTE))
    with np.errstate(over="ignore"):
        return np.float32(value).astype(np.float16)
