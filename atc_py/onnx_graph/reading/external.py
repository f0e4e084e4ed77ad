"""Weights in files beside the model: where they may be, and which byte range a tensor is."""

from collections.abc import Mapping
from pathlib import Path, PureWindowsPath
from typing import NamedTuple

from atc_py.diag import Place
from atc_py.diag.codes import BAD_TENSOR, EXTERNAL_DATA_MISSING, EXTERNAL_DATA_OUTSIDE
from atc_py.onnx_graph.reading.mapped import MappedFile
from atc_py.text import Text, os_reason

_MAX_DIGITS = 18
"""Offsets and lengths of more digits are refused; no file is that long."""


class ByteRange(NamedTuple):
    """Bytes of a mapped file."""

    file: MappedFile
    start: int
    size: int


class ExternalFiles:
    """The weight files of one model; each is mapped once, however many tensors it holds."""

    def __init__(self, model: Path) -> None:
        self._folder = model.parent
        self._files: dict[Path, MappedFile] = {}

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that are mapped."""
        return tuple(self._files)

    def locate(self, entries: Mapping[str, str], wanted: int, place: Place) -> ByteRange:
        """Return where a tensor of `wanted` bytes is stored, by its external_data entries.

        Raises:
            AtcError: EXTERNAL_DATA_OUTSIDE for a file that is not in the model's folder,
                EXTERNAL_DATA_MISSING for one that is not there or too short, BAD_TENSOR for
                entries that make no sense or a length other than `wanted`.
        """
        location = entries.get("location", "")
        if not location:
            raise BAD_TENSOR.error("external data without a location", place=place)
        start = number_entry(entries, "offset", 0, place)
        size = number_entry(entries, "length", wanted, place)
        if size != wanted:
            message = Text(
                "{size} bytes of external data, but dtype and shape ask for {wanted}",
                size=size,
                wanted=wanted,
            )
            raise BAD_TENSOR.error(message, place=place)
        file = self._file(location, place)
        if start + size > file.size:
            message = Text(
                "bytes {start} to {start_2} of {location}, which has {size}",
                start=start,
                start_2=start + size,
                location=repr(location),
                size=file.size,
            )
            raise EXTERNAL_DATA_MISSING.error(message, place=place)
        return ByteRange(file, start, size)

    def _file(self, location: str, place: Place) -> MappedFile:
        """The weight file called `location`, mapped."""
        path = self._path_inside(location, place)
        if path not in self._files:
            try:
                self._files[path] = MappedFile(path)
            except OSError as error:
                message = Text(
                    "the weight file {location} cannot be read: {strerror}",
                    location=repr(location),
                    strerror=os_reason(error),
                )
                raise EXTERNAL_DATA_MISSING.error(message, place=place) from error
        return self._files[path]

    def _path_inside(self, location: str, place: Place) -> Path:
        """The path of `location`, which must be in the model's folder, links followed."""
        if "\0" in location:
            raise BAD_TENSOR.error("the location of external data holds a NUL byte", place=place)
        path = self._folder / location
        # Windows' rules include POSIX' ones, so a model is refused on all systems or on none.
        windows = PureWindowsPath(location)
        rooted = bool(windows.anchor) or Path(location).is_absolute()
        try:
            real = path.resolve()
            inside = not rooted and ".." not in windows.parts
            inside = inside and real.is_relative_to(self._folder.resolve())
        except (OSError, RuntimeError) as error:
            message = Text(
                "the weight file {location} cannot be found: {error}",
                location=repr(location),
                error=error,
            )
            raise EXTERNAL_DATA_MISSING.error(message, place=place) from error
        if not inside:
            message = Text(
                "the weight file {location} is not in the model's folder", location=repr(location)
            )
            raise EXTERNAL_DATA_OUTSIDE.error(message, place=place)
        return real


def number_entry(entries: Mapping[str, str], key: str, default: int, place: Place) -> int:
    """The whole number under `key`."""
    text = entries.get(key)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        message = Text(
            "{key} of external data must be a whole number, found {text}",
            key=key,
            text=repr(text[:40]),
        )
        raise BAD_TENSOR.error(message, place=place)
    return int(text)
