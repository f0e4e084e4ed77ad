"""Samples in folders for a model with AIPP: pictures, and arrays or bytes of inputs."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.diag import BAD_RUN_INPUT, Sink
from atc_py.options.aipp import settings_of_bytes
from atc_py.options.aipp.pictures import read_picture
from atc_py.package.schema import OmModel
from atc_py.pipeline.running.array_files import array_headers
from atc_py.pipeline.running.feeds import read_feeds
from atc_py.pipeline.running.model import Port
from atc_py.pipeline.running.picture_files import is_picture_file, joined_input
from atc_py.pipeline.running.pictures import filled
from atc_py.pipeline.running.sample_files import (
    batches,
    entries,
    files_of_sample,
    require_same_count,
)
from atc_py.results.picture_inputs import PictureInput, picture_inputs
from atc_py.tensor.shapes import closed_shape, element_count
from atc_py.text import Text

Feeds = Mapping[str, NDArray[Any]]
NamedFile = tuple[str | None, Path]


_AXES = (2, 3)
"""Axes of an array that is a picture: gray [H, W], or RGB [H, W, 3]."""

_CHANNELS = 3

_WITH_SHAPES = frozenset({".npy", ".npz", ".pb"})
"""Suffixes of files that say the shapes of their arrays."""


class PictureFolders:
    """Samples in folders, in the order of their names: as many pictures for one as its input takes.

    A file is a picture by its suffix. A uint8 .npy of the shape [H, W, 3] or [H, W] is one, too, unless
    that is the shape of the input. All other files are what `run` takes. A folder in the folder
    holds the files of one sample.

    Attributes:
        fits: for each sample or, where an input takes several pictures, for each picture, whether
            it has the size that the model takes; empty unless that was asked for.
    """

    def __init__(
        self,
        named: Sequence[NamedFile],
        description: OmModel,
        ports: Sequence[Port],
        settings: Feeds,
        *,
        fitting: bool = False,
    ) -> None:
        """Find the files; with `fitting`, leave out other sizes and shapes than the model takes."""
        self._description, self._ports, self._settings = description, ports, settings
        hidden = {port.name for port in ports if port.hidden}
        self._inputs = {
            each.name: each for each in picture_inputs(description) if each.name not in hidden
        }
        self.fits: dict[str, bool] = {}
        columns = [self._column(name, path, fitting=fitting) for name, path in named]
        require_same_count(named, columns)
        rows = [
            [
                (name, each)
                for (name, _), own in zip(named, columns, strict=True)
                for each in own[at]
            ]
            for at in range(len(columns[0]))
        ]
        self._rows = [row for row in rows if not fitting or self._is_fitting(row)]
        self.count = len(self._rows)

    def __iter__(self) -> Iterator[tuple[str, dict[str, NDArray[Any]]]]:
        for row in self._rows:
            yield str(row[0][1]), self._feeds(row)

    def _column(self, name: str | None, folder: Path, *, fitting: bool) -> Sequence[Sequence[Path]]:
        found = entries(folder)
        target = self._input(name)
        size = 1 if target is None else target.features[0]
        if target is None or size == 1 or not all(self._is_picture(target, each) for each in found):
            return [[each] for each in found]
        if fitting:
            found = [each for each in found if self._is_fitting([(name, each)])]
        return batches(found, size, folder)

    def _input(self, name: str | None) -> PictureInput | None:
        if name is not None:
            return self._inputs.get(name)
        (first, *others) = self._inputs.values() or (None,)
        return None if others else first

    def _is_picture(self, target: PictureInput | None, path: Path) -> bool:
        if target is None or path.is_dir():
            return False
        if path.suffix.lower() != ".npy":
            return is_picture_file(path)
        (found,) = array_headers(path)
        is_gray = len(found.shape) == _AXES[0]
        is_picture = is_gray or (len(found.shape) == _AXES[1] and found.shape[2] == _CHANNELS)
        return found.dtype == "uint8" and is_picture and found.shape != target.shape

    def _is_fitting(self, row: Sequence[NamedFile]) -> bool:
        """True if all files of a sample have the sizes that the model takes; note it."""
        found = all(
            self._has_size(name, path)
            for own, entry in row
            for name, path in files_of_sample(own, entry, self._ports)
        )
        self.fits[str(row[0][1])] = found
        return found

    def _has_size(self, name: str | None, path: Path) -> bool:
        target = self._input(name)
        if target is not None and self._is_picture(target, path):
            return read_picture(path).shape[:2] == self._size(target)
        if path.suffix.lower() not in _WITH_SHAPES:
            return self._has_bytes(name, path)
        shapes = {port.name: port.shape for port in self._ports}
        read = read_feeds([_text(name, path)], self._ports, Sink())
        return all(array.shape == shapes[each] for each, array in read.items())

    def _has_bytes(self, name: str | None, path: Path) -> bool:
        """True if a raw file is as long as its input, or shorter where that may be."""
        open_ports = [port for port in self._ports if not port.hidden]
        found = [port for port in self._ports if port.name == name] or open_ports
        if len(found) != 1:
            return True  # to read it says what is wrong with it
        wanted = element_count(closed_shape(found[0].shape)) * found[0].dtype.itemsize
        size = path.stat().st_size
        return 0 < size <= wanted if found[0].partial else size == wanted

    def _size(self, target: PictureInput) -> tuple[int, int]:
        settings = target.settings
        buffer = self._settings.get(target.parameters or "")
        if buffer is not None:
            settings = settings_of_bytes(buffer.tobytes())[0]
        return settings.src_image_size_h, settings.src_image_size_w

    def _feeds(self, row: Sequence[NamedFile]) -> dict[str, NDArray[Any]]:
        texts: list[str] = []
        pictures: dict[str, list[Path]] = {}
        for own, entry in row:
            for name, path in files_of_sample(own, entry, self._ports):
                target = self._input(name)
                if target is not None and self._is_picture(target, path):
                    pictures.setdefault(target.name, []).append(path)
                else:
                    texts.append(_text(name, path))
        feeds: dict[str, NDArray[np.generic]] = read_feeds(texts, self._ports, Sink())
        for name, paths in pictures.items():
            if name in feeds:
                raise BAD_RUN_INPUT.error(
                    Text("data for {name} are given twice, as pictures and as bytes", name=name),
                    help=Text("give them once"),
                )
            feeds[name] = _joined(self._inputs[name], paths, {**self._settings, **feeds})
        return filled(self._description, feeds)


def _joined(target: PictureInput, paths: Sequence[Path], settings: Feeds) -> NDArray[Any]:
    if len(paths) != target.features[0]:
        raise BAD_RUN_INPUT.error(
            Text(
                "{parent} has {count} pictures for {target} in one sample, which takes {features}",
                parent=paths[0].parent,
                count=len(paths),
                target=repr(target.name),
                features=target.features[0],
            ),
            help=Text("give {features} pictures for each sample", features=target.features[0]),
        )
    return joined_input(target, paths, settings)


def _text(name: str | None, path: Path) -> str:
    return str(path) if name is None else f"{name}={path}"
