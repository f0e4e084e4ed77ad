"""Files that tasks read: found by the same path on every worker, or sent to each once."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from atc_py.diag import CANNOT_WRITE
from atc_py.system.cache_folders import cache_folder
from atc_py.text import Text, os_reason

_FOLDER = "sent"


@dataclass(frozen=True)
class FileBundle:
    """Files that belong together, such as a model with its weights."""

    digest: str  # of their contents
    main: Path  # path of the file, or folder, that stands for all, as tasks name it
    files: tuple[Path, ...]  # all of them, itself first where it is a file

    @property
    def base(self) -> Path:
        """The folder from which names of files count."""
        return self.main.parent

    def names(self) -> tuple[str, ...]:
        return tuple(Path(os.path.relpath(path, self.base)).as_posix() for path in self.files)


def has_files(paths: list[tuple[str, int, int]]) -> bool:
    """True if files of these paths, sizes and times of change are here, too."""
    try:
        facts = [(Path(path).stat(), size, changed) for path, size, changed in paths]
    except OSError:
        return False
    return all(
        found.st_size == size and found.st_mtime_ns == changed for found, size, changed in facts
    )


def store_files(digest: str, contents: dict[str, bytes]) -> None:
    """Keep files that were sent, unless they are here already."""
    folder = cache_folder(_FOLDER)
    if folder is None:
        raise CANNOT_WRITE.error(
            Text("there is no folder for files that are sent: this user has no cache folder"),
            help=Text("set XDG_CACHE_HOME for the worker, or keep models where it can read them"),
        )
    whole, new = folder / digest, folder / f"{digest}.{os.getpid()}.tmp"
    if whole.is_dir():
        return
    try:
        for name, data in contents.items():
            path = new / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        new.replace(whole)
    except OSError as error:
        shutil.rmtree(new, ignore_errors=True)
        if not whole.is_dir():  # another process may have been faster
            raise CANNOT_WRITE.error(
                Text("cannot write {whole}: {strerror}", whole=whole, strerror=os_reason(error))
            ) from error


def sent_file(digest: str, path: str) -> str:
    """The path of a file here: of the copy that was sent, or the path itself."""
    folder = cache_folder(_FOLDER) if digest else None
    if folder is None or not (folder / digest).is_dir():
        return path
    return str(folder / digest / Path(path).name)


def forget_files(digests: list[str]) -> None:
    folder = cache_folder(_FOLDER)
    for digest in digests if folder is not None else ():
        shutil.rmtree(folder / digest, ignore_errors=True)  # type: ignore[operator]  # as above
