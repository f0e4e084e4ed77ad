"""A one-stage detector with two pyramid levels; how many boxes it gives depends on the image."""

import numpy as np
import numpy.typing as npt
import onnx

from tests.networks.builders.graph import Net

Array = npt.NDArray[np.float32]


IMAGE = (1, 3, 64, 64)
CLASSES = 3
ANCHORS = {8: ((10.0, 14.0), (16.0, 12.0)), 16: ((24.0, 30.0), (34.0, 28.0))}
"""Widths and heights in pixels, by the stride of the level."""

CANDIDATES = 24
"""How many of the best candidates reach the suppression."""

MEAN, DEVIATION = 0.1, 0.25
MOST_BOXES = 8
IOU_THRESHOLD = 0.45
SCORE_THRESHOLD = 0.3


def build_detector(opset: int = 11, seed: int = 4) -> onnx.ModelProto:
    """Return image [1, 3, 64, 64] -> boxes [n, 4], scores [n], labels [n]; n from 0 upwards.

    `rows` [n, 6] has all three side by side.
    """
    net = Net("detector", opset, seed)
    image = net.input("image", np.float32, IMAGE)
    normal = net.op("Div", net.op("Sub", image, net.const([MEAN])), net.const([DEVIATION]))
    finest, coarsest = _pyramid(net, normal)
    raw = net.op("Concat", _head(net, finest, 8), _head(net, coarsest, 16), axis=1)
    boxes, scores = _decoded(net, raw)
    boxes, scores = _best(net, boxes, scores)
    chosen = net.op(
        "NonMaxSuppression",
        boxes,
        scores,
        net.longs(MOST_BOXES),
        net.const([IOU_THRESHOLD]),
        net.const([SCORE_THRESHOLD]),
    )
    position = net.op("Gather", chosen, net.const(2, np.int64), axis=1)
    kept = net.op("Gather", net.squeeze(boxes, 0), position, axis=0)
    label = net.op("Gather", chosen, net.const(1, np.int64), axis=1)
    sure = net.op("GatherND", scores, chosen)
    columns = [kept, net.unsqueeze(sure, 1), net.unsqueeze(net.op("Cast", label, to=1), 1)]
    net.output("boxes", kept, np.float32, ["n", 4])
    net.output("scores", sure, np.float32, ["n"])
    net.output("labels", label, np.int64, ["n"])
    net.output("rows", net.op("Concat", *columns, axis=1), np.float32, ["n", 6])
    return net.model()


def _pyramid(net: Net, image: str) -> tuple[str, str]:
    """Return features of 16 channels at strides 8 and 16."""
    x = net.conv_bn_relu(image, (3, 8), 3, 2)
    x = net.conv_bn_relu(x, (8, 12), 3, 2)
    middle = net.conv_bn_relu(x, (12, 16), 3, 2)
    low = net.conv_bn_relu(net.conv_bn_relu(middle, (16, 24), 3, 2), (24, 16), 1)
    grown = net.op(
        "Resize",
        low,
        net.const([]),
        net.const([1.0, 1.0, 2.0, 2.0]),
        coordinate_transformation_mode="asymmetric",
        mode="nearest",
        nearest_mode="floor",
    )
    joined = net.op("Concat", grown, middle, axis=1)
    return net.conv_bn_relu(joined, (32, 16), 3), low


def _head(net: Net, features: str, stride: int) -> str:
    """Return [1, cells * anchors, 5 + classes]: a row for each anchor of each cell."""
    anchors, parts = len(ANCHORS[stride]), 5 + CLASSES
    bias = np.zeros((anchors, parts), np.float32)
    bias[:, 4] = -3.0
    weights = net.weights(anchors * parts, 16, 1, 1, scale=0.7)
    y = net.op("Conv", features, weights, net.const(bias.reshape(-1)), kernel_shape=[1, 1])
    y = net.view(y, net.dim(y, 0), anchors, parts, net.dim(y, 2), net.dim(y, 3))
    y = net.op("Transpose", y, perm=[0, 1, 3, 4, 2])
    return net.view(y, net.dim(y, 0), -1, parts)


def _decoded(net: Net, raw: str) -> tuple[str, str]:
    """Return corners [1, n, 4] and scores [1, classes, n]."""
    parts = _split(net, raw, [2, 2, 1, CLASSES])
    middles = net.op("Mul", net.op("Sigmoid", parts[0]), net.const(2.0))
    middles = net.op("Add", middles, net.const(_grid() - 0.5))
    middles = net.op("Mul", middles, net.const(_strides()))
    bounded = net.op("Tanh", parts[1])
    dims = net.op("Mul", net.op("Exp", bounded), net.const(_anchors() / 2))
    corners = [net.op(op, middles, dims) for op in ("Sub", "Add")]
    scores = net.op("Mul", net.op("Sigmoid", parts[2]), net.op("Sigmoid", parts[3]))
    return net.op("Concat", *corners, axis=2), net.op("Transpose", scores, perm=[0, 2, 1])


def _best(net: Net, boxes: str, scores: str) -> tuple[str, str]:
    """Return the candidates with the best scores of any class, best first."""
    best = net.op("ReduceMax", scores, axes=[1], keepdims=0)
    _, at = net.ops("TopK", best, net.longs(CANDIDATES), count=2, axis=1)
    rows = net.squeeze(at, 0)
    return net.op("Gather", boxes, rows, axis=1), net.op("Gather", scores, rows, axis=2)


def _split(net: Net, x: str, parts: list[int]) -> list[str]:
    """Return the parts of x along its last axis."""
    if net.opset < 13:
        return net.ops("Split", x, count=len(parts), axis=2, split=parts)
    return net.ops("Split", x, net.longs(*parts), count=len(parts), axis=2)


def _cells(stride: int) -> Array:
    """Return column and row of every anchor's cell, in the order of `_head`'s rows."""
    dim = IMAGE[2] // stride
    rows, columns = np.mgrid[:dim, :dim].astype(np.float32)
    cells = np.stack([columns, rows], axis=-1).reshape(-1, 2)
    return np.tile(cells, (len(ANCHORS[stride]), 1))


def _grid() -> Array:
    """Return the cells of both levels."""
    return np.concatenate([_cells(stride) for stride in ANCHORS])[None]


def _strides() -> Array:
    """Return pixels from cell to cell, for every anchor."""
    return np.concatenate(
        [np.full((len(_cells(stride)), 1), stride, np.float32) for stride in ANCHORS]
    )[None]


def _anchors() -> Array:
    """Return width and height of every anchor."""
    sizes = [
        np.repeat(np.array(sizes, np.float32), (IMAGE[2] // stride) ** 2, axis=0)
        for stride, sizes in ANCHORS.items()
    ]
    return np.concatenate(sizes)[None]


def image_with(blobs: int, seed: int) -> Array:
    """Return a dark image with bright patches of random colors, noise on top; all in [0, 1]."""
    random = np.random.default_rng(seed)
    image = random.uniform(0.0, 0.05, IMAGE)
    for _ in range(blobs):
        top, left = random.integers(0, 48, 2)
        height, width = random.integers(8, 17, 2)
        image[0, :, top : top + height, left : left + width] = random.uniform(0, 1, (3, 1, 1))
    return image.astype(np.float32)
