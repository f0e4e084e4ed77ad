"""The file of `--resume`: histograms of a calibration that was interrupted, or that gets more samples."""

import hashlib
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from atc_py.diag import BAD_HISTOGRAM, Place
from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.system.atomic_files import atomic_write
from atc_py.system.cache_folders import exists
from atc_py.system.input_files import read_bytes
from atc_py.text import Text, plain_text

_FORMAT = "atc-py histograms 1"
_MOST_BYTES = 1 << 30
_PACE = 10.0
"""Seconds between two writes."""


class _Stored(msgspec.Struct, frozen=True):
    """Content of the file."""

    format: str  # name and version of the format
    digest: str  # of the model and of the names of the tensors
    samples: int  # how many samples have been counted
    histograms: dict[str, bytes]  # by tensor


class Checkpoint:
    """Histograms in a file, which is replaced as a whole now and then."""

    def __init__(self, path: Path, digest: str) -> None:
        self._path, self._digest = path, digest
        self._samples = self._kept = 0
        self._written = time.monotonic()

    def load(self, histograms: dict[str, Histogram]) -> int:
        """Put what the file holds into `histograms`; return how many samples that are.

        Raises:
            AtcError: BAD_HISTOGRAM for a file that is damaged, or of another model.
        """
        if not exists(self._path):
            return 0
        place = Place(str(self._path))
        data = read_bytes(self._path, _MOST_BYTES, own=True)
        try:
            result = msgspec.msgpack.decode(data, type=_Stored)
        except msgspec.DecodeError as error:
            raise BAD_HISTOGRAM.error(
                Text("it holds no histograms: {error}", error=error), place=place
            ) from None
        if result.format != _FORMAT or result.samples < 0:
            raise BAD_HISTOGRAM.error(
                Text("its format is {format}", format=repr(result.format[:80])), place=place
            )
        if result.digest != self._digest or result.histograms.keys() != histograms.keys():
            raise BAD_HISTOGRAM.error(
                Text(
                    "it has histograms of another model, or of other layers or rewrites of this one"
                ),
                place=place,
                help=Text("give the options that it was written with, or delete the file"),
            )
        histograms.update(
            {
                name: Histogram.from_bytes(histogram, place)
                for name, histogram in result.histograms.items()
            }
        )
        self._samples = self._kept = result.samples
        return result.samples

    def counted(self, samples: int) -> None:
        self._samples = samples

    def write_if_due(self, histograms: Mapping[str, Histogram]) -> None:
        """Write what has been counted if the last time is long ago."""
        if time.monotonic() - self._written >= _PACE:
            self.write(histograms)

    def write(self, histograms: Mapping[str, Histogram]) -> None:
        """Write what has been counted.

        Raises:
            AtcError: CANNOT_WRITE.
        """
        if self._samples == self._kept:
            return
        results = {name: histogram.as_bytes() for name, histogram in histograms.items()}
        stored = _Stored(_FORMAT, self._digest, self._samples, results)
        with atomic_write(self._path) as file:
            file.write(msgspec.msgpack.encode(stored, enc_hook=plain_text))
        self._kept, self._written = self._samples, time.monotonic()


def digest_of(model: Path, names: Iterable[str]) -> str:
    result = hashlib.sha256()
    with model.open("rb") as file:
        while block := file.read(1 << 20):
            result.update(block)
    for name in names:
        result.update(b"\0" + name.encode())
    return result.hexdigest()
