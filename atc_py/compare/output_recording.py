"""Recorded runs of the original: all values of few samples, or the outputs of many, in little memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from atc_py.compare.paired_run import Original
from atc_py.compare.reference import ReferenceModel
from atc_py.compare.reference_run import ReferenceRun
from atc_py.pipeline.running.stored_array import StoredArray, stored_array
from atc_py.system.atomic_files import make_folder

Feeds = Mapping[str, NDArray[Any]]

_NO_FILE = "OSU"
"""Kinds of arrays that no file can hold: objects and texts."""


HELD_BYTES = 256 << 20
"""Bytes of values that stay in memory; those beyond go to files."""


class Recording:
    """All values of one run of the original."""

    def __init__(
        self,
        model: ReferenceModel,
        feeds: Mapping[str, NDArray[Any]],
        folder: Path,
        held_bytes: int = HELD_BYTES,
    ) -> None:
        """Run `model` on `feeds`; values beyond `held_bytes` go to files.

        The folder is made when it is needed, is this recording's alone, and must outlive it.
        """
        self._model = model
        self._values: dict[str, NDArray[Any]] = {}
        self._folder = folder
        self.peak = 0
        run = ReferenceRun(model, feeds)
        names = dict.fromkeys(model.inputs)
        names |= dict.fromkeys(name for piece in model.pieces for name in piece.writes)
        run.expect(dict.fromkeys(names, 1))
        for name in names:
            array = run.value(name)
            if array is not None:
                self._values[name] = self._kept_array(array, held_bytes)
            run.release(name)
        self.seconds = run.seconds
        self.total = sum(array.nbytes for array in self._values.values())

    def expect(self, names: Mapping[str, int]) -> None:
        """Do nothing: every value is recorded."""

    def value(self, name: str) -> NDArray[Any] | None:
        found = self._values.get(name)
        return self._model.made_constant(name) if found is None else found

    def release(self, name: str) -> None:
        """Do nothing: another comparison may ask again."""

    def _kept_array(self, array: NDArray[Any], held_bytes: int) -> NDArray[Any]:
        """`array`, or the same in a file where memory is for others."""
        if not array.nbytes or self.peak + array.nbytes <= held_bytes:
            self.peak += array.nbytes
            return array
        make_folder(self._folder)
        return stored_array(array, self._folder / f"{len(self._values)}.bin").mapped()


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
    """Samples with the original's outputs, in files; each pass reads the samples again."""

    def __init__(
        self,
        reference: ReferenceModel,
        feeds: Callable[[], Iterable[Feeds]],
        originals: Callable[[Feeds], Feeds],
        runs: Sequence[RecordedOutputs],
        folder: Path,
    ) -> None:
        """Take what reads the samples, the same each time, and what the original is fed for one.

        `runs` are the original's outputs in each; `folder`, which must outlive this, is for samples
        that other processes read.
        """
        self._reference, self._feeds, self._originals = reference, feeds, originals
        self._folder, self._runs = folder, runs
        self.count = len(runs)

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
    """Recorded outputs as a run of the original; another value is computed again."""

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
        if self._again is not None:
            found = self._again.value(name)
            self.seconds = self._again.seconds
            return found
        stored = self._recorded.outputs.get(name)
        return None if stored is None else stored.read()

    def release(self, name: str) -> None:
        if self._again is not None:
            self._again.release(name)


class WatchedRun(ReferenceRun):
    """A run of the original whose outputs are written to files as they are looked at."""

    def __init__(self, model: ReferenceModel, feeds: Feeds, start: Path) -> None:
        """Prepare a run; names of files begin with `start`."""
        super().__init__(model, feeds)
        self._start = start
        self._found: dict[str, StoredArray] = {}

    @property
    def recorded(self) -> RecordedOutputs | None:
        """The outputs; None while some were not looked at."""
        if self._found.keys() >= set(self._model.outputs):
            return RecordedOutputs(self._found, self.seconds)
        return None

    def value(self, name: str) -> NDArray[Any] | None:
        array = super().value(name)
        fresh = name in self._model.outputs and name not in self._found
        if fresh and array is not None and array.dtype.kind not in _NO_FILE:
            self._found[name] = _stored(array, self._start, len(self._found))
        return array


def recorded_outputs(run: Original, outputs: Collection[str], start: Path) -> RecordedOutputs:
    """Write the outputs of a run of the original to files whose names begin with `start`."""
    run.expect(dict.fromkeys(outputs, 1))
    found = {}
    for at, name in enumerate(outputs):
        array = run.value(name)
        if array is not None and array.dtype.kind not in _NO_FILE:
            found[name] = _stored(array, start, at)
        run.release(name)
    return RecordedOutputs(found, run.seconds)


def _stored(array: NDArray[Any], start: Path, at: int) -> StoredArray:
    return stored_array(array, start.with_name(f"{start.name}-{at}.bin"))
