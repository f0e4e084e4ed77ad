"""Kernels as files in a folder, with the headers that let them run on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Place
from atc_py.diag.codes import CANNOT_WRITE
from atc_py.system.atomic_files import atomic_write
from atc_py.system.resources import templates_dir

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["host_headers", "write_kernels"]


def host_headers() -> dict[str, str]:
    """Return text of every host header by its path below the folder of kernels: `host/...`."""
    folder = templates_dir() / "host"
    return {
        f"host/{path.relative_to(folder).as_posix()}": path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def write_kernels(files: Mapping[str, str], folder: Path) -> None:
    """Write kernels and host headers below `folder`, each file whole or not at all.

    Files of the same paths are replaced; nothing else in `folder` is touched. Without kernels
    there are no headers.

    Args:
        files: text by member path.
        folder: made where it is not there.

    Raises:
        AtcError: CANNOT_WRITE.
    """
    for member, text in {**files, **(host_headers() if files else {})}.items():
        path = folder / member
        _make_folder(path.parent)
        with atomic_write(path, durable=False) as file:
            file.write(text.encode())


def _make_folder(folder: Path) -> None:
    """Make `folder` and those above it where they are not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CANNOT_WRITE.error(
            f"cannot make the folder {folder}: {error.strerror or error}",
            place=Place(file=str(folder)),
            help="choose a folder that can be written to and that no file stands in the way of",
        ) from error
