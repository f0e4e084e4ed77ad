"""Paths as atc accepts them, and the name of the offline model."""

import errno
import os
import platform
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from atc_py.adapters.atc.faults import atc_error, invalid_value
from atc_py.adapters.atc.tokens import Flags
from atc_py.diag import CANNOT_WRITE, FILE_NOT_FOUND, FILE_UNREADABLE, AtcError, Code, Place
from atc_py.system.cache_folders import exists
from atc_py.text import Text

SUFFIX = ".om"
LONGEST = 4096
"""Characters that the system's own limit leaves for a path and its end."""

_ALLOWED = re.compile(r"[A-Za-z0-9./_\-\u4e00-\u9fa5]*")
_RULE = "paths have letters, digits, `.`, `/`, `_`, `-` and Chinese characters alone"


def check_path_text(name: str, path: str) -> None:
    """Refuse a path with characters that atc does not take."""
    if _ALLOWED.fullmatch(path) is None:
        raise invalid_value(
            name, path, _RULE, Text("rename the file, or link it under another name")
        )


def check_readable(name: str, path: str) -> None:
    check_path_text(name, path)
    # It is not opened: what a pipe gives can be read once, and one without a writer waits for it.
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116  (an empty path is no folder here)
    except OSError as error:
        found = FILE_NOT_FOUND if isinstance(error, FileNotFoundError) else FILE_UNREADABLE
        raise _unreadable(name, path, error.errno, found) from None
    if stat.S_ISDIR(mode):
        raise _unreadable(name, path, errno.EISDIR, FILE_UNREADABLE)
    if not os.access(path, os.R_OK):
        raise _unreadable(name, path, errno.EACCES, FILE_UNREADABLE)


def _unreadable(name: str, path: str, number: int | None, code: Code) -> AtcError:
    reason = os.strerror(number or errno.EIO)
    return atc_error(
        "E10001",
        path,
        f"--{name}",
        reason,
        code=code,
        place=Place(file=path),
        help=Text("check the path that --{name} gives", name=name),
    )


def check_output(path: str) -> None:
    """Refuse a path that no offline model can have."""
    if len(path) + len(SUFFIX) >= LONGEST:
        raise atc_error(
            "E10021", "output", str(LONGEST), option="output", help=Text("choose a shorter path")
        )
    check_path_text("output", path)
    if path.endswith("/"):
        raise atc_error(
            "E10022", path, "output", option="output",
            help=Text("name the file, such as {path}model", path=path),
        )  # fmt: skip
    folder = _existing(Path(path).parent)
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise _unwritable(path, f"{folder} is not a folder that can be written")


def _unwritable(path: str, reason: str) -> AtcError:
    return invalid_value("output", path, reason, Text("choose another folder"), CANNOT_WRITE)


def offline_model(flags: Flags, *, is_open: bool) -> Path:
    """The path of the offline model: the suffix is always appended.

    Before the first suffix of the name stand the host's system and processor, where a model has open
    dims and with them libraries for the host.
    """
    folder, name = os.path.split(flags["output"] + SUFFIX)  # Path would drop the name in `a/.`
    if is_open:
        system = flags["host_env_os"] or platform.system().lower()
        stem, _, rest = name.partition(SUFFIX)
        name = f"{stem}_{system}_{flags['host_env_cpu'] or platform.machine()}{SUFFIX}{rest}"
    return Path(folder, name)


@contextmanager
def made_folder(path: Path) -> Iterator[None]:
    """Make the folder of a file for a block; a block that fails leaves none that was made for it.

    Raises:
        AtcError: with E10001 where it cannot be made; errors of the block are passed on.
    """
    made = []
    missing = path.parent
    while not exists(missing):
        made.append(missing)
        missing = missing.parent
    try:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = f"{path.parent} cannot be made: {error.strerror or error}"
            raise _unwritable(os.fspath(path), reason) from error
        yield
    except BaseException:
        with suppress(OSError):
            for folder in made:
                folder.rmdir()
        raise


def _existing(folder: Path) -> Path:
    while not exists(folder) and folder != folder.parent:
        folder = folder.parent
    return folder
