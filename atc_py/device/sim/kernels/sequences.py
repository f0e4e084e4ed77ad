"""Sequences: pairs of rows, sums of windows, counts of words."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, kernel
from atc_py.device.sim.primitives.cells import sigmoid
from atc_py.device.sim.typing_rules import one_dtype, require_float, require_rank
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

Array = NDArray[Any]


def _lengths(node: NodeView, position: int, name: str) -> list[int]:
    require_rank(node.required(position), 1, name)
    lengths = list(node.integers_of(position, name))
    if min(lengths, default=0) < 0:
        raise NodeError(
            Text("{name} must not be negative, found {lengths}", name=name, lengths=lengths)
        )
    return lengths


def _pairs(node: NodeView) -> list[tuple[int, int]]:
    """The lengths of each sequence of x1 and of x2, which have all of their rows."""
    first, second = _lengths(node, 2, "seq_len1"), _lengths(node, 3, "seq_len2")
    if len(first) != len(second):
        text = Text("the numbers of lengths must be equal, found {found} and {other}")
        raise NodeError(text.with_values(found=len(first), other=len(second)))
    for name, x, lengths in (("x1", node.x, first), ("x2", node.required(1), second)):
        if x.shape[0] != sum(lengths):
            text = Text("lengths add up to {sum}, found {found} {x}")
            raise NodeError(text.with_values(sum=sum(lengths), found=name, x=x))
    return list(zip(first, second, strict=True))


def _outer_types(node: NodeView) -> tuple[TensorFacts, ...]:
    x1, x2 = node.x, node.required(1)
    require_float(x1)
    one_dtype((x1, x2))
    for name, x in (("x1", x1), ("x2", x2)):
        require_rank(x, 2, name)
    if x1.shape[1] != x2.shape[1]:
        raise NodeError(
            Text("x1 {x1} and x2 {x2} must have the same number of columns", x1=x1, x2=x2)
        )
    rows = sum(first * second for first, second in _pairs(node))
    return (TensorFacts(x1.dtype, (rows, x1.shape[1])),)


@kernel("DynSeqOuter", _outer_types)
def dyn_seq_outer(call: Call) -> None:
    """Add each row of a sequence of x2 to each row of the same sequence of x1, which run faster."""
    x1, x2, out = call.x, call.input(1), call.out
    for first, second in _pairs(call.node):
        count = first * second
        pairs = out[:count].reshape(second, first, x1.shape[1])
        np.add(x2[:second, None], x1[None, :first], out=pairs)
        x1, x2, out = x1[first:], x2[second:], out[count:]


def _blocks(node: NodeView) -> list[tuple[int, int]]:
    offset = _lengths(node, 2, "offset")
    half = len(offset) // 2
    blocks = list(zip(offset[:half], offset[half:], strict=False))
    covered = sum(beams * frames for beams, frames in blocks)
    if len(offset) != 2 * half or node.x.shape != (covered,):
        raise NodeError(Text("offset {offset} does not fit alpha {x}", offset=offset, x=node.x))
    return blocks


def _window_types(node: NodeView) -> tuple[TensorFacts, ...]:
    require_float(node.x)
    one_dtype((node.x, node.required(1)))
    require_rank(node.x, 1, "alpha")
    if node.required(1).shape != node.x.shape or node.integer("ksize") < 1:
        raise NodeError(Text("energy must be like alpha {x}, and ksize positive", x=node.x))
    blocks = _blocks(node)
    beams, frames = (sum(block[side] for block in blocks) for side in range(2))
    return (TensorFacts(node.x.dtype, (beams, frames)),)


@kernel("MovingSumWithSigmoid", _window_types)
def moving_sum(call: Call) -> None:
    """Compute `y[beam, frame]` = sigmoid(energy) times alpha's sum over the next ksize frames.

    Windows end with their sequence. Results are a diagonal of blocks, 0 beside them.
    """
    alpha, energy, out = call.x, call.input(1), call.out
    out.fill(0)
    row = column = start = 0
    for beams, frames in _blocks(call.node):
        part = slice(start, start + beams * frames)
        values, gates = (array[part].reshape(beams, frames) for array in (alpha, energy))
        block = out[row : row + beams, column : column + frames]
        for ahead in range(min(call.node.integer("ksize"), frames)):
            block[:, : frames - ahead] += values[:, ahead:]
        opened = np.empty_like(gates)
        sigmoid(gates, opened)
        block *= opened
        row, column, start = row + beams, column + frames, part.stop


def _tf_idf_types(node: NodeView) -> tuple[TensorFacts, ...]:
    x, places, starts = node.x, node.integers("ngram_indexes"), node.integers("ngram_counts")
    if x.dtype not in {DType.INT32, DType.INT64} or x.rank not in {1, 2}:
        text = Text("input must be one or more sequences of int32 or int64, found {found}")
        raise NodeError(text.with_values(found=x))
    if node.text("mode") not in {"TF", "IDF", "TFIDF"}:
        text = Text("mode must be TF, IDF or TFIDF, found {found}")
        raise NodeError(text.with_values(found=repr(node.text("mode"))))
    lengths = [after - before for before, after in pairwise(_bounds(node))]
    if not starts or starts[0] != 0 or min(lengths) < 0:
        text = Text("ngram_counts must count up from 0, found {found} of them")
        raise NodeError(text.with_values(found=len(starts)))
    count = sum(length // n for n, length in enumerate(lengths, 1))
    if not places or min(places) < 0 or len(places) != count:
        text = Text("ngram_indexes must have {count} places, found {found}")
        raise NodeError(text.with_values(count=count, found=len(places)))
    if _weights(node) and not len(_weights(node)) == len(set(places)) == max(places) + 1:
        text = Text(
            "weights need n-grams with one place each, found {n} weights for {p} places up to {most}"
        )
        values = {"n": len(_weights(node)), "p": len(set(places)), "most": max(places)}
        raise NodeError(text.with_values(**values))
    return (TensorFacts(DType.FLOAT32, (*x.shape[:-1], max(places) + 1)),)


def _bounds(node: NodeView) -> tuple[int, ...]:
    """Starts in the pool of the n-grams of each length, and its length."""
    return (*node.integers("ngram_counts"), len(node.integers("pool_int64s")))


def _weights(node: NodeView) -> tuple[float, ...]:
    """The weights, none if all are 1."""
    return cast("tuple[float, ...]", node.attributes["weights"])


@kernel("TfIdfVectorizer", _tf_idf_types)
def tf_idf_vectorizer(call: Call) -> None:
    """Count n-grams: `y = count`, `weight where count > 0` or `weight * count` by mode.

    An n-gram of 1 + k numbers occurs at i if they are `x[i], x[i + d], ... x[i + k * d]` for a
    distance d of 1 to `max_skip_count + 1`; a single number is not counted again for each d.
    """
    node = call.node
    sequences = call.x.reshape(-1, call.x.shape[-1]).astype(np.int64)
    places = np.array(node.integers("ngram_indexes"), np.intp)
    found = np.zeros((len(sequences), int(places.max()) + 1), np.int64)
    largest = sequences.nbytes * node.integer("max_gram_length")
    call.workspace.require(largest, Text("n-grams of the sequences"))
    for grams, numbers in _grams(node):
        for windows in _windows(sequences, grams.shape[1], node.integer("max_skip_count") + 1):
            row, gram = _occurrences(windows, grams)
            np.add.at(found, (row, places[numbers[gram]]), 1)
    counts = found.astype(np.float32)
    mode, weights = node.text("mode"), np.ones(counts.shape[1], np.float32)
    if _weights(node):
        weights[places] = _weights(node)
    if mode != "TF":
        weighted = weights * counts if mode == "TFIDF" else weights
        counts = np.where(counts > 0, weighted, np.float32(0))  # 0 even of infinite weights
    np.copyto(call.out, counts.reshape(call.out.shape))


def _grams(node: NodeView) -> Iterator[tuple[Array, Array]]:
    """Yield the n-grams of each length that counts, as rows, with their numbers in the pool."""
    pool, first = np.array(node.integers("pool_int64s"), np.int64), 0
    for length, (start, stop) in enumerate(pairwise(_bounds(node)), 1):
        count = (stop - start) // length
        if count and node.integer("min_gram_length") <= length <= node.integer("max_gram_length"):
            grams = pool[start : start + count * length].reshape(count, length)
            yield grams, np.arange(first, first + count)
        first += count


def _windows(sequences: Array, length: int, farthest: int) -> Iterator[Array]:
    """Yield [sequences, starts, length]: numbers 1, 2, ... `farthest` apart, 1 for single ones."""
    for apart in range(1, (farthest if length > 1 else 1) + 1):
        starts = sequences.shape[1] - (length - 1) * apart
        if starts <= 0:
            break
        taken = [sequences[:, at * apart : at * apart + starts] for at in range(length)]
        yield np.stack(taken, axis=-1)


def _occurrences(windows: Array, grams: Array) -> tuple[Array, Array]:
    """The sequence and the n-gram of each window that is one; of equal ones the last."""
    _, starts, length = windows.shape
    both = np.concatenate([grams, windows.reshape(-1, length)])
    _, number = np.unique(both, axis=0, return_inverse=True)
    number = number.reshape(-1)
    gram_of = np.full(number.max() + 1, -1)
    for gram, distinct in enumerate(number[: len(grams)]):
        gram_of[distinct] = gram
    found = gram_of[number[len(grams) :]]
    (hits,) = np.nonzero(found >= 0)
    return hits // starts, found[hits]
