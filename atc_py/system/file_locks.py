"""Files that a process holds while it works with them, so that others see whether it still lives.

The hold is an advisory lock, which the system releases when the process ends, however it ends.
A file that exists and is not locked is stale: its process was killed. It may be removed. Systems
without such locks (Windows) cannot tell these files apart: there none is removed or reused.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL
_OPEN = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_MODE = 0o666
"""Mode before the process's umask, as for any new file."""


def create_locked(path: Path) -> int | None:
    """A new file, open for reading and writing and locked until it is closed.

    Returns:
        Its descriptor; None if the name is taken.

    Raises:
        OSError: the system cannot create the file.
    """
    while True:
        try:
            handle = os.open(path, _CREATE | _FLAGS, _MODE)
        except FileExistsError:
            return None
        try:
            if _try_lock(handle) is not False and _is_named(handle, path):
                return handle
        except BaseException:
            os.close(handle)
            raise
        # Between the two calls another process may have judged it stale and removed it.
        os.close(handle)


def remove_if_unlocked(path: Path) -> bool:
    """Remove the file if it is unlocked; return True if its name is free now."""
    if sys.platform == "win32":
        return False
    try:
        handle = os.open(path, _OPEN | _FLAGS)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        # Only the holder of the lock removes a file, so the name still belongs to this one.
        if not (_try_lock(handle) and _is_named(handle, path)):
            return False
        path.unlink()
    except OSError:
        return False
    finally:
        with suppress(OSError):
            os.close(handle)
    return True


def lock_stale(path: Path) -> int | None:
    """The descriptor of an existing file that no process held, locked; None for others."""
    if sys.platform == "win32":
        return None
    try:
        handle = os.open(path, _OPEN | _FLAGS)
    except OSError:
        return None
    if _try_lock(handle) and _is_named(handle, path):
        return handle
    os.close(handle)
    return None


def _try_lock(handle: int) -> bool | None:
    """Lock an open file: True, False if another process has it, None if there are no locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # the file system knows no locks
        return None
    return True


def _is_named(handle: int, path: Path) -> bool:
    try:
        there = path.lstat()
    except FileNotFoundError:
        return False
    mine = os.fstat(handle)
    return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)
