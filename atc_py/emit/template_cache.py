"""A cache of compiled templates between runs: compiling them takes longer than a small model.

Jinja checks each entry against the template's text and Python's version. What is kept is code, so
it is only read from a folder of the user's own that nobody else may write to.
"""

from __future__ import annotations

from contextlib import suppress
from importlib.metadata import version
from typing import TYPE_CHECKING

from jinja2 import FileSystemBytecodeCache

from atc_py import __version__
from atc_py.system.cache_folders import cache_folder

if TYPE_CHECKING:
    from jinja2.bccache import Bucket

__all__ = ["bytecode_cache"]


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
    folder = cache_folder(f"{purpose}-{__version__}-jinja-{version('jinja2')}")
    return None if folder is None else _Cache(str(folder))
