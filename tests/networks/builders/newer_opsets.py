"""Small networks of opsets 17 and 18, with the operators that lists of those opsets add."""

import numpy as np
import onnx

from tests.networks.builders.graph import Net

CLASSES = 10


def build_resnet(opset: int, seed: int = 11) -> onnx.ModelProto:
    """Return image [1, 3, 32, 32] -> logits [1, 10]: a stem and three residual blocks."""
    net = Net("resnet", opset, seed)
    image = net.input("image", np.float32, [1, 3, 32, 32])
    x = net.conv_bn_relu(image, (3, 8), 3, 2)
    x = net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for channels, stride in (((8, 8), 1), ((8, 16), 2), ((16, 16), 1)):
        x = _residual(net, x, channels, stride)
    x = net.op("Flatten", net.op("GlobalAveragePool", x))
    net.output("logits", _gemm(net, x, 16), np.float32, [1, CLASSES])
    return net.model()


def _residual(net: Net, x: str, channels: tuple[int, int], stride: int) -> str:
    """Return a basic block; its input is projected where channels or stride change."""
    width, out = channels
    y = net.conv_bn_relu(x, (width, out), 3, stride)
    y = net.op("Conv", y, net.weights(out, out, 3, 3), kernel_shape=[3, 3], pads=[1] * 4)
    if width != out or stride > 1:
        weights = net.weights(out, width, 1, 1)
        x = net.op("Conv", x, weights, kernel_shape=[1, 1], strides=[stride, stride])
    return net.op("Relu", net.op("Add", x, y))


def _gemm(net: Net, x: str, width: int) -> str:
    """Return a Gemm to the classes."""
    return net.op("Gemm", x, net.weights(CLASSES, width), net.weights(CLASSES, scale=0.1), transB=1)


TOKENS, WIDTH, HEADS = 17, 32, 4
EACH = WIDTH // HEADS


def build_vit(opset: int, seed: int = 12) -> onnx.ModelProto:
    """Return image [1, 3, 32, 32] -> logits [1, 10]: patches of 8 x 8, two layers, a class token."""
    net = Net("vit", opset, seed)
    image = net.input("image", np.float32, [1, 3, 32, 32])
    patches = net.op(
        "Conv", image, net.weights(WIDTH, 3, 8, 8), kernel_shape=[8, 8], strides=[8, 8]
    )
    words = net.op("Reshape", patches, net.longs(1, WIDTH, TOKENS - 1))
    words = net.op("Transpose", words, perm=[0, 2, 1])
    first = net.const(net.random.standard_normal((1, 1, WIDTH)))
    x = net.op("Concat", first, words, axis=1)
    x = net.op("Add", x, net.const(0.2 * net.random.standard_normal((1, TOKENS, WIDTH))))
    for _ in range(2):
        x = net.op("Add", x, _attention(net, net.layer_norm(x, WIDTH)))
        x = net.op("Add", x, _perceptron(net, net.layer_norm(x, WIDTH)))
    x = net.op("Gather", net.layer_norm(x, WIDTH), net.const(0, np.int64), axis=1)
    net.output("logits", _gemm(net, x, WIDTH), np.float32, [1, CLASSES])
    return net.model()


def _attention(net: Net, x: str) -> str:
    """Return self-attention of [1, tokens, width]."""
    joined = net.linear(x, WIDTH, 3 * WIDTH)
    parts = net.ops("Split", joined, net.longs(WIDTH, WIDTH, WIDTH), count=3, axis=2)
    heads = [net.op("Reshape", part, net.longs(1, TOKENS, HEADS, EACH)) for part in parts]
    query, values = (net.op("Transpose", heads[at], perm=[0, 2, 1, 3]) for at in (0, 2))
    keys = net.op("Transpose", heads[1], perm=[0, 2, 3, 1])
    scores = net.op("Mul", net.op("MatMul", query, keys), net.const(EACH**-0.5))
    mixed = net.op("MatMul", net.op("Softmax", scores, axis=-1), values)
    mixed = net.op("Transpose", mixed, perm=[0, 2, 1, 3])
    return net.linear(net.op("Reshape", mixed, net.longs(1, TOKENS, WIDTH)), WIDTH, WIDTH)


