"""A cache of compiled templates between runs: compiling them takes longer than a small model.

Jinja checks each entry against the template's text and Python's version. What is kept is code, so
it is only read from a folder of the user's own that nobody else may write to.
"""

from contextlib import suppress

import jinja2
from jinja2 import FileSystemBytecodeCache
from jinja2.bccache import Bucket

from atc_py import __version__
from atc_py.system.cache_folders import cache_folder


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
    folder = cache_folder(f"{purpose}-{__version__}-jinja-{_jinja_version()}")
    return None if folder is None else _Cache(str(folder))


def _jinja_version() -> str:
    """Return Jinja's version as it states it, which later versions of it no longer do.

    The list of installed packages has it, too, and takes longer than rendering a small model.
    """
    stated = vars(jinja2).get("__version__")
    if stated is not None:
        return str(stated)
    from importlib.metadata import version

    return version("jinja2")
