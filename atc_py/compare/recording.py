"""The original's values, computed once and kept for many comparisons."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from atc_py.compare.reference import ReferenceModel, ReferenceRun
from atc_py.running.stored_array import stored_array
from atc_py.system.folders import make_folder

HELD_BYTES = 256 << 20
"""Bytes of values that stay in memory; those beyond go to files."""


class Recording:
    """All values of one run of the original.

    Attributes:
        seconds: time of the run that was recorded.
        peak: bytes of values in memory.
        total: bytes of all values.
    """

    def __init__(
        self,
        model: ReferenceModel,
        feeds: Mapping[str, NDArray[Any]],
        folder: Path,
        held_bytes: int = HELD_BYTES,
    ) -> None:
        """Run `model` on `feeds`.

        Args:
            model: the original.
            feeds: its inputs by name.
            folder: where values go that do not fit in memory; it is made when it is needed, is this
                recording's alone, and must outlive it.
            held_bytes: bytes of values that stay in memory.

        Raises:
            AtcError: REFERENCE_FAILED; CANNOT_WRITE where the folder takes no more.
        """
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
        """Return the value called `name`; None where the model makes no tensor of that name."""
        return self._values.get(name)

    def release(self, name: str) -> None:
        """Do nothing: another comparison may ask again."""

    def _kept_array(self, array: NDArray[Any], held_bytes: int) -> NDArray[Any]:
        """Return `array`, or the same in a file where memory is for others."""
        if not array.nbytes or self.peak + array.nbytes <= held_bytes:
            self.peak += array.nbytes
            return array
        make_folder(self._folder)
        return stored_array(array, self._folder / f"{len(self._values)}.bin").mapped()
