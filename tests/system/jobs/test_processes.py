"""Tasks in processes of this machine: outcomes, failures of all kinds, limits, and kills."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest

from atc_py.diag import AtcError
from atc_py.system.jobs import TaskFailure, TaskFailureKind, open_executor
from atc_py.system.jobs.lane import ATTEMPTS
from atc_py.system.memory_limit import limited_memory, memory_limit
from atc_py.text import Text
from tests.system.jobs.failing import FailingExecutor
from tests.system.jobs.functions import ends, logged, logged_until, square

ROOT = Path(__file__).resolve().parents[2]

WAYS = ["refuses", "raises", "crashes", "exits", "asks", "unsendable", "prints", "hangs"]
KINDS = {
    "refuses": ("raised", "no such thing"),
    "raises": ("raised", "ValueError: wrong"),
    "crashes": ("crashed", "its process was ended by SIGSEGV"),
    "exits": ("crashed", "its process ended with status 3"),
    "unsendable": ("raised", "the result cannot be sent: "),
    "asks": ("out-of-memory", "a tensor would take 1.0 EiB"),
    "hangs": ("timed-out", "the task did not end within 1 seconds and was stopped"),
}


def check_ways(executor: Any) -> None:
    """Check that each task ends in its own way, and every one once."""
    found = list(executor.map_unordered(ends, WAYS, seconds=1))
    assert sorted(each.index for each in found) == list(range(len(WAYS)))
    for each in found:
        assert each.task == WAYS[each.index]
        if each.task == "prints":
            assert each.failure is None
            assert each.value[1] == 1
            continue
        kind, text = KINDS[each.task]
        assert (each.failure.kind.value, each.value) == (kind, None)
        assert each.failure.text.startswith(text)


@pytest.mark.parametrize("jobs", [1, 2])
def test_each_task_has_an_outcome_of_its_own(jobs: int) -> None:
    with open_executor(jobs) as executor:
        found = list(executor.map_unordered(square, range(7)))
        assert sorted((each.index, each.value) for each in found) == [(n, n * n) for n in range(7)]


def test_tasks_fail_alone_in_all_ways() -> None:
    with open_executor(2) as executor:
        check_ways(executor)


def test_one_job_with_a_limit_of_time_has_a_process_of_its_own() -> None:
    with open_executor(1) as executor:
        (hung,) = executor.map_unordered(ends, ["hangs"], seconds=0.2)
    assert hung.failure is not None
    assert hung.failure.kind is TaskFailureKind.TIMED_OUT


def test_one_job_without_a_limit_is_this_process(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for apart in (False, True):
        with open_executor(1, apart=apart) as executor:
            list(executor.map_unordered(logged, [(str(log), 0, 0.0)]))
    here, other = (int(line.split()[1]) for line in log.read_text().splitlines())
    assert here == os.getpid() != other


def test_process_that_takes_more_than_its_share_is_killed() -> None:
    with open_executor(1, task_bytes=1 << 26) as executor:
        took, printed = executor.map_unordered(ends, ["takes", "prints"])
    assert took.failure is not None
    assert took.failure.kind is TaskFailureKind.OUT_OF_MEMORY
    assert took.failure.text.startswith("the task took more memory than 64.0 MiB")
    assert printed.value == (1 << 26, 1)


def test_processes_share_the_memory_that_work_may_take() -> None:
    with limited_memory("4G"), open_executor(2) as executor:
        assert executor.jobs == 2
        (found,) = executor.map_unordered(ends, ["prints"])
        assert found.value == (memory_limit() // 2, 1)
    with limited_memory("300M"), open_executor() as executor:
        assert executor.jobs == 1  # cores that memory allows


def test_tasks_of_a_killed_process_run_again(tmp_path: Path) -> None:
    """The kill is nobody's fault: every task has its value once."""
    log, opens = tmp_path / "log", tmp_path / "opens"
    log.touch()
    tasks = [(str(log), number, str(opens) if number else str(log)) for number in range(5)]
    values = []
    with open_executor(2) as executor:
        for each in executor.map_unordered(logged_until, tasks):
            assert each.failure is None
            values.append(each.value)
            if each.value == 0:
                while not (held := re.findall(r"^[1-4] (\d+)$", log.read_text(), re.MULTILINE)):
                    time.sleep(0.01)
                os.kill(int(held[0]), signal.SIGKILL)
                opens.touch()
    assert sorted(each for each in values if each is not None) == list(range(5))
    begun = [int(line.split()[0]) for line in log.read_text().splitlines()]
    assert [begun.count(number) for number in range(5)].count(ATTEMPTS) == 1


def test_tasks_are_taken_as_there_is_room() -> None:
    taken: list[int] = []

    def source() -> Iterator[int]:
        for number in count():
            taken.append(number)
            yield number

    with open_executor(2) as executor:
        found = executor.map_unordered(square, source())
        assert len([*islice(found, 20)]) == 20
        assert len(taken) <= 20 + 2 * 2
        found.close()  # type: ignore[attr-defined]  # a generator


def test_work_under_way_ends_with_the_executor() -> None:
    began = time.monotonic()
    with open_executor(2) as executor:
        found = executor.map_unordered(ends, ["prints", "hangs", "hangs"])
        assert next(found).task == "prints"
        found.close()  # type: ignore[attr-defined]  # a generator
    assert time.monotonic() - began < 20


def test_processes_end_with_one_that_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = (
        "from atc_py.system.jobs import open_executor\n"
        "from tests.system.jobs.functions import logged\n"
        f"with open_executor(2) as executor:\n"
        f"    list(executor.map_unordered(logged, [({str(log)!r}, n, 600.0) for n in range(2)]))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    while not log.exists() or len(log.read_text().splitlines()) < 2:
        time.sleep(0.05)
    children = [int(line.split()[1]) for line in log.read_text().splitlines()]
    process.kill()
    process.wait()
    until = time.monotonic() + 20
    while any(Path(f"/proc/{child}/statm").exists() for child in children):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_outcome_gives_its_value_or_raises_what_the_task_raised() -> None:
    with open_executor(1) as executor:
        refused, raised, printed = executor.map_unordered(ends, ["refuses", "raises", "prints"])
    with pytest.raises(AtcError) as error:
        refused.result()
    assert error.value.diagnostics[0].code.name == "bad-option-value"
    with pytest.raises(AtcError, match="ATC7072: ValueError: wrong"):
        raised.result()
    assert printed.result() is printed.value


def test_executor_for_tests_fails_on_demand() -> None:
    failure = TaskFailure(TaskFailureKind.CRASHED, Text("gone"))
    executor = FailingExecutor({1: failure})
    found = list(executor.map_unordered(square, [3, 4, 5]))
    assert [each.value for each in found] == [9, None, 25]
    assert found[1].failure is failure
    with pytest.raises(RuntimeError, match="lost"):
        list(FailingExecutor(lost_at=2).map_unordered(square, range(9)))
