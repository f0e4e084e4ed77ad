"""Folders for what is kept between runs: the user's own, to which nobody else may write."""

import os
import stat
import sys
from pathlib import Path

_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def cache_folder(name: str) -> Path | None:
    """The folder called `name` among the caches, made if need be.

    It is None without a home, and where the folder is not the user's own and writable by the user
    alone: what is read from it is trusted.
    """
    base = _cache_home()
    if base is None:
        return None
    folder = base / "atc-py" / name
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        trusted = _is_own(folder) and os.access(folder, os.W_OK)
    except OSError:
        return None
    return folder if trusted else None


def _cache_home() -> Path | None:
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else None
    given = os.environ.get("XDG_CACHE_HOME", "")
    if given.startswith("/"):
        return Path(given)
    home = os.environ.get("HOME", "")
    return Path(home) / ".cache" if home.startswith("/") else None


def _is_own(folder: Path) -> bool:
    """True if the folder is this user's and nobody else may write to it."""
    if sys.platform == "win32":
        return True
    facts = folder.lstat()
    return (
        stat.S_ISDIR(facts.st_mode)
        and facts.st_uid == os.getuid()
        and not facts.st_mode & _OTHERS_MAY_WRITE
    )


_PACKAGE = Path(__file__).resolve().parents[1]


def op_specs_dir() -> Path:
    """The folder of operator specifications, one YAML file an operator."""
    return _data_dir("op_specs")


def templates_dir() -> Path:
    """The folder of Jinja templates."""
    return _data_dir("templates")


def _data_dir(name: str) -> Path:
    """`_data/name` of an installed wheel where it exists, else the checkout's top level."""
    installed = _PACKAGE / "_data" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


def exists(path: Path | str) -> bool:
    return os.path.exists(path)  # noqa: PTH110  (the reason for this module, as below)


def is_file(path: Path | str) -> bool:
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path | str) -> bool:
    return os.path.isdir(path)  # noqa: PTH112


def same_path(one: Path, other: Path) -> bool:
    """True if two paths lead to the same place, which need not exist."""
    return os.path.realpath(one) == os.path.realpath(other)


def legible(text: Path | str) -> str:
    """A path, or a text with one, that can be encoded: bytes that are not UTF-8 become escapes."""
    return str(text).encode("utf-8", "backslashreplace").decode("utf-8")
