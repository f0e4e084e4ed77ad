"""Samples that judge trials, with the outputs in floats, in files: processes share them, memory has one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from atc_py.pipeline.running.stored_array import StoredArray, stored_array

Feeds = Mapping[str, NDArray[Any]]


class TrialSample(NamedTuple):
    """One sample.

    Attributes:
        feeds: what the model is fed.
        wanted: its outputs in floats, as far as a file can hold them.
    """

    feeds: Mapping[str, StoredArray]
    wanted: Mapping[str, StoredArray]


def stored_sample(feeds: Feeds, wanted: Feeds, start: Path) -> TrialSample:
    """Write the arrays of a sample to files whose names begin with that of `start`.

    Raises:
        AtcError: CANNOT_WRITE.
    """
    kept = {name: array for name, array in wanted.items() if array.dtype.kind not in "OSU"}
    return TrialSample(_stored(feeds, start, "feed"), _stored(kept, start, "output"))


def _stored(arrays: Feeds, start: Path, kind: str) -> dict[str, StoredArray]:
    return {
        name: stored_array(array, start.with_name(f"{start.name}-{kind}{at}.bin"))
        for at, (name, array) in enumerate(arrays.items())
    }
