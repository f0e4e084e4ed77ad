"""Samples in folders: one file, or one folder, for each sample."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from atc_py.diag import NO_SAMPLES, Place, Sink
from atc_py.pipeline.running.feeds import read_feeds
from atc_py.pipeline.running.model import Port
from atc_py.text import Text

_ONNX_NAME = re.compile(r"input_(\d+)\.pb")
"""Names of inputs in ONNX's folders of test data."""

_ASIDE = re.compile(r"\..*|output_.*\.pb", re.DOTALL)
"""Hidden files, and the results in ONNX's folders of test data."""


class FileSamples:
    """Samples in files that `run` takes, in the order of their names."""

    def __init__(
        self,
        named: Sequence[tuple[str | None, Path]],
        ports: Sequence[Port],
        sink: Sink,
        positions: Sequence[int] | None = None,
    ) -> None:
        """Find the files; of several samples, those at `positions`."""
        self._named, self._ports, self._sink = named, ports, sink
        columns = [entries(path) for _, path in named]
        require_same_count(named, columns)
        chosen = range(len(columns[0])) if positions is None else positions
        self.count = len(chosen)
        self._rows = [
            [(name, own[at]) for (name, _), own in zip(named, columns, strict=True)]
            for at in chosen
        ]

    def chosen(self, positions: Sequence[int]) -> FileSamples:
        return FileSamples(self._named, self._ports, self._sink, positions)

    def __iter__(self) -> Iterator[tuple[str, dict[str, NDArray[Any]]]]:
        for row in self._rows:
            files = [
                each for name, path in row for each in files_of_sample(name, path, self._ports)
            ]
            texts = [str(path) if name is None else f"{name}={path}" for name, path in files]
            yield str(row[0][1]), read_feeds(texts, self._ports, self._sink)


def require_same_count(
    named: Sequence[tuple[str | None, Path]], columns: Sequence[Sequence[object]]
) -> None:
    counts = {str(path): len(own) for (_, path), own in zip(named, columns, strict=True)}
    if len(set(counts.values())) != 1:
        raise NO_SAMPLES.error(
            Text(
                "folders have different numbers of samples: {counts}",
                counts=", ".join(f"{path}: {count}" for path, count in counts.items()),
            ),
            help=Text("give each input a file for each sample"),
        )


def files_of_sample(
    name: str | None, path: Path, ports: Sequence[Port]
) -> list[tuple[str | None, Path]]:
    """The files of a sample, each with its input; None where the name does not say it."""
    if not path.is_dir():
        return [(name, path)]
    known = {port.name for port in ports}
    found: list[tuple[str | None, Path]] = []
    for each in entries(path):
        numbered = _ONNX_NAME.fullmatch(each.name)
        if numbered and int(numbered[1]) < len(ports):
            found.append((ports[int(numbered[1])].name, each))
        else:
            found.append((each.stem if each.stem in known else name, each))
    return found


def batches(paths: Sequence[Path], size: int, folder: Path) -> list[Sequence[Path]]:
    """Pictures in groups of as many as the model takes at a time, in their order.

    Raises:
        AtcError: NO_SAMPLES for part of a group.
    """
    if len(paths) % size:
        raise NO_SAMPLES.error(
            Text(
                "{folder} has {count} pictures, the model takes {size} at a time",
                folder=folder,
                count=len(paths),
                size=size,
            ),
            place=Place(str(folder)),
            help=Text("give a multiple of {size} pictures", size=size),
        )
    return [paths[at : at + size] for at in range(0, len(paths), size)]


def entries(path: Path) -> list[Path]:
    """Entries of a folder, in order of names; a file itself.

    Raises:
        AtcError: NO_SAMPLES.
    """
    if not path.is_dir():
        return [path]
    found = sorted(each for each in path.iterdir() if not _ASIDE.fullmatch(each.name))
    if not found:
        raise NO_SAMPLES.error(
            Text("the folder {path} has no samples", path=path),
            place=Place(str(path)),
            help=Text("put a .npy, .npz, .pb or raw file into it for each sample"),
        )
    return found
