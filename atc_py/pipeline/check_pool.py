"""Files checked in several processes, where that is faster than in one."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from atc_py.check.findings import ModelCheck
from atc_py.diag import Diagnostic
from atc_py.onnx_graph.source import FileGraph
from atc_py.options.compile_options import CheckOptions


class CheckOfFile(Protocol):
    """The check of one file, a function of a module."""

    def __call__(self, path: Path, options: CheckOptions, *, alone: bool) -> FileCheck: ...


_WORTH = 10.0
"""Seconds of work from which processes pay for their start, which takes each of them about two."""


class FileCheck(NamedTuple):
    """The check of one file."""

    check: ModelCheck
    names: frozenset[str] | None = None  # the model's inputs; None for a file that cannot be read
    unknown: tuple[Diagnostic, ...] = ()  # names in the finer controls that it does not have
    file_graph: FileGraph | None = None  # of its graph; None where nobody asked for it


def checked_files(
    models: Sequence[Path], options: CheckOptions, check: CheckOfFile, processes: int | None
) -> Iterator[FileCheck]:
    """Yield the check of each file, in order, by so many processes; None for what pays."""
    alone, done = len(models) == 1, 0
    count = min(processes or os.cpu_count() or 1, len(models))
    started = time.monotonic()
    while done < len(models):
        # Of what is not known beforehand the files so far tell.
        pays = done and (time.monotonic() - started) / done * (len(models) - done) > _WORTH
        if count > 1 and (processes is not None or pays):
            break
        yield check(models[done], options, alone=alone)
        done += 1
    if done < len(models):
        yield from _checked_apart(models[done:], options, check, count)


def _checked_apart(
    models: Sequence[Path], options: CheckOptions, check: CheckOfFile, count: int
) -> Iterator[FileCheck]:
    """Yield the checks from processes, which share the memory that one may have, in order.

    A file whose process the system ends is checked by this one.
    """
    from atc_py.system.jobs import TaskFailureKind, open_executor

    one = partial(check, options=options, alone=False)
    known: dict[int, FileCheck] = {}
    position = 0
    with open_executor(count, apart=True) as executor:
        for outcome in executor.map_unordered(one, models):
            failure = outcome.failure
            ended = failure is not None and failure.kind is TaskFailureKind.CRASHED
            known[outcome.index] = one(outcome.task) if ended else outcome.result()
            while position in known:
                yield known.pop(position)
                position += 1
