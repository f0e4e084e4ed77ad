"""A transformer whose masks are made at run time: of padding, of the future, of both."""

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from tests.networks.builders.graph import Net

Array = npt.NDArray[Any]


BATCH, LENGTH, WIDTH, HEADS, VOCABULARY, CLASSES = 2, 12, 32, 4, 50, 10
EACH = WIDTH // HEADS

INT32, BOOL, FLOAT = 6, 9, 1
"""Types as the attribute of Cast has them."""


def build_masked_transformer(opset: int = 13, seed: int = 5) -> onnx.ModelProto:
    """Build ids, mask [2, 12] -> states [2, 12, 32], pooled [2, 32], logits and class.

    Two layers see the whole sentence, two more no later word than their own. Padding is at the
    end. The logits are those of the last word.
    """
    net = Net("transformer", opset, seed)
    ids = net.input("ids", np.int64, [BATCH, LENGTH])
    mask = net.input("attention_mask", np.int64, [BATCH, LENGTH])
    x = _embedded(net, ids, mask)
    bias, allowed = _padding_bias(net, mask), _allowed(net, ids, mask)
    for _ in range(2):
        x = _layer(net, x, lambda scores: net.op("Add", scores, bias))
    low = net.const(-1e4)
    for _ in range(2):
        x = _layer(net, x, lambda scores: net.op("Where", allowed, scores, low))
    net.output("states", x, np.float32, [BATCH, LENGTH, WIDTH])
    net.output("pooled", _pooled(net, x, mask), np.float32, [BATCH, WIDTH])
    logits = net.linear(_last_word(net, x, mask), WIDTH, CLASSES, scale=0.5)
    net.output("logits", logits, np.float32, [BATCH, CLASSES])
    best = net.op("ArgMax", logits, axis=-1, keepdims=0)
    net.output("class", best, np.int64, [BATCH])
    return net.model()


def _embedded(net: Net, ids: str, mask: str) -> str:
    """Return words and positions; positions count the words that are not padding, which has 0."""
    present = net.op("Cast", mask, to=INT32)
    counted = net.op("CumSum", present, net.const(1, np.int64))
    positions = net.op("Mul", counted, present)
    words = net.op("Gather", net.weights(VOCABULARY, WIDTH, scale=1.0), ids, axis=0)
    places = net.op("Gather", net.weights(LENGTH + 1, WIDTH, scale=0.5), positions, axis=0)
    return net.layer_norm(net.op("Add", words, places), WIDTH)


def _padding_bias(net: Net, mask: str) -> str:
    """Return (1 - mask) * -1e4 as [2, 1, 1, 12], to be added to scores."""
    real = net.op("Cast", net.unsqueeze(mask, 1, 2), to=FLOAT)
    return net.op("Mul", net.op("Sub", net.const(1.0), real), net.const(-1e4))


def _allowed(net: Net, ids: str, mask: str) -> str:
    """Return the words [2, 1, 12, 12] a word may look at: no padding, none after itself."""
    length = net.squeeze(net.dim(ids, 1), 0)
    places = net.op("Range", net.const(0, np.int64), length, net.const(1, np.int64))
    places = net.op("Cast", places, to=INT32)
    later = net.op("Greater", net.unsqueeze(places, 0), net.unsqueeze(places, 1))
    counts = net.op("ReduceSum", net.op("Cast", mask, to=FLOAT), *_axis(net, 1), **_axes(net, 1))
    inside = net.op("Less", places, net.op("Cast", counts, to=INT32))
    inside = net.unsqueeze(inside, 1, 2)
    batch = net.dim(ids, 0)
    square = net.op("Concat", batch, net.longs(1), net.dim(ids, 1), net.dim(ids, 1), axis=0)
    return net.op("And", net.op("Expand", inside, square), net.op("Not", later))


def _axis(net: Net, axis: int) -> list[str]:
    """Return the axis of a ReduceSum as an input, which it is since opset 13."""
    return [net.longs(axis)] if net.opset >= 13 else []


def _axes(net: Net, axis: int) -> dict[str, Any]:
    """Return the axis of a ReduceSum as an attribute, which it is up to opset 12."""
    return {} if net.opset >= 13 else {"axes": [axis]}


def _layer(net: Net, x: str, masked: Any) -> str:
    """Return attention and a feed-forward part, each with a residual sum and normalization."""
    heads = []
    for order in ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3)):
        part = net.linear(x, WIDTH, WIDTH)
        part = net.view(part, net.dim(part, 0), net.dim(part, 1), HEADS, EACH)
        heads.append(net.op("Transpose", part, perm=list(order)))
    query, key, value = heads
    scores = net.op("Div", net.op("MatMul", query, key), net.const(EACH**0.5))
    weights = net.op("Softmax", masked(scores), axis=3)
    y = net.op("Transpose", net.op("MatMul", weights, value), perm=[0, 2, 1, 3])
    y = net.view(y, net.dim(y, 0), net.dim(y, 1), WIDTH)
    x = net.layer_norm(net.op("Add", x, net.linear(y, WIDTH, WIDTH)), WIDTH)
    y = _gelu(net, net.linear(x, WIDTH, 2 * WIDTH))
    return net.layer_norm(net.op("Add", x, net.linear(y, 2 * WIDTH, WIDTH)), WIDTH)


def _gelu(net: Net, x: str) -> str:
    """Return the form x * (1 + erf(x / sqrt 2)) / 2, in the order of PyTorch."""
    error = net.op("Erf", net.op("Div", x, net.const(2**0.5)))
    product = net.op("Mul", x, net.op("Add", error, net.const(1.0)))
    return net.op("Mul", product, net.const(0.5))


def _pooled(net: Net, x: str, mask: str) -> str:
    """Return the mean over words that are not padding, through a linear layer and Tanh."""
    real = net.op("Cast", net.unsqueeze(mask, 2), to=FLOAT)
    axis, axes = _axis(net, 1), _axes(net, 1)
    total = net.op("ReduceSum", net.op("Mul", x, real), *axis, keepdims=0, **axes)
    count = net.op("ReduceSum", real, *axis, keepdims=0, **axes)
    return net.op("Tanh", net.linear(net.op("Div", total, count), WIDTH, WIDTH))


def _last_word(net: Net, x: str, mask: str) -> str:
    """Return x[arange(batch), words - 1], the way that indexing by two vectors exports."""
    axis, axes = _axis(net, 1), _axes(net, 1)
    words = net.op("ReduceSum", net.op("Cast", mask, to=FLOAT), *axis, keepdims=0, **axes)
    last = net.op("Add", net.op("Cast", words, to=7), net.const(-1, np.int64))
    batch = net.squeeze(net.dim(x, 0), 0)
    rows = net.op("Range", net.const(0, np.int64), batch, net.const(1, np.int64))
    columns = [net.unsqueeze(part, 1) for part in (rows, last)]
    return net.op("GatherND", x, net.op("Concat", *columns, axis=1))


def sentences(lengths: tuple[int, int], seed: int) -> dict[str, Array]:
    """Return two sentences of so many words, padded with word 0."""
    random = np.random.default_rng(seed)
    mask = np.arange(LENGTH) < np.array(lengths)[:, None]
    ids = random.integers(1, VOCABULARY, (BATCH, LENGTH)) * mask
    return {"ids": ids.astype(np.int64), "attention_mask": mask.astype(np.int64)}
