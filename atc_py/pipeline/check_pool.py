"""Files checked in several processes, where that is faster than in one."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from atc_py.check.findings import ModelCheck
from atc_py.diag import Diagnostic
from atc_py.onnx_graph.source.outline import ModelOutline
from atc_py.options.compile_options import CheckOptions
from atc_py.system.memory_limit import limited_memory, memory_limit


class CheckOfFile(Protocol):
    """The check of one file, a function of a module."""

    def __call__(self, path: Path, options: CheckOptions, *, alone: bool) -> FileCheck:
        """Check the file at `path`."""
        ...


_WORTH = 10.0
"""Seconds of work from which processes pay for their start, which takes each of them about two."""


class FileCheck(NamedTuple):
    """The check of one file.

    Attributes:
        check: what was found.
        names: the model's inputs; None for a file that cannot be read.
        unknown: names in the finer controls that it does not have.
        outline: of its graph; None where nobody asked for it.
    """

    check: ModelCheck
    names: frozenset[str] | None = None
    unknown: tuple[Diagnostic, ...] = ()
    outline: ModelOutline | None = None


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
    alone, done = len(models) == 1, 0
    count = min(processes or os.cpu_count() or 1, len(models))
    started = time.monotonic()
    while done < len(models):
        # Of what is not known beforehand the files so far tell.
        pays = done and _pays((time.monotonic() - started) / done * (len(models) - done))
        if count > 1 and (processes is not None or pays):
            break
        yield check(models[done], options, alone=alone)
        done += 1
    if done < len(models):
        yield from _checked_or_again(models[done:], options, check, count)


def _pays(seconds: float) -> bool:
    """True if work of that length is worth processes that start for it."""
    return seconds > _WORTH


def _checked_or_again(
    models: Sequence[Path], options: CheckOptions, check: CheckOfFile, count: int
) -> Iterator[FileCheck]:
    """Yield the checks from several processes; from this one, where the system ends a process."""
    from concurrent.futures.process import BrokenProcessPool

    done = 0
    try:
        for each in _checked_apart(models, options, check, count):
            done += 1
            yield each
    except BrokenProcessPool:
        for path in models[done:]:
            yield check(path, options, alone=False)


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
    with limited_memory(share):
        return check(path, options, alone=False)


def _leave_signals() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
