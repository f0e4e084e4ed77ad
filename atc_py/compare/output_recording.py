"""The original's outputs for many samples: what trials of dtypes are judged by, in little memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.compare.reference import ReferenceRun
from atc_py.diag import Place
from atc_py.diag.codes import CANNOT_WRITE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from atc_py.compare.reference import ReferenceModel

    Feeds = Mapping[str, NDArray[Any]]

__all__ = ["JudgedSamples"]


class JudgedSamples:
    """Samples with the original's outputs, which are written to files.

    Each pass over them reads the samples again.

    Attributes:
        count: how many there are.
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
        self._feeds, self._originals = feeds, originals
        self._runs = [
            _OutputRun(reference, originals(each), folder / f"outputs{at}")
            for at, each in enumerate(feeds())
        ]
        self.count = len(self._runs)

    def __iter__(self) -> Iterator[tuple[Feeds, _OutputRun]]:
        """Yield the arrays of each sample, and the original's outputs."""
        for run, feeds in zip(self._runs, self._feeds(), strict=True):
            yield feeds, run.reading(self._originals(feeds))


class _OutputRun:
    """Outputs of one run of the original; another value is computed again.

    Attributes:
        seconds: time of the run that was recorded.
        peak: bytes of values in memory.
        total: bytes of all outputs.
    """

    def __init__(self, reference: ReferenceModel, feeds: Feeds, start: Path) -> None:
        self._reference = reference
        self._feeds: Feeds = {}
        self._again: ReferenceRun | None = None
        self.peak = self.total = 0
        self._files: dict[str, tuple[Path, NDArray[Any]]] = {}
        run = ReferenceRun(reference, feeds)
        run.expect(dict.fromkeys(reference.outputs, 1))
        for at, name in enumerate(reference.outputs):
            array = run.value(name)
            if array is not None and array.dtype.kind not in "OSU":
                self._write(name, start.with_name(f"{start.name}-{at}.bin"), array)
            run.release(name)
        self.seconds = run.seconds

    def reading(self, feeds: Feeds) -> _OutputRun:
        """Return this run, which computes from `feeds` what was not recorded."""
        self._feeds, self._again = feeds, None
        return self

    def expect(self, names: Mapping[str, int]) -> None:
        """Run the original again if a value is awaited that was not recorded."""
        if not names.keys() <= self._files.keys():
            self._again = ReferenceRun(self._reference, self._feeds)
            self._again.expect(names)

    def value(self, name: str) -> NDArray[Any] | None:
        """Return the value called `name`; None where the model makes no tensor of that name."""
        if self._again is not None:
            return self._again.value(name)
        found = self._files.get(name)
        if found is None:
            return None
        path, like = found
        return np.fromfile(path, like.dtype).reshape(like.shape)

    def release(self, name: str) -> None:
        """Release `name` once."""
        if self._again is not None:
            self._again.release(name)

    def _write(self, name: str, path: Path, array: NDArray[Any]) -> None:
        """Write an output to a file.

        Raises:
            AtcError: CANNOT_WRITE.
        """
        try:
            array.tofile(path)
        except OSError as error:
            raise CANNOT_WRITE.error(
                f"no room for the original's outputs: {error.strerror or error}",
                place=Place(str(path)),
            ) from error
        self.total += array.nbytes
        # A view of one element has the shape and the dtype, and holds nothing.
        self._files[name] = path, np.broadcast_to(array.dtype.type(), array.shape)
