"""Lowering of statistics of sequences of words."""

from collections.abc import Sequence
from itertools import pairwise

from atc_py.ir import AttrValue, Value
from atc_py.lowering.builder import Builder, lowering
from atc_py.text import Text


@lowering("TfIdfVectorizer", since=9)
def lower_tf_idf_vectorizer(b: Builder) -> Sequence[Value]:
    """Lower TfIdfVectorizer to TfIdfVectorizer.

    A weight is that of an n-gram, as ONNX's text and onnxruntime have it, wherever ngram_indexes
    puts its count; ONNX's reference code reads weights by that place instead.
    """
    shortest, longest = b.integer("min_gram_length", 0), b.integer("max_gram_length", 0)
    skips = b.integer("max_skip_count", 0)
    starts, places, pool = (
        b.optional_integers(name) or () for name in ("ngram_counts", "ngram_indexes", "pool_int64s")
    )
    if not 1 <= shortest <= longest <= len(starts) or skips < 0:
        text = Text(
            "needs 1 <= min_gram_length <= max_gram_length <= {starts}, as many as ngram_counts "
            "has, and max_skip_count >= 0; found {shortest}, {longest} and {skips}"
        )
        lengths = {"shortest": shortest, "longest": longest, "skips": skips}
        raise b.bad(text.with_values(starts=len(starts), **lengths))
    _check_pool(b, starts, places, pool)
    attributes: dict[str, AttrValue] = {
        "max_gram_length": longest,
        "max_skip_count": skips,
        "min_gram_length": shortest,
        "mode": b.string("mode", ""),
        "ngram_counts": starts,
        "ngram_indexes": places,
        "pool_int64s": pool,
        "weights": _weights(b, places),
    }
    return [b.op("TfIdfVectorizer", [b.input(0)], b.output_type(), attributes)]


def _check_pool(
    b: Builder, starts: tuple[int, ...], places: tuple[int, ...], pool: tuple[int, ...]
) -> None:
    """Check that the pool holds whole n-grams of each length, each with its place; BAD_NODE."""
    bounds = (*starts, len(pool))
    lengths = [after - before for before, after in pairwise(bounds)]
    whole = all(length >= 0 and length % n == 0 for n, length in enumerate(lengths, 1))
    if bounds[0] != 0 or not whole:
        text = Text(
            "has {starts} starts of n-grams of 1, 2, ... numbers, which do not divide its pool "
            "of {pool} into whole n-grams"
        )
        values = {"starts": len(starts), "pool": len(pool)}
        raise b.bad(text.with_values(**values), "attribute ngram_counts")
    count = sum(length // n for n, length in enumerate(lengths, 1))
    if len(places) != count or min(places, default=0) < 0:
        text = Text("needs a place that is at least 0 for each of {count} n-grams, found {found}")
        raise b.bad(text.with_values(count=count, found=len(places)), "attribute ngram_indexes")


def _weights(b: Builder, places: tuple[int, ...]) -> tuple[float, ...]:
    """The weights, one for each n-gram; none where all are 1.

    CANN's operator has as many numbers in the result as weights.
    """
    given = b.node.attributes.get("weights")
    if not isinstance(given, tuple) or not given:
        return ()
    weights = tuple(float(item) for item in given if isinstance(item, int | float))
    if len(weights) != len(places):
        text = Text("needs {n} weights, found {found}")
        raise b.bad(text.with_values(n=len(places), found=len(weights)), "attribute weights")
    if sorted(places) != list(range(len(places))):
        text = Text(
            "with weights, ngram_indexes must have each place from 0 to {last} once, found {count} "
            "places up to {most}"
        )
        values = {"last": len(places) - 1, "count": len(set(places)), "most": max(places)}
        raise b.unsupported(
            text.with_values(**values),
            "attribute ngram_indexes",
            Text("give each n-gram its own position, and leave no position unused"),
        )
    return weights
