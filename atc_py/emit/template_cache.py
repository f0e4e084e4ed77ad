"""A cache of compiled templates between runs: compiling them takes longer than a small model.

Jinja checks each entry against the template's text and Python's version. What is kept is code, so
it is only read from a folder of the user's own that nobody else may write to.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import FileSystemBytecodeCache

from atc_py import __version__

if TYPE_CHECKING:
    from jinja2.bccache import Bucket

__all__ = ["bytecode_cache"]

_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class _Cache(FileSystemBytecodeCache):
    """A cache that ignores failing writes."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a compiled template if there is room."""
        with suppress(OSError):
            super().dump_bytecode(bucket)


def bytecode_cache(purpose: str) -> FileSystemBytecodeCache | None:
    """Return the cache for one kind of environment; None without a trusted, writable folder.

    Args:
        purpose: names the options of the environment, which the compiled code depends on.
    """
    base = _cache_home()
    if base is None:
        return None
    folder = base / "atc-py" / f"{purpose}-{__version__}-jinja-{version('jinja2')}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        trusted = _is_own(folder) and os.access(folder, os.W_OK)
    except OSError:
        return None
    return _Cache(str(folder)) if trusted else None


def _cache_home() -> Path | None:
    """Return the user's folder for caches by the conventions of the system, None without a home."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else None
    given = os.environ.get("XDG_CACHE_HOME", "")
    if given.startswith("/"):
        return Path(given)
    home = os.environ.get("HOME", "")
    return Path(home) / ".cache" if home.startswith("/") else None


def _is_own(folder: Path) -> bool:
    """Return True if the folder is this user's and nobody else may write to it."""
    if sys.platform == "win32":
        return True
    facts = folder.lstat()
    return (
        stat.S_ISDIR(facts.st_mode)
        and facts.st_uid == os.getuid()
        and not facts.st_mode & _OTHERS_MAY_WRITE
    )
