"""Networks of the sizes of BERT-base, GPT-2, ConvNeXt-T and Swin-T, with random weights.

Their nodes are those that exporters write: norms and GELU in single functions, heads split by Reshape
and Transpose. The Swin also computes the dims of its Reshapes, as a traced model does.
"""

from collections.abc import Callable, Sequence

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from tests.bench.model_builder import ModelBuilder
from tests.bench.models import wide_network

WIDTH, HEADS, LAYERS = 768, 12, 12
TOKENS = 128
WINDOW = 7
STAGES = ((96, 3, 3), (192, 6, 3), (384, 12, 9), (768, 24, 3))
"""Channels, heads of a Swin, and blocks of a ConvNeXt, by stage."""
SWIN_BLOCKS = (2, 2, 6, 2)


def bert_base() -> onnx.ModelProto:
    """Return an encoder of 12 layers for 128 tokens of a vocabulary of 30,522: 415 MiB."""
    net = _Network((1, TOKENS), TensorProto.INT64)
    x = net.embedded("x", 30522, positions=512)
    x = net.normalized(x, WIDTH)
    for _ in range(LAYERS):
        x = net.normalized(net.add("Add", x, net.attention(x)), WIDTH)
        x = net.normalized(net.add("Add", x, net.feed_forward(x, WIDTH)), WIDTH)
    first = net.add("Gather", x, net.constant(np.array(0)), axis=1)
    return net.finished([x, net.add("Tanh", net.linear(first, WIDTH, WIDTH))])


def gpt2() -> onnx.ModelProto:
    """Return a decoder of 12 layers with a head of 50,257 words of its own: 621 MiB."""
    net = _Network((1, TOKENS), TensorProto.INT64)
    mask = np.triu(np.full((TOKENS, TOKENS), -1e4, np.float32), 1)
    mask_name = net.constant(mask)
    x = net.embedded("x", 50257, positions=1024)
    for _ in range(LAYERS):
        x = net.add("Add", x, net.attention(net.normalized(x, WIDTH), mask_name))
        x = net.add("Add", x, net.feed_forward(net.normalized(x, WIDTH), WIDTH))
    x = net.normalized(x, WIDTH)
    return net.finished([net.add("MatMul", x, net.weight(WIDTH, 50257))])


def convnext_t() -> onnx.ModelProto:
    """Return stages of depthwise 7x7 convolutions and products in NHWC: 109 MiB."""
    net = _Network((1, 3, 224, 224))
    x = net.convolved("x", 3, STAGES[0][0], 4)
    x = net.channels_normalized(x, STAGES[0][0])
    before = STAGES[0][0]
    for width, _, blocks in STAGES:
        if width != before:
            x = net.convolved(net.channels_normalized(x, before), before, width, 2)
        for _ in range(blocks):
            h = net.add(
                "Conv", x, net.weight(width, 1, 7, 7), net.bias(width), group=width, pads=[3] * 4
            )
            h = net.normalized(net.add("Transpose", h, perm=[0, 2, 3, 1]), width)
            h = net.add("Mul", net.feed_forward(h, width), net.bias(width))
            x = net.add("Add", x, net.add("Transpose", h, perm=[0, 3, 1, 2]))
        before = width
    pooled = net.add("Flatten", net.add("GlobalAveragePool", x), axis=1)
    return net.finished([net.linear(net.normalized(pooled, before), before, 1000)])