def _perceptron(net: Net, x: str) -> str:
    """Return two linear layers with an exact Gelu between them."""
    x = net.linear(x, WIDTH, 2 * WIDTH)
    grown = net.op("Add", net.op("Erf", net.op("Div", x, net.const(2**0.5))), net.const(1.0))
    x = net.op("Mul", net.op("Mul", x, grown), net.const(0.5))
    return net.linear(x, 2 * WIDTH, WIDTH)


def build_segmentation(opset: int, seed: int = 13) -> onnx.ModelProto:
    """Return image [1, 3, 24, 24] -> scores [1, 4, 24, 24]; coarse features follow a learned flow."""
    net = Net("segmentation", opset, seed)
    image = net.input("image", np.float32, [1, 3, 24, 24])
    fine = net.conv_bn_relu(image, (3, 8), 3)
    coarse = net.conv_bn_relu(net.conv_bn_relu(fine, (8, 16), 3, 2), (16, 8), 3)
    grown = net.op(
        "Resize",
        coarse,
        "",
        net.const([1.0, 1.0, 2.0, 2.0]),
        mode="linear",
        coordinate_transformation_mode="pytorch_half_pixel",
    )
    both = net.op("Concat", fine, grown, axis=1)
    moved = net.op("Conv", both, net.weights(2, 16, 3, 3, scale=0.02), pads=[1] * 4)
    flow = net.op("Transpose", net.op("Tanh", moved), perm=[0, 2, 3, 1])
    grid = net.op("Add", flow, net.const(_centers(24)))
    warped = net.op("GridSample", coarse, grid, padding_mode="border", align_corners=0)
    joined = net.op("Concat", fine, warped, axis=1)
    scores = net.op("Conv", joined, net.weights(4, 16, 1, 1), net.weights(4, scale=0.1))
    net.output("scores", scores, np.float32, [1, 4, 24, 24])
    return net.model()


def _centers(count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Return the centers of [1, count, count, 2] pixels, x and y from -1 to 1."""
    at = ((np.arange(count) * 2 + 1) / count - 1).astype(np.float32)
    return np.stack(np.meshgrid(at, at), axis=-1)[None]


def build_volume_network(opset: int, seed: int = 14) -> onnx.ModelProto:
    """Return volume [1, 1, 8, 16, 16] -> logits [1, 10]: 3-D convolutions, normalized and pooled."""
    net = Net("volumes", opset, seed)
    x = net.input("volume", np.float32, [1, 1, 8, 16, 16])
    for width, out in ((1, 8), (8, 16)):
        x = _conv3d_bn_relu(net, x, width, out)
        x = net.op("MaxPool", x, kernel_shape=[2, 2, 2], strides=[2, 2, 2])
    y = _conv3d_bn_relu(net, x, 16, 16)
    x = net.op("GlobalAveragePool", net.op("Add", x, y))
    net.output("logits", _gemm(net, net.op("Flatten", x), 16), np.float32, [1, CLASSES])
    return net.model()


def _conv3d_bn_relu(net: Net, x: str, width: int, out: int) -> str:
    """Return a convolution of 3 x 3 x 3, normalization, Relu."""
    spread = (2.0 / (27 * width)) ** 0.5
    weights = net.weights(out, width, 3, 3, 3, scale=spread)
    y = net.op("Conv", x, weights, kernel_shape=[3, 3, 3], pads=[1] * 6)
    factors, offset, mean = (net.weights(out, scale=0.1) for _ in range(3))
    one = net.const(np.ones(out, np.float32))
    y = net.op("BatchNormalization", y, net.op("Add", one, factors), offset, mean, one)
    return net.op("Relu", y)
