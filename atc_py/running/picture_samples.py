"""Samples for models whose inputs AIPP reads: folders of pictures, or of files as `run` takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from atc_py.diag import Place
from atc_py.diag.codes import NO_SAMPLES
from atc_py.results.picture_inputs import picture_inputs
from atc_py.running.feeds import read_feeds
from atc_py.running.picture_files import is_picture_file, joined_input
from atc_py.running.pictures import filled, require_settings
from atc_py.running.sample_files import entries, require_equal_counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from atc_py.diag import Sink
    from atc_py.package.schema import OmModel
    from atc_py.results.picture_inputs import PictureInput
    from atc_py.running.model import Port
    from atc_py.running.samples import Samples

    Feeds = Mapping[str, NDArray[Any]]

__all__ = ["FilledSamples", "PictureFolders", "has_pictures"]


class _Column(NamedTuple):
    """The files of one input.

    Attributes:
        name: of the input; None for files that say it themselves.
        pictures: the input that takes pictures; None where files hold arrays.
        rows: the files of each sample.
    """

    name: str | None
    pictures: PictureInput | None
    rows: Sequence[Sequence[Path]]


def has_pictures(named: Sequence[tuple[str | None, Path]]) -> bool:
    """Return True if a folder holds a picture, or a file is one."""
    return any(is_picture_file(each) for _, path in named for each in entries(path))


class PictureFolders:
    """Pictures in folders, as many for a sample as their input takes, in the order of their names.

    Attributes:
        count: number of samples.
    """

    def __init__(
        self,
        named: Sequence[tuple[str | None, Path]],
        description: OmModel,
        ports: Sequence[Port],
        given: Feeds,
        sink: Sink,
    ) -> None:
        """Find the files.

        Args:
            named: folders, or files, with the inputs that they are for; a picture without one is
                for the only input that takes pictures.
            description: of the compiled model.
            ports: the inputs that are in the samples.
            given: inputs that are the same in all samples, with settings of dynamic AIPP.
            sink: takes warnings.

        Raises:
            AtcError: NO_SAMPLES for part of a batch, for pictures whose input is not certain, beside
                other files, and for inputs of different numbers of samples.
        """
        require_settings(description, given)
        self._ports, self._given, self._sink = ports, given, sink
        inputs = {each.name: each for each in picture_inputs(description)}
        self._columns = [_column(name, path, inputs) for name, path in named]
        paths = (str(path) for _, path in named)
        counts = {path: len(own.rows) for path, own in zip(paths, self._columns, strict=True)}
        require_equal_counts(counts)
        self.count = len(self._columns[0].rows)

    def __iter__(self) -> Iterator[tuple[str, Feeds]]:
        """Yield the samples.

        Raises:
            AtcError: BAD_PICTURE, NO_PILLOW, BAD_RUN_INPUT; faults of files.
        """
        for at in range(self.count):
            feeds: dict[str, NDArray[Any]] = {}
            for name, pictures, rows in self._columns:
                if pictures is not None:
                    feeds[pictures.name] = joined_input(pictures, rows[at], self._given)
                else:
                    text = str(rows[at][0]) if name is None else f"{name}={rows[at][0]}"
                    feeds |= read_feeds([text], self._ports, self._sink)
            yield str(self._columns[0].rows[at][0]), feeds


class FilledSamples:
    """Samples whose bytes fill the inputs of dynamic AIPP, with zeros after them.

    Attributes:
        count: number of samples.
    """

    def __init__(self, samples: Samples, description: OmModel, given: Feeds) -> None:
        self._samples, self._description, self._given = samples, description, given
        self.count = samples.count

    def __iter__(self) -> Iterator[tuple[str, Feeds]]:
        """Yield the samples.

        Raises:
            AtcError: BAD_RUN_INPUT for fewer bytes than pictures have; what the samples raise.
        """
        for label, feeds in self._samples:
            yield label, filled(self._description, {**self._given, **feeds})


def _column(name: str | None, path: Path, inputs: Mapping[str, PictureInput]) -> _Column:
    """Return the files of an input, cut into samples.

    Raises:
        AtcError: NO_SAMPLES.
    """
    files = entries(path)
    pictures = [each for each in files if is_picture_file(each)]
    if not pictures:
        return _Column(name, None, [[each] for each in files])
    for each in files:
        if not is_picture_file(each):
            raise NO_SAMPLES.error(
                f"{path} has pictures, and {each.name}, which is none",
                place=Place(str(each)),
                help="put pictures into a folder of their own",
            )
    found = inputs.get(name) if name is not None else None
    if name is None and len(inputs) == 1:
        found = next(iter(inputs.values()))
    if found is None:
        raise NO_SAMPLES.error(
            f"{path} has pictures, and it is not certain which input takes them",
            place=Place(str(path)),
            help=f"write --samples NAME={path}; inputs of pictures are {', '.join(inputs)}",
        )
    count = found.features[0]
    if len(files) % count:
        raise NO_SAMPLES.error(
            f"{path} has {len(files)} pictures, the model takes {count} at a time",
            place=Place(str(path)),
            help=f"give a multiple of {count} pictures",
        )
    rows = [files[at : at + count] for at in range(0, len(files), count)]
    return _Column(found.name, found, rows)