def swin_t() -> onnx.ModelProto:
    """Return stages of attention in windows that every second block shifts, with traced dims: 110 MiB."""
    net = _Network((1, 3, 224, 224))
    side = 224 // 4
    x = net.convolved("x", 3, STAGES[0][0], 4)
    x = net.add("Transpose", x, perm=[0, 2, 3, 1])
    x = net.normalized(x, STAGES[0][0])
    for (width, heads, _), blocks in zip(STAGES, SWIN_BLOCKS, strict=True):
        if width != STAGES[0][0]:
            x, side = net.merged(x, side, width // 2), side // 2
        for block in range(blocks):
            shift = WINDOW // 2 if block % 2 and side > WINDOW else 0
            h = net.window_attention(net.normalized(x, width), side, width, heads, shift)
            x = net.add("Add", x, h)
            x = net.add("Add", x, net.feed_forward(net.normalized(x, width), width))
    pooled = net.add("ReduceMean", net.normalized(x, width), axes=[1, 2], keepdims=0)
    return net.finished([net.linear(pooled, width, 1000)])


SIZED_NETWORKS: dict[str, Callable[[], onnx.ModelProto]] = {
    build.__name__: build for build in (bert_base, gpt2, convnext_t, swin_t, wide_network)
}
"""A function for each network, by name."""


class _Network(ModelBuilder):
    """A network in the making: the layers that transformers and ConvNeXt share.

    Weights are windows of one array of random numbers, which take no time to draw.
    """

    def __init__(self, dims: Sequence[int], dtype: int = TensorProto.FLOAT) -> None:
        super().__init__(dims, dtype)
        self._pool = np.random.default_rng(0).standard_normal(1 << 20, dtype=np.float32)
        self._numbers: dict[float, str] = {}

    def weight(self, *dims: int) -> str:
        """Return a new constant of random numbers that keeps the size of activations."""
        deviation = np.float32(1 / np.sqrt(np.prod(dims[:-1]) or 1))
        return self.constant(np.resize(self._pool, dims) * deviation)

    def bias(self, width: int) -> str:
        """Return a new constant of small random numbers."""
        return self.constant(np.resize(self._pool, width) * np.float32(0.1))

    def number(self, value: float) -> str:
        """Return a constant that all nodes share."""
        if value not in self._numbers:
            self._numbers[value] = self.constant(np.float32(value))
        return self._numbers[value]

    def linear(self, x: str, before: int, after: int) -> str:
        """Return a product and a bias."""
        return self.add("Add", self.add("MatMul", x, self.weight(before, after)), self.bias(after))

    def convolved(self, x: str, before: int, after: int, size: int) -> str:
        """Return a convolution whose windows do not overlap."""
        weights = self.weight(after, before, size, size)
        return self.add("Conv", x, weights, self.bias(after), strides=[size, size])

    def normalized(self, x: str, width: int) -> str:
        """Return a layer normalization over the last axis."""
        centered = self.add("Sub", x, self.add("ReduceMean", x, axes=[-1]))
        squared = self.add("Pow", centered, self.number(2.0))
        variance = self.add("Add", self.add("ReduceMean", squared, axes=[-1]), self.number(1e-5))
        scaled = self.add("Div", centered, self.add("Sqrt", variance))
        return self.add("Add", self.add("Mul", scaled, self.bias(width)), self.bias(width))

    def channels_normalized(self, x: str, width: int) -> str:
        """Return a layer normalization over the channels of NCHW."""
        h = self.normalized(self.add("Transpose", x, perm=[0, 2, 3, 1]), width)
        return self.add("Transpose", h, perm=[0, 3, 1, 2])

    def feed_forward(self, x: str, width: int) -> str:
        """Return two products with a GELU between them."""
        h = self.linear(x, width, 4 * width)
        half = self.add("Erf", self.add("Div", h, self.number(float(np.sqrt(2.0)))))
        gate = self.add("Mul", h, self.add("Add", half, self.number(1.0)))
        return self.linear(self.add("Mul", gate, self.number(0.5)), 4 * width, width)

    def embedded(self, tokens: str, words: int, positions: int) -> str:
        """Return the rows of the words and of their positions."""
        rows = self.add("Gather", self.weight(words, WIDTH), tokens)
        places = self.constant(np.resize(self._pool, (positions, WIDTH)) * np.float32(0.1))
        at = self.constant(np.arange(TOKENS))
        return self.add("Add", rows, self.add("Gather", places, at))

    def attention(self, x: str, mask: str | None = None) -> str:
        """Return the attention of all tokens to all."""
        heads = self.constant(np.array([1, TOKENS, HEADS, WIDTH // HEADS]))

        def split(*perm: int) -> str:
            h = self.add("Reshape", self.linear(x, WIDTH, WIDTH), heads)
            return self.add("Transpose", h, perm=perm)

        mixed = self.mixed(split(0, 2, 1, 3), split(0, 2, 3, 1), split(0, 2, 1, 3), mask)
        joined = self.add("Transpose", mixed, perm=[0, 2, 1, 3])
        whole = self.add("Reshape", joined, self.constant(np.array([1, TOKENS, WIDTH])))
        return self.linear(whole, WIDTH, WIDTH)

    def mixed(self, query: str, key: str, value: str, *added: str | None) -> str:
        """Return the values, weighted by the products of query and key."""
        scores = self.add("Mul", self.add("MatMul", query, key), self.number(0.125))
        for each in added:
            if each is not None:
                scores = self.add("Add", scores, each)
        return self.add("MatMul", self.add("Softmax", scores, axis=-1), value)

    def viewed(self, x: str, *dims: int) -> str:
        """Return a Reshape to dims that nodes compute from the value's first, as traced models do.

        The first of `dims` is a multiple of that dim, the others are themselves.
        """
        axis, unit = self.constant(np.array([0])), self._int(1)
        parts = []
        for at, dim in enumerate(dims):
            read = self.add("Gather", self.add("Shape", x), self._int(0), axis=0)
            grown = self.add("Cast", self.add("Mul", read, self._int(dim)), to=TensorProto.INT64)
            found = self.add("Div", grown, read if at else unit)
            parts.append(self.add("Unsqueeze", found, axis))
        return self.add("Reshape", x, self.add("Concat", *parts, axis=0))

    def merged(self, x: str, side: int, width: int) -> str:
        """Return neighbors of two rows and columns as one, and twice the channels."""
        parts = [
            self._cut(self._cut(x, 1, row, side, 2), 2, column, side, 2)
            for column in (0, 1)
            for row in (0, 1)
        ]
        joined = self.add("Concat", *parts, axis=-1)
        h = self.normalized(joined, 4 * width)
        return self.add("MatMul", h, self.weight(4 * width, 2 * width))

    def window_attention(self, x: str, side: int, width: int, heads: int, shift: int) -> str:
        """Return attention within windows of 7x7, moved by `shift` first and back afterwards."""
        count, area = side // WINDOW, WINDOW * WINDOW
        h = self._rolled(self._rolled(x, 1, shift, side), 2, shift, side)
        h = self.viewed(h, 1, count, WINDOW, count, WINDOW, width)
        h = self.add("Transpose", h, perm=[0, 1, 3, 2, 4, 5])
        h = self.viewed(h, count * count, area, width)
        h = self.viewed(self.linear(h, width, 3 * width), 1, area, 3, heads, width // heads)
        h = self.add("Transpose", h, perm=[2, 0, 3, 1, 4])
        query, key, value = (
            self.add("Gather", h, self.constant(np.array(at)), axis=0) for at in range(3)
        )
        key = self.add("Transpose", key, perm=[0, 1, 3, 2])
        mask = np.zeros((count * count, 1, area, area), np.float32)
        places = self.constant(np.resize(self._pool, (1, heads, area, area)))
        masks = self.constant(mask) if shift else None
        h = self.add("Transpose", self.mixed(query, key, value, places, masks), perm=[0, 2, 1, 3])
        h = self.linear(self.viewed(h, 1, area, width), width, width)
        h = self.viewed(h, 1, WINDOW, WINDOW, width)
        whole = self.constant(np.array([1, count, count, WINDOW, WINDOW, width]))
        h = self.add("Transpose", self.add("Reshape", h, whole), perm=[0, 1, 3, 2, 4, 5])
        h = self.viewed(h, 1, side, side, width)
        return self._rolled(self._rolled(h, 1, side - shift, side), 2, side - shift, side)

    def _rolled(self, x: str, axis: int, by: int, side: int) -> str:
        """Return the value moved along an axis; what leaves it comes in at the other end."""
        if by in {0, side}:
            return x
        return self.add(
            "Concat", self._cut(x, axis, by, side), self._cut(x, axis, 0, by), axis=axis
        )

    def _cut(self, x: str, axis: int, start: int, end: int, step: int = 1) -> str:
        """Return a Slice along one axis."""
        return self.add("Slice", x, *(self._int([each]) for each in (start, end, axis, step)))

    def _int(self, value: int | list[int]) -> str:
        """Return a Constant node, as traced models have them for each use of a number."""
        tensor = numpy_helper.from_array(np.array(value))
        return self.source("Constant", value=tensor)
