"""Counts of words of sequences."""

import numpy as np

from atc_py.device.ort.body import Body
from atc_py.device.ort.registry import emulates


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
