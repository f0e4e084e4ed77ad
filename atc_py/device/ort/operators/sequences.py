"""Sequences: pairs of rows, sums of windows, counts of words.

Lengths may be computed in the run, so that places are worked out by nodes.
"""

import numpy as np

from atc_py.device.ort.body import Body, emulates
from atc_py.device.ort.regions import real_of
from atc_py.tensor.dtypes import DType


@emulates("DynSeqOuter")
def dyn_seq_outer(body: Body) -> str:
    """Write `y[t] = x1[i] + x2[j]`; t counts j of each sequence, and within it i."""
    first, second = (body.cast(body.own(at), DType.INT64) for at in (2, 3))
    count = body.add("Mul", first, second)
    t = _range(body, count)
    sequence = _sequence_of(body, t, count)
    within = body.add("Sub", t, _at(body, _starts(body, count), sequence))
    length = _at(body, first, sequence)
    j = body.add("Div", within, length)
    i = body.add("Sub", within, body.add("Mul", j, length))
    i = body.add("Add", i, _at(body, _starts(body, first), sequence))
    j = body.add("Add", j, _at(body, _starts(body, second), sequence))
    return body.add("Add", _at(body, body.x(1), j), _at(body, body.x(0), i))


@emulates("MovingSumWithSigmoid")
def moving_sum(body: Body) -> str:
    """Write sigmoid(energy) times the sum of alpha over the next ksize frames, beam by beam.

    Alpha is laid out like the result, as a diagonal of blocks with 0 beside them, so that a
    convolution with ones adds up frames of the same sequence alone.
    """
    node, dtype = body.node, real_of(body)
    if 0 in node.outputs[0].dims:
        rows, columns = node.outputs[0].shape
        return body.const(np.empty((rows, columns)), dtype)
    places, inside = _places(body)
    alpha, energy = (
        body.add("Where", inside, _at(body, body.x(at), places), body.const(0, dtype))
        for at in (0, 1)
    )
    window = min(node.integer("ksize"), node.outputs[0].dims[1] or node.integer("ksize"))
    sums = body.add(
        "Conv",
        body.add("Unsqueeze", alpha, body.ints(1)),
        body.const(np.ones((1, 1, window)), dtype),
        pads=[0, window - 1],
    )
    y = body.add("Mul", body.add("Squeeze", sums, body.ints(1)), body.add("Sigmoid", energy))
    return body.add("Where", inside, y, body.const(0, dtype))


def _places(body: Body) -> tuple[str, str]:
    """Place in alpha of each element of the result, and whether there is one."""
    offset = body.cast(body.own(2), DType.INT64)
    beams, frames = body.several("Split", 2, offset, num_outputs=2)
    row, column = _range(body, beams), _range(body, frames)
    of_row, of_column = (
        _sequence_of(body, at, lengths) for at, lengths in ((row, beams), (column, frames))
    )
    beam = body.add("Sub", row, _at(body, _starts(body, beams), of_row))
    frame = body.add("Sub", column, _at(body, _starts(body, frames), of_column))
    start = _at(body, _starts(body, body.add("Mul", beams, frames)), of_row)
    start = body.add("Add", start, body.add("Mul", beam, _at(body, frames, of_row)))
    start, of_row = (body.add("Unsqueeze", each, body.ints(1)) for each in (start, of_row))
    inside = body.add("Equal", of_row, of_column)
    place = body.add("Where", inside, body.add("Add", start, frame), body.ints(0))
    return place, inside


def _range(body: Body, lengths: str) -> str:
    """The numbers from 0 to below the sum of `lengths`."""
    return body.range(body.add("ReduceSum", lengths, keepdims=0))


def _starts(body: Body, lengths: str) -> str:
    return body.add("CumSum", lengths, body.const(0, DType.INT64), exclusive=1)


def _sequence_of(body: Body, places: str, lengths: str) -> str:
    """The sequence of each place: how many end before it."""
    ends = body.add("CumSum", lengths, body.const(0, DType.INT64))
    ended = body.add("GreaterOrEqual", body.add("Unsqueeze", places, body.ints(1)), ends)
    return body.add("ReduceSum", body.cast(ended, DType.INT64), body.ints(1), keepdims=0)


def _at(body: Body, values: str, places: str) -> str:
    return body.add("Gather", values, places)


@emulates("TfIdfVectorizer")
def tf_idf_vectorizer(body: Body) -> str:
    """Write `y = count`, `weight where count > 0` or `weight * count` of n-grams, by mode."""
    node = body.node
    places = node.integers("ngram_indexes")
    counts = body.add(
        "TfIdfVectorizer",
        body.own(),
        max_gram_length=node.integer("max_gram_length"),
        max_skip_count=node.integer("max_skip_count"),
        min_gram_length=node.integer("min_gram_length"),
        mode="TF",
        ngram_counts=node.integers("ngram_counts"),
        ngram_indexes=places,
        pool_int64s=node.integers("pool_int64s"),
    )
    mode = node.text("mode")
    if mode == "TF":
        return counts
    weights = np.ones(max(places) + 1, np.float32)
    if node.floats("weights"):
        weights[np.array(places)] = node.floats("weights")
    nothing = body.const(np.float32(0))
    weighted = body.const(weights)
    if mode == "TFIDF":
        weighted = body.add("Mul", counts, weighted)
    # 0 even of infinite weights
    return body.add("Where", body.add("Greater", counts, nothing), weighted, nothing)
