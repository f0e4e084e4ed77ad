"""Classes by scores: on how many rows both sides agree.

An output of scores has floats of shape [N, classes], two classes or more, and N rows as the model's inputs have samples: N is the first dimension of an input of rank 2 or more. Logits and probabilities rank alike. A regression of that shape looks the same and is counted too.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.results.judgment import Ranking
from atc_py.tensor.sameness import best_places

_FEW = 5
"""How many of the device's highest scores the second figure looks at."""


def holds_scores(scores: NDArray[Any], inputs: Iterable[tuple[int, ...]]) -> bool:
    """True if a float output has a row of scores for each sample; `inputs` are shapes."""
    if scores.ndim != 2 or scores.shape[1] < 2:  # noqa: PLR2004  (rank 2, two classes)
        return False
    return any(len(shape) > 1 and shape[0] == scores.shape[0] for shape in inputs)


class Ranks:
    """Counters of rows on whose classes both sides agree."""

    def __init__(self) -> None:
        self._rows = self._first = self._among = 0
        self._classes = 0

    def add(self, found: NDArray[Any], wanted: NDArray[Any]) -> None:
        """Add a pair of score matrices.

        Rows in which the original has NaN, or nothing finite, say nothing.
        """
        self._classes = wanted.shape[1]
        pair = found.astype(np.float64), wanted.astype(np.float64)
        places = zip(*pair, *map(best_places, pair), strict=True)
        for ours, theirs, first, best in places:
            if best < 0:
                continue
            self._rows += 1
            if first < 0:
                continue
            self._first += bool(theirs[first] == theirs[best])
            before = int((ours > ours[best]).sum() + (ours[:best] == ours[best]).sum())
            self._among += before < _FEW

    def ranking(self) -> Ranking | None:
        """The shares; None without rows."""
        if not self._rows:
            return None
        few = self._among / self._rows if self._classes > _FEW else None
        return Ranking(self._rows, self._first / self._rows, few)
