"""Files checked in several processes, where that is faster than in one."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, NamedTuple

from atc_py.system.memory_limit import limited_memory, memory_limit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Protocol

    from atc_py.check.findings import ModelCheck
    from atc_py.diag import Diagnostic
    from atc_py.options.compile_options import CheckOptions

    class CheckOfFile(Protocol):
        """The check of one file, a function of a module."""

        def __call__(self, path: Path, options: CheckOptions, *, alone: bool) -> FileCheck:
            """Check the file at `path`."""
            ...


__all__ = ["FileCheck", "checked_files"]

_MANY_FILES, _MANY_BYTES = 12, 16 << 20
"""Files, or bytes of several files, from which a process that starts pays for itself."""


class FileCheck(NamedTuple):
    """The check of one file.

    Attributes:
        check: what was found.
        names: the model's inputs; None for a file that cannot be read.
        unknown: names in the finer controls that it does not have.
    """

    check: ModelCheck
    names: frozenset[str] | None = None
    unknown: tuple[Diagnostic, ...] = ()


def checked_files(
    models: Sequence[Path], options: CheckOptions, check: CheckOfFile, processes: int | None
) -> Iterator[FileCheck]:
    """Yield the check of each file, in order.

    Args:
        models: the files.
        options: of the check.
        check: checks one.
        processes: how many may share the work; None for what pays.
    """
    count = _processes(models) if processes is None else min(processes, len(models))
    done = 0
    if count > 1:
        from concurrent.futures.process import BrokenProcessPool

        try:
            for each in _checked_apart(models, options, check, count):
                done += 1
                yield each
        except BrokenProcessPool:
            pass  # the system ended a process: the rest is checked here, one after the other
    alone = len(models) == 1
    for path in models[done:]:
        yield check(path, options, alone=alone)


def _processes(models: Sequence[Path]) -> int:
    """Return how many processes pay: one for little work."""
    if len(models) < _MANY_FILES and sum(map(_size, models)) < _MANY_BYTES:
        return 1
    return min(len(models), os.cpu_count() or 1)


def _size(path: Path) -> int:
    """Return the size of a file; 0 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _checked_apart(
    models: Sequence[Path], options: CheckOptions, check: CheckOfFile, count: int
) -> Iterator[FileCheck]:
    """Yield the checks from a pool of processes, which share the memory that one may have."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    share = memory_limit() // count
    # A copy of this process would have its threads' locks; a fresh one has none.
    pool = ProcessPoolExecutor(count, get_context("spawn"), _leave_signals)
    try:
        waiting = [pool.submit(_checked, check, path, options, share) for path in models]
        for each in waiting:
            yield each.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _checked(check: CheckOfFile, path: Path, options: CheckOptions, share: int) -> FileCheck:
    """Check one file of several, in a process of the pool."""
    with limited_memory(share):
        return check(path, options, alone=False)


def _leave_signals() -> None:
    """Leave Ctrl-C to the process that waits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
