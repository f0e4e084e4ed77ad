"""Samples in folders: one file, or one folder, for each sample."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from atc_py.diag import Place
from atc_py.diag.codes import NO_SAMPLES
from atc_py.running.feeds import read_feeds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from atc_py.diag import Sink
    from atc_py.running.model import Port

__all__ = ["FileSamples", "entries"]

_ONNX_NAME = re.compile(r"input_(\d+)\.pb")
"""Names of inputs in ONNX's folders of test data."""


class FileSamples:
    """Samples in files that `run` takes, in the order of their names.

    Attributes:
        count: how many there are.
    """

    def __init__(
        self, named: Sequence[tuple[str | None, Path]], ports: Sequence[Port], sink: Sink
    ) -> None:
        """Find the files.

        Raises:
            AtcError: NO_SAMPLES for a folder without files, and for folders of different lengths.
        """
        self._ports, self._sink = ports, sink
        columns = [(name, entries(path)) for name, path in named]
        counts = {
            str(path): len(entries) for (_, path), (_, entries) in zip(named, columns, strict=True)
        }
        if len(set(counts.values())) != 1:
            raise NO_SAMPLES.error(
                "folders have different numbers of samples: "
                + ", ".join(f"{path}: {count}" for path, count in counts.items()),
                help="give each input a file for each sample",
            )
        self.count = next(iter(counts.values()))
        self._rows = [
            [(name, entries[at]) for name, entries in columns] for at in range(self.count)
        ]

    def __iter__(self) -> Iterator[tuple[str, dict[str, NDArray[Any]]]]:
        """Yield the samples."""
        for row in self._rows:
            texts = [text for name, path in row for text in self._texts(name, path)]
            yield str(row[0][1]), read_feeds(texts, self._ports, self._sink)

    def _texts(self, name: str | None, path: Path) -> list[str]:
        """Return what `run` would take for a sample."""
        if path.is_dir():
            return [self._of_folder(each) for each in entries(path)]
        return [str(path) if name is None else f"{name}={path}"]

    def _of_folder(self, path: Path) -> str:
        """Return a file of a folder with the input that its name says."""
        numbered = _ONNX_NAME.fullmatch(path.name)
        if numbered and int(numbered[1]) < len(self._ports):
            return f"{self._ports[int(numbered[1])].name}={path}"
        known = {port.name for port in self._ports}
        return f"{path.stem}={path}" if path.stem in known else str(path)


def entries(path: Path) -> list[Path]:
    """Return what a folder holds, in order of names; of a file, itself.

    Raises:
        AtcError: NO_SAMPLES.
    """
    if not path.is_dir():
        return [path]
    found = sorted(each for each in path.iterdir() if not _is_aside(each.name))
    if not found:
        raise NO_SAMPLES.error(
            f"the folder {path} has no samples",
            place=Place(str(path)),
            help="put a .npy, .npz, .pb or raw file into it for each sample",
        )
    return found


def _is_aside(name: str) -> bool:
    """Return True for hidden files, and for the results in ONNX's folders of test data."""
    return name.startswith(".") or (name.startswith("output_") and name.endswith(".pb"))
