"""Values that take long to make and are the same for every process of tests on a machine."""

import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from atc_py.system.atomic_files import write_files
from atc_py.system.cache_folders import cache_folder

T = TypeVar("T")


def made_once(name: str, make: Callable[[], T]) -> T:
    """Read what another process of tests made, or make it and keep it.

    Args:
        name: of the file, with the versions of all that the value follows from.
        make: makes a value that can be pickled; processes that start together wait for one.
    """
    folder = cache_folder("made-for-tests")
    if folder is None:
        return make()
    path = folder / f"{name}.pickle"
    with alone(path.with_suffix(".lock")):
        # What another version of a library pickled may be unreadable: it is then made again.
        with suppress(Exception):
            value: T = pickle.loads(path.read_bytes())  # noqa: S301  (a folder of the user alone)
            return value
        value = make()
        write_files({path: pickle.dumps(value)})
    return value


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Let one process at a time go on that gives the path of this lock."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
