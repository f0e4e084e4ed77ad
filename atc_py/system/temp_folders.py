"""Temporary folders for work that needs files, gone afterwards; also those of killed processes."""

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from atc_py.diag import CANNOT_WRITE, AtcError, Diagnostic, Place
from atc_py.system.atomic_files import create_locked, lock_stale
from atc_py.system.input_files import WORK
from atc_py.text import Text, os_reason

_HOLD = ".held"
_FULL = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT})
_ELSEWHERE = Text("name a folder with more space in the environment variable TMPDIR")
_UNHELD_FOR = 3600
"""Seconds after which a folder without its lock file counts as stale, not as just made."""


@contextmanager
def work_folder(base: Path | None = None) -> Iterator[Path]:
    """Create a folder of this process and remove it when the block ends.

    Folders that killed processes of this user left are removed first.

    Args:
        base: the folder that it is made in, for files that are moved from there to their place; the
            system's folder of temporary files by default.

    Raises:
        AtcError: CANNOT_WRITE where there is no room for temporary files.
    """
    try:
        _remove_stale(base or Path(tempfile.gettempdir()))
        folder, handle = _held_folder(base)
    except OSError as error:
        if base is not None:
            raise _cannot_write(base, error) from error
        text = Text("there is no space for temporary files: {strerror}")
        message = text.with_values(strerror=os_reason(error))
        raise CANNOT_WRITE.error(message, help=_ELSEWHERE) from error
    try:
        yield folder
    except AtcError as error:
        if base is not None:
            raise
        found = [_as_temporary(each, folder) for each in error.diagnostics]
        if found == list(error.diagnostics):
            raise
        raise AtcError(*found) from error
    except OSError as error:
        if error.errno not in _FULL:
            raise
        if base is not None:
            raise _cannot_write(base, error) from error
        text = Text("there is no more space for temporary files in {parent}: {strerror}")
        message = text.with_values(parent=folder.parent, strerror=os_reason(error))
        raise CANNOT_WRITE.error(message, help=_ELSEWHERE) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def remove_left_folders() -> None:
    """Remove the folders of temporary files that killed processes of this user left."""
    with suppress(OSError):
        _remove_stale(Path(tempfile.gettempdir()))


def _cannot_write(folder: Path, error: OSError) -> AtcError:
    return CANNOT_WRITE.error(
        Text("cannot write to {folder}: {strerror}", folder=folder, strerror=os_reason(error)),
        place=Place(str(folder)),
        help=Text(
            "check the permissions of the folder and the space on its disk, or choose another place"
        ),
    )


def _held_folder(base: Path | None) -> tuple[Path, int | None]:
    """A new folder and the descriptor of its lock file; None where there can be no such file.

    Until the file is locked, another process may take the folder for one that was left; then that
    process has it, and this one makes another.
    """
    prefix = WORK if base is None else f".{WORK}"
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=base))
        try:
            handle = create_locked(folder / _HOLD)
        except FileNotFoundError:
            continue
        except OSError:
            return folder, None
        if handle is not None:
            return folder, handle


def _as_temporary(found: Diagnostic, folder: Path) -> Diagnostic:
    """A finding; of a file in `folder` that cannot be written, with another hint."""
    file = found.place.file if found.place else None
    if found.code is not CANNOT_WRITE or not file or folder not in Path(file).parents:
        return found
    return found._replace(help=_ELSEWHERE)


def _remove_stale(base: Path) -> None:
    """Remove the folders in `base` that are this user's and that no process holds any more."""
    for folder in (*base.glob(f"{WORK}*"), *base.glob(f".{WORK}*")):
        with suppress(OSError):
            facts = folder.lstat()
            mine = not hasattr(os, "getuid") or facts.st_uid == os.getuid()
            if mine and not folder.is_symlink():
                _remove_if_stale(folder, facts.st_mtime)


def _remove_if_stale(folder: Path, changed: float) -> None:
    """Remove a folder whose process is gone; its lock file stays locked until nothing is left."""
    hold = folder / _HOLD
    if not hold.exists():
        if time.time() - changed > _UNHELD_FOR:
            shutil.rmtree(folder, ignore_errors=True)
        return
    handle = lock_stale(hold)
    if handle is not None:
        try:
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(handle)
