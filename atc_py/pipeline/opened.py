"""Offline models opened for reading; ONNX models are compiled first."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from atc_py.system.temp_folders import work_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from atc_py.package.reader import OfflineModel

__all__ = ["is_offline", "opened_model"]


@contextmanager
def opened_model(path: Path, **options: Any) -> Iterator[OfflineModel]:
    """The offline model `path`; an ONNX model is compiled to one that goes away again.

    Args:
        path: an offline model, or an ONNX model.
        options: as `atc_py.convert` takes them; without meaning for an offline model.

    Raises:
        AtcError: the file cannot be read or compiled.
    """
    from atc_py.package.reader import open_model
    from atc_py.pipeline.convert import convert

    if is_offline(path):
        with open_model(path) as model:
            yield model
        return
    with work_folder() as folder:
        compiled = folder / "model.om"
        convert(path, compiled, **options)
        with open_model(compiled) as model:
            yield model


def is_offline(path: Path) -> bool:
    """Whether the file begins as an archive does; the readers say what else is wrong with it.

    Pipes and devices are left to the readers, too: to open one may take for ever.
    """
    try:
        if not path.is_file():
            return path.suffix == ".om"
        with path.open("rb") as file:
            return file.read(2) == b"PK"
    except OSError:
        return path.suffix == ".om"
