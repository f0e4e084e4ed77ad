"""Files that appear whole or not at all: temporary file, fsync, rename; folders for them."""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from atc_py.diag import CANNOT_WRITE, AtcError, Place
from atc_py.system.input_files import refuse_read
from atc_py.system.signal_guard import undisturbed
from atc_py.text import Text, os_reason

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


_BUFFER = 1 << 18

_EARLY = 8 << 20
"""Bytes after which the disk begins to take them, so that little is left to wait for at the end."""

_NAME_PART = 40
"""Characters of the target's name in the temporary one, so that long names stay legal."""

_WRITERS = 1000
"""Temporary files of one target at once; each is a writer that is at work."""

_HELP = {
    errno.ENOENT: Text("create the folder first, or choose another place"),
    errno.ENOTDIR: Text("a part of the path is a file; choose another place"),
    errno.EISDIR: Text("give the name of a file, not of a folder"),
    errno.ENOSPC: Text("free space on that disk, or choose another place"),
    errno.EDQUOT: Text("free space within your quota, or choose another place"),
    errno.EFBIG: Text("raise the limit on file sizes (`ulimit -f`), or choose another place"),
    errno.EROFS: Text("the disk is mounted read-only; choose another place"),
    errno.ENAMETOOLONG: Text("choose a shorter name"),
}
_HELP_ELSE = Text("check the permissions of file and folder, or choose another place")


def write_files(contents: Mapping[Path, str | bytes]) -> None:
    """Write files as `atomic_write` does, or none of them if one cannot be opened.

    Raises:
        AtcError: CANNOT_WRITE.
    """
    with ExitStack() as stack:
        for path, content in contents.items():
            data = content.encode("utf-8") if isinstance(content, str) else content
            stack.enter_context(atomic_write(path)).write(data)


@contextmanager
def atomic_write(path: Path, *, durable: bool = True) -> Iterator[io.BufferedWriter]:
    """Open a file that becomes `path` when the block ends without an exception.

    A file that the run reads is not written.

    Until then `path` holds what it held before; after an exception of any kind the temporary
    file is gone. Several may write to one path at once: the last one to end is what stays. A
    process that is killed leaves at most a hidden `.NAME.N.tmp` beside the target, which the next
    one that writes to the same path removes. A link is followed; permissions of a file that is
    replaced are kept. Writing is buffered and the file can seek.

    Args:
        path: the file to make or replace.
        durable: wait until the disk has it; False where losing it in a power cut does no harm.

    Raises:
        AtcError: CANNOT_WRITE, or BAD_OPTION for a file that is read; errors of the block's own are
            passed on as they are.
    """
    refuse_read(path)
    with _refusals(path):
        target = Path(os.path.realpath(path))
        mode = _mode_of_old(path, target)
    file: io.BufferedWriter | None = None
    temporary: Path | None = None
    try:
        with _refusals(path), undisturbed():
            handle, temporary = _temporary(target)
            file = io.BufferedWriter(_Output(handle, path, durable=durable), _BUFFER)
        yield file
        with _refusals(path):
            _commit(file, mode, temporary, target, durable=durable)
    except BaseException:
        _discard(file, temporary)
        raise


def put_in_place(files: Iterable[tuple[Path, Path]]) -> None:
    """Give whole files on the same disk the names that they are to have, in order.

    Each name holds what it held before until then; a link is followed, and permissions of a file that
    is replaced are kept.

    Args:
        files: the present path and the final one of each; the one that refers to others comes last.

    Raises:
        AtcError: CANNOT_WRITE; files before that one have their names by then. BAD_OPTION for one
            that is read; none is moved then.
    """
    files = list(files)
    for _, path in files:
        refuse_read(path)
    for source, path in files:
        with _refusals(path):
            target = Path(os.path.realpath(path))
            mode = _mode_of_old(path, target)
            if mode is not None:
                source.chmod(mode)
            source.replace(target)
            _sync_folder(target.parent)


