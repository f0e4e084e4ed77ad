"""Kernels as files in a folder, with the headers that let them run on the host."""

from collections.abc import Mapping
from pathlib import Path

from atc_py.system.atomic_files import atomic_write, make_folder
from atc_py.system.resources import templates_dir


def host_headers() -> dict[str, str]:
    """Text of every host header by its path below the folder of kernels: `host/...`."""
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
        make_folder(path.parent)
        with atomic_write(path, durable=False) as file:
            file.write(text.encode())
