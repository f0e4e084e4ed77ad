"""The original's outputs for many samples: what trials of dtypes are judged by, in little memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from atc_py.compare.reference import ReferenceModel, ReferenceRun
from atc_py.pipeline.running.stored_array import StoredArray, stored_array

Feeds = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class RecordedOutputs:
    """The outputs of one run of the original, in files."""

    outputs: Mapping[str, StoredArray]  # by name; those that no file can hold are not among them
    seconds: float


@dataclass(frozen=True)
class StoredSamples:
    """Samples and the original's outputs in files, for other processes."""

    feeds: tuple[Mapping[str, StoredArray], ...]  # what the compiled model is fed in each sample
    runs: tuple[RecordedOutputs, ...]  # the original's outputs in each

    def opened(self, reference: ReferenceModel) -> Iterator[tuple[Feeds, OutputRun]]:
        """Yield the arrays of each sample, and the original's outputs."""
        for files, run in zip(self.feeds, self.runs, strict=True):
            feeds = {name: each.read() for name, each in files.items()}
            yield feeds, OutputRun(run, reference, feeds)


class TrialSamples:
    """Samples with the original's outputs, which are written to files.

    Each pass over them reads the samples again.
    """

    def __init__(
        self,
        reference: ReferenceModel,
        feeds: Callable[[], Iterable[Feeds]],
        originals: Callable[[Feeds], Feeds],
        folder: Path,
    ) -> None:
        """Run the original on samples.

        Args:
            reference: the original.
            feeds: reads the samples, the same each time.
            originals: returns what the original is fed for a sample.
            folder: where the outputs go; it must outlive this.

        Raises:
            AtcError: REFERENCE_FAILED; CANNOT_WRITE where the folder takes no more.
        """
        self._reference, self._feeds, self._originals = reference, feeds, originals
        self._folder = folder
        self._runs = [
            _recorded(reference, originals(each), folder / f"outputs{at}")
            for at, each in enumerate(feeds())
        ]
        self.count = len(self._runs)

    def __iter__(self) -> Iterator[tuple[Feeds, OutputRun]]:
        """Yield the arrays of each sample, and the original's outputs."""
        for run, feeds in zip(self._runs, self._feeds(), strict=True):
            yield feeds, OutputRun(run, self._reference, self._originals(feeds))

    def stored(self) -> StoredSamples:
        """Write the samples, too, so that other processes can read them.

        Raises:
            AtcError: CANNOT_WRITE.
        """
        feeds = tuple(
            {
                name: stored_array(array, self._folder / f"feeds{at}-{place}.bin")
                for place, (name, array) in enumerate(each.items())
            }
            for at, each in enumerate(self._feeds())
        )
        return StoredSamples(feeds, tuple(self._runs))


class OutputRun:
    """Recorded outputs as a run of the original; another value is computed again.

    Attributes:
        seconds: time of the run that was recorded.
        peak: bytes of values in memory.
        total: bytes of all values.
    """

    def __init__(self, recorded: RecordedOutputs, reference: ReferenceModel, feeds: Feeds) -> None:
        """Read `recorded`; `feeds` are what the original was fed."""
        self._recorded, self._reference, self._feeds = recorded, reference, feeds
        self._again: ReferenceRun | None = None
        self.seconds = recorded.seconds
        self.peak = self.total = 0

    def expect(self, names: Mapping[str, int]) -> None:
        """Run the original again if a value is awaited that was not recorded."""
        if not names.keys() <= self._recorded.outputs.keys():
            self._again = ReferenceRun(self._reference, self._feeds)
            self._again.expect(names)

    def value(self, name: str) -> NDArray[Any] | None:
        """The value called `name`; None where the model makes no tensor of that name."""
        if self._again is not None:
            return self._again.value(name)
        found = self._recorded.outputs.get(name)
        return None if found is None else found.read()

    def release(self, name: str) -> None:
        """Release `name` once."""
        if self._again is not None:
            self._again.release(name)


def _recorded(reference: ReferenceModel, feeds: Feeds, start: Path) -> RecordedOutputs:
    """Run the original once and write its outputs to files.

    Raises:
        AtcError: REFERENCE_FAILED; CANNOT_WRITE.
    """
    run = ReferenceRun(reference, feeds)
    run.expect(dict.fromkeys(reference.outputs, 1))
    found = {}
    for at, name in enumerate(reference.outputs):
        array = run.value(name)
        if array is not None and array.dtype.kind not in "OSU":
            found[name] = stored_array(array, start.with_name(f"{start.name}-{at}.bin"))
        run.release(name)
    return RecordedOutputs(found, run.seconds)
