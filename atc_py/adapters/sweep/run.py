"""Sweeps: rows that are not kept yet are made by an executor, and all of them written as tables."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from atc_py.adapters.sweep.inputs import SweepInputs
from atc_py.adapters.sweep.kept import KeptRow, KeptRows, report_name
from atc_py.adapters.sweep.row import DoneRow, RowTask, SweepOptions, run_row
from atc_py.results.sweep import FAILED, Combination, SweepRow, SweepVerdict
from atc_py.system.cache_folders import legible
from atc_py.system.jobs import TaskExecutor, TaskFailure, TaskFailureKind, TaskOutcome
from atc_py.system.structs import replace
from atc_py.text import Text, in_language

_VERDICTS = {
    TaskFailureKind.RAISED: SweepVerdict.BUG,
    TaskFailureKind.CRASHED: SweepVerdict.CRASHED,
    TaskFailureKind.TIMED_OUT: SweepVerdict.TIMED_OUT,
    TaskFailureKind.OUT_OF_MEMORY: SweepVerdict.OUT_OF_MEMORY,
}


@dataclass(frozen=True)
class SweepRun:
    """A sweep that came to its end."""

    # all rows, in the order of the grid, with the seconds that each took
    rows: tuple[tuple[SweepRow, float], ...]
    kept: int  # how many of them were there already
    seconds: float

    @property
    def failed(self) -> list[SweepRow]:
        """Rows that did not come to their end."""
        return [row for row, _ in self.rows if row.verdict in FAILED]


def run_sweep(
    grid: Sequence[Combination],
    models: Mapping[str, Path],
    options: SweepOptions,
    executor: TaskExecutor,
    kept: KeptRows,
    on_stage: Callable[[str], None] | None = None,
) -> SweepRun:
    """Make the rows of a grid that are not kept from an earlier run, and keep each as it is done.

    Raises:
        AtcError: CANNOT_WRITE, or the executor is lost; rows that were finished are kept.
    """
    began = time.monotonic()
    inputs = SweepInputs(models, options)
    done: dict[int, KeptRow] = {}
    wanted: list[tuple[int, RowTask, str]] = []
    for at, each in enumerate(grid):
        digest = inputs.digest(each)
        found = kept.find(digest)
        if found is None or _runs_again(found, options):
            wanted.append((at, inputs.task(each, elsewhere=executor.elsewhere), digest))
        else:
            done[at] = _named(found, each, models[each.model])
    before = len(done)
    sent = executor.share(
        inputs.bundles(dict.fromkeys(task.combination.model for _, task, _ in wanted))
    )
    tasks = [inputs.finding(task, sent) for _, task, _ in wanted]
    for outcome in executor.map_unordered(run_row, tasks, seconds=options.seconds):
        at, _, digest = wanted[outcome.index]
        row, page, seconds = _row_of(outcome)
        name = report_name(grid[at], digest)
        report = None if page is None else name
        row = replace(row, digest=digest, report=report)
        done[at] = KeptRow(row, seconds, options.limits)
        kept.keep(done[at], page)
        if on_stage is not None:
            on_stage(progress_text(len(done) - before, len(wanted), time.monotonic() - began))
    rows = tuple((done[at].row, done[at].seconds) for at in range(len(grid)))
    return SweepRun(rows, before, time.monotonic() - began)


def progress_text(done: int, total: int, seconds: float) -> str:
    """Progress of the rows: share, rate, time left."""
    rate = done / max(seconds, 1e-3)
    left = round((total - done) / rate)
    return Text(
        "{done} of {total} rows, {rate} rows/s, {left} left",
        done=done,
        total=total,
        rate=f"{rate:.2f}",
        left=f"{left // 60}:{left % 60:02d}",
    )


def _runs_again(found: KeptRow, options: SweepOptions) -> bool:
    """True if a row that failed is to be tried again: it is asked for, or limits changed."""
    if found.row.verdict not in FAILED:
        return False
    return options.retries or found.limits != options.limits


def _named(found: KeptRow, combination: Combination, path: Path) -> KeptRow:
    row = replace(found.row, combination=combination, path=legible(path))
    return KeptRow(row, found.seconds, found.limits)


def _row_of(outcome: TaskOutcome[RowTask, DoneRow]) -> tuple[SweepRow, bytes | None, float]:
    if outcome.value is not None:
        return outcome.value.row, outcome.value.page, outcome.value.seconds
    failure: TaskFailure | None = outcome.failure
    verdict = SweepVerdict.BUG if failure is None else _VERDICTS[failure.kind]
    row = SweepRow(
        combination=outcome.task.combination,
        path=outcome.task.path,
        verdict=verdict,
        message="" if failure is None else failure.text,
        message_zh="" if failure is None else in_language(failure.text, "zh"),
    )
    return row, None, 0.0