class _Output(io.FileIO):
    """A new file whose failing writes say so by diagnostic, and so differ from other errors."""

    def __init__(self, handle: int, path: Path, *, durable: bool) -> None:
        super().__init__(handle, "wb")
        self._path = path
        self._begins_early = durable and hasattr(os, "posix_fadvise")
        self._begun = 0

    def write(self, data: ReadableBuffer, /) -> int:
        """Write some of `data` and return how many bytes that were."""
        with _refusals(self._path):
            written = super().write(data)
            if self._begins_early:
                self._begin_early(self.tell())
        return written

    def _begin_early(self, end: int) -> None:
        """Have the disk begin to take what was written up to `end`, once that is enough.

        The advice is that this program needs the pages no more; Linux begins to write those that
        are not on the disk, does not wait, and keeps them in memory.
        """
        if end - self._begun >= _EARLY:
            os.posix_fadvise(self.fileno(), self._begun, end - self._begun, os.POSIX_FADV_DONTNEED)
            self._begun = end


def _temporary(target: Path) -> tuple[int, Path]:
    """Create and lock a new file beside `target`; remove those of dead writers."""
    for number in range(_WRITERS):
        path = target.with_name(f".{target.name[:_NAME_PART]}.{number}.tmp")
        handle = create_locked(path)
        if handle is None and remove_if_unlocked(path):
            handle = create_locked(path)
        if handle is not None:
            return handle, path
    raise FileExistsError(
        errno.EEXIST, "there are too many temporary files of that name in its folder"
    )


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = os_reason(error)
        raise CANNOT_WRITE.error(
            Text("cannot write {whole}: {strerror}", whole=path, strerror=reason),
            place=Place(file=str(path)),
            help=_HELP.get(error.errno or 0, _HELP_ELSE),
        ) from error


def _mode_of_old(path: Path, target: Path) -> int | None:
    """The permissions of the file to replace, or None; refuse anything but a file."""
    try:
        old = target.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(old.st_mode):
        raise CANNOT_WRITE.error(
            Text("cannot write {path}: it is a device, a pipe or a socket, not a file", path=path),
            place=Place(file=str(path)),
            help=Text("give the name of a file"),
        )
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return stat.S_IMODE(old.st_mode)


def _commit(
    file: io.BufferedWriter, mode: int | None, temporary: Path, target: Path, *, durable: bool
) -> None:
    file.flush()
    if durable:
        os.fsync(file.fileno())
    if os.name == "nt":  # an open file has no other name there
        file.close()
    if mode is not None:
        temporary.chmod(mode)
    # Open until it has its name: closing unlocks it, and others would judge it stale.
    temporary.replace(target)
    file.close()
    if durable:
        _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _discard(file: io.BufferedWriter | None, temporary: Path | None) -> None:
    """Remove and close what was begun; closing flushes, which may fail again."""
    if temporary is not None and os.name != "nt":
        with suppress(OSError):
            temporary.unlink()
    if file is not None:
        with suppress(AtcError, OSError):
            file.close()
    if temporary is not None and os.name == "nt":
        with suppress(OSError):
            temporary.unlink()


_FOLDER_HELP = {errno.ENOSPC: Text("free space on that disk, or choose another place")}
_FOLDER_HELP_ELSE = Text(
    "choose a folder that can be written to and whose path is not blocked by a file"
)


def make_folder(folder: Path) -> None:
    """Make `folder` and those above it where they are not there.

    Raises:
        AtcError: CANNOT_WRITE.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        text = Text("cannot make the folder {folder}: {strerror}")
        raise CANNOT_WRITE.error(
            text.with_values(folder=folder, strerror=os_reason(error)),
            place=Place(file=str(folder)),
            help=_FOLDER_HELP.get(error.errno or 0, _FOLDER_HELP_ELSE),
        ) from error


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
