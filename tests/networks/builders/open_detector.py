"""An anchor-free detector whose image is open in height and width, as exporters write it."""

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto

from tests.networks.builders.graph import Net

STRIDES = (8, 16, 32)
"""Pixels from cell to cell, by level."""

CLASSES = 4
BINS = 8
"""Bins of the distribution that says how far each side of a box is away."""


def build_open_detector(
    shape: Sequence[int | str] = (1, 3, "height", "width"), opset: int = 13, seed: int = 3
) -> onnx.ModelProto:
    """Build images -> boxes and scores [n, 4 + classes, cells].

    The decode head works its grid of cells out of the shapes of the features: Shape, Gather, Mul of
    int64, Range, ConstantOfShape and Expand, none of which is left once height and width are fixed.
    """
    net = Net("open_detector", opset, seed)
    image = net.input("images", np.float32, shape)
    features = _pyramid(net, image)
    rows = [_head(net, level) for level in features]
    flat = [net.view(row, net.dim(row, 0), 4 * BINS + CLASSES, -1) for row in rows]
    raw = net.op("Concat", *flat, axis=2)
    grid, strides = _grid(net, features)
    parts = _split(net, raw, [4 * BINS, CLASSES])
    boxes = net.op("Mul", _boxes(net, _distances(net, parts[0]), grid), strides)
    found = net.op("Concat", boxes, net.op("Sigmoid", parts[1]), axis=1)
    net.output("found", found, np.float32, [shape[0], 4 + CLASSES, "cells"])
    return net.model()


def _block(net: Net, x: str, channels: tuple[int, int], kernel: int, stride: int = 1) -> str:
    """Add a Conv, then x * sigmoid(x)."""
    width, out = channels
    y = net.op(
        "Conv",
        x,
        net.weights(out, width, kernel, kernel),
        net.weights(out, scale=0.1),
        kernel_shape=[kernel, kernel],
        strides=[stride, stride],
        pads=[kernel // 2] * 4,
    )
    return net.op("Mul", y, net.op("Sigmoid", y))


def _pyramid(net: Net, image: str) -> list[str]:
    """Add features of 8 channels at each stride; the coarse ones are enlarged and joined."""
    x = _block(net, _block(net, image, (3, 4), 3, 2), (4, 6), 3, 2)
    fine = _block(net, x, (6, 8), 3, 2)
    middle = _block(net, fine, (8, 8), 3, 2)
    coarse = _block(net, middle, (8, 8), 3, 2)
    middle = _block(net, net.op("Concat", _twice(net, coarse), middle, axis=1), (16, 8), 3)
    fine = _block(net, net.op("Concat", _twice(net, middle), fine, axis=1), (16, 8), 3)
    return [fine, middle, coarse]


def _twice(net: Net, x: str) -> str:
    """Double height and width."""
    return net.op(
        "Resize",
        x,
        net.const([]),
        net.const([1.0, 1.0, 2.0, 2.0]),
        coordinate_transformation_mode="asymmetric",
        mode="nearest",
        nearest_mode="floor",
    )


def _head(net: Net, features: str) -> str:
    """Add bins of the distances, then scores, for each cell."""
    boxes = net.op("Conv", _block(net, features, (8, 8), 3), net.weights(4 * BINS, 8, 1, 1))
    scores = net.op("Conv", _block(net, features, (8, 8), 3), net.weights(CLASSES, 8, 1, 1))
    return net.op("Concat", boxes, scores, axis=1)


def _grid(net: Net, features: Sequence[str]) -> tuple[str, str]:
    """Work out the middles of all cells [1, 2, cells], and their strides [1, cells]."""
    points, strides = [], []
    for level, stride in zip(features, STRIDES, strict=True):
        height, width = (_number(net, level, axis) for axis in (2, 3))
        lines = [_middles(net, dim) for dim in (height, width)]
        size = net.op("Concat", net.unsqueeze(height, 0), net.unsqueeze(width, 0), axis=0)
        column = net.op("Reshape", lines[0], net.longs(-1, 1))
        row = net.op("Reshape", lines[1], net.longs(1, -1))
        planes = [net.unsqueeze(net.op("Expand", line, size), 2) for line in (row, column)]
        points.append(net.op("Reshape", net.op("Concat", *planes, axis=2), net.longs(-1, 2)))
        cells = net.unsqueeze(net.op("Mul", height, width), 0)
        shape = net.op("Concat", cells, net.longs(1), axis=0)
        zeros = net.op("ConstantOfShape", shape, value=_single(0.0))
        strides.append(net.op("Add", zeros, net.const(float(stride))))
    grid = net.op("Transpose", net.op("Concat", *points, axis=0), perm=[1, 0])
    steps = net.op("Transpose", net.op("Concat", *strides, axis=0), perm=[1, 0])
    return net.unsqueeze(grid, 0), steps


def _number(net: Net, x: str, axis: int) -> str:
    """Read one dim of x as a scalar of int64."""
    return net.op("Gather", net.op("Shape", x), net.const(axis, np.int64), axis=0)


def _middles(net: Net, count: str) -> str:
    """Count 0.5, 1.5, ... as far as `count` says."""
    zero, one = net.const(0, np.int64), net.const(1, np.int64)
    numbers = net.op("Cast", net.op("Range", zero, count, one), to=TensorProto.FLOAT)
    return net.op("Add", numbers, net.const(0.5))


def _single(value: float) -> onnx.TensorProto:
    """Make a tensor of one float."""
    from onnx import helper

    return helper.make_tensor("value", TensorProto.FLOAT, [1], [value])


def _distances(net: Net, bins: str) -> str:
    """Sum up the bins: [n, 4, cells]."""
    spread = net.view(bins, net.dim(bins, 0), 4, BINS, net.dim(bins, 2))
    likely = net.op("Softmax", net.op("Transpose", spread, perm=[0, 3, 1, 2]), axis=3)
    steps = net.const(np.arange(BINS).reshape(1, BINS, 1, 1))
    summed = net.op("Conv", net.op("Transpose", likely, perm=[0, 3, 2, 1]), steps)
    return net.view(summed, net.dim(bins, 0), 4, net.dim(bins, 2))


def _boxes(net: Net, distances: str, grid: str) -> str:
    """Work out middles and sizes of the boxes, in cells."""
    before, after = _split(net, distances, [2, 2])
    low, high = net.op("Sub", grid, before), net.op("Add", grid, after)
    middle = net.op("Div", net.op("Add", low, high), net.const(2.0))
    return net.op("Concat", middle, net.op("Sub", high, low), axis=1)


def _split(net: Net, x: str, parts: list[int]) -> list[str]:
    """Split x along its channels."""
    if net.opset < 13:
        return net.ops("Split", x, count=len(parts), axis=1, split=parts)
    return net.ops("Split", x, net.longs(*parts), count=len(parts), axis=1)
