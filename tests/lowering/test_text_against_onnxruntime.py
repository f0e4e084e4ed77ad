"""Statistics of sequences of words, against onnxruntime."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from atc_py.diag import AtcError
from tests.end_to_end import one_node_model, run_with_onnxruntime
from tests.failures import Failures
from tests.lowering.moved import same_elements
from tests.lowering.newer_list import run_on_newer_list
from tests.lowering.reference import MODES

Array = NDArray[Any]

WEIGHTS = (0.5, 2.0, 0.1, -3.0, 1.5, 7.0)
POOL: dict[str, Any] = {
    "ngram_counts": [0, 2, 8],
    "ngram_indexes": [0, 1, 5, 4, 3, 2],
    "pool_int64s": [2, -1, 1, 2, 2, 2, 2, 3, 1, 2, 1],
    "weights": WEIGHTS,
}
"""Two single words, three pairs, a triple; weights do not follow the order of the result."""

WORDS = np.array([[1, 2, 2, 3, 1, 2, 1, -1], [2, 2, 2, 2, 2, 2, 2, 2]])

FORMS: list[tuple[int, int, int]] = [
    (1, 1, 0),
    (1, 3, 0),
    (1, 3, 2),
    (2, 2, 1),
    (2, 3, 9),
    (3, 3, 2),
]
"""Shortest and longest n-gram, words left out."""


def test_n_grams_are_counted_as_by_onnxruntime(tmp_path: Path) -> None:
    with Failures() as failures:
        for at, (shortest, longest, skips) in enumerate(FORMS):
            for mode in ("TF", "IDF", "TFIDF"):
                words = WORDS if at % 2 else WORDS[0]
                feeds: dict[str, Array] = {"x": words.astype(("int32", "int64")[at // 2 % 2])}
                lengths = {"min_gram_length": shortest, "max_gram_length": longest}
                options = {**POOL, **lengths, "max_skip_count": skips, "mode": mode}
                if at == len(FORMS) - 1:
                    del options["weights"]
                model = one_node_model("TfIdfVectorizer", feeds, (9, 11, 18)[at % 3], **options)
                with failures.of(f"{mode} {lengths} {skips}"):
                    (expected,) = run_with_onnxruntime(model, feeds).values()
                    found = run_on_newer_list(model, feeds, tmp_path, MODES[at % 2])
                    same_elements(found, expected)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"max_gram_length": 4}, "1 <= min_gram_length <= max_gram_length <= 3"),
        ({"min_gram_length": 0}, "1 <= min_gram_length <= max_gram_length <= 3"),
        ({"max_skip_count": -1}, "max_skip_count >= 0"),
        ({"ngram_counts": [0, 3, 8]}, "which do not divide its pool of 11 into whole n-grams"),
        ({"ngram_counts": [1, 2, 8]}, "which do not divide its pool of 11 into whole n-grams"),
        (
            {"ngram_indexes": [0, 1, 4, 3, 2], "weights": WEIGHTS[1:]},
            "a place that is at least 0 for each of 6 n-grams",
        ),
        (
            {"ngram_indexes": [0, 1, 5, 4, 3, -2]},
            "ngram_indexes must be non-empty with no negative values",
        ),
        (
            {"weights": WEIGHTS[1:]},
            "weights of TfIdfVectorizer must have as many elements as ngram_indexes",
        ),
        (
            {"ngram_indexes": [0, 1, 5, 5, 3, 2]},
            "ngram_indexes must have each place from 0 to 5 once",
        ),
        (
            {"ngram_indexes": [0, 1, 6, 4, 3, 2]},
            "ngram_indexes must have each place from 0 to 5 once",
        ),
    ],
)
def test_a_pool_that_makes_no_sense_is_refused(
    tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    lengths = {"min_gram_length": 1, "max_gram_length": 3, "max_skip_count": 0, "mode": "TF"}
    feeds = {"x": WORDS}
    model = one_node_model("TfIdfVectorizer", feeds, 13, **{**POOL, **lengths, **changed})
    with pytest.raises(AtcError, match=message):
        run_on_newer_list(model, feeds, tmp_path)
