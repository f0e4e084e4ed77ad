"""Facts about paths; False for names that the system refuses, for which `Path` raises an error.

Such names are too long, or have links that lead back to themselves.
"""

import os
from pathlib import Path


def exists(path: Path | str) -> bool:
    """True if something is at a path."""
    return os.path.exists(path)  # noqa: PTH110  (the reason for this module, as below)


def is_file(path: Path | str) -> bool:
    """True if a regular file, or a link to one, is at a path."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path | str) -> bool:
    """True if a folder, or a link to one, is at a path."""
    return os.path.isdir(path)  # noqa: PTH112


def same_path(one: Path, other: Path) -> bool:
    """True if two paths lead to the same place, which need not exist."""
    return os.path.realpath(one) == os.path.realpath(other)


def legible(text: Path | str) -> str:
    """A path, or a text with one, that can be encoded: bytes that are not UTF-8 become escapes."""
    return str(text).encode("utf-8", "backslashreplace").decode("utf-8")
