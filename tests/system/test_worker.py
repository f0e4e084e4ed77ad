"""A supervised process: answers, bounds, ends; its users are tested with their own."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from atc_py.system.worker import UNBOUNDED, Bounds, NoAnswerError, Part, Worker, describe_end

ROOT = Path(__file__).resolve().parents[2]
ENTRY = "tests.system.answering:main"


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker(ENTRY)
    made.start()
    yield made
    made.close()


def ending(worker: Worker, word: str, bounds: Bounds = UNBOUNDED) -> tuple[str, bool]:
    """Return why a question has no answer, and whether the process had begun."""
    with pytest.raises(NoAnswerError) as caught:
        worker.ask([word.encode()], bounds)
    return caught.value.why, caught.value.begun


def test_parts_come_back_as_they_are_whatever_the_process_prints(worker: Worker) -> None:
    parts: list[Part] = [b"", bytes(range(256)) * 40_000, memoryview(b"view")]
    for word in (b"echo", b"print"):
        pid, *others = worker.ask([word, *parts])
        assert int(pid) > 0
        assert others == parts


def test_time_begins_anew_where_the_process_says_that_it_begins(worker: Worker) -> None:
    assert worker.ask([b"begin"], Bounds(60.0, loading=60.0))
    assert ending(worker, "begin", Bounds(0.1, loading=60.0)) == ("late", True)


@pytest.mark.parametrize(
    ("word", "bounds", "why"),
    [
        ("sleep", Bounds(0.2), "late"),
        ("sleep", Bounds(60.0, loading=0.2), "late"),
        ("leave", UNBOUNDED, "ended"),
        ("echo", Bounds(answer=0), "ended"),
    ],
)
def test_process_without_an_answer_is_no_more_and_another_starts(
    worker: Worker, word: str, bounds: Bounds, why: str
) -> None:
    (before,) = worker.ask([b"echo"])
    assert ending(worker, word, bounds) == (why, False)
    assert not Path(f"/proc/{int(before)}").exists()
    assert ending(worker, "echo") == ("ended", False)
    worker.start()
    assert worker.ask([b"echo"]) != [before]


def test_process_that_does_not_read_is_ended_in_time() -> None:
    worker = Worker("tests.system.answering:silent")
    worker.start()
    began = time.monotonic()
    with pytest.raises(NoAnswerError, match="late"):
        worker.ask([bytes(1 << 22)], Bounds(0.2))
    assert time.monotonic() - began < 20


def test_closing_ends_an_answer_that_is_waited_for(worker: Worker) -> None:
    timer = threading.Timer(0.5, worker.close)
    timer.start()
    assert ending(worker, "sleep") == ("ended", False)
    worker.start()  # it was closed for good
    assert ending(worker, "echo") == ("ended", False)


def test_process_ends_with_a_parent_that_is_killed_in_the_middle_of_its_work() -> None:
    code = (
        "from atc_py.system.worker import Worker\n"
        f"worker = Worker({ENTRY!r})\n"
        "worker.start()\n"
        "print(int(worker.ask([b'echo'])[0]), flush=True)\n"
        "worker.ask([b'sleep'])\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = Path(f"/proc/{int(parent.stdout.readline())}")
        parent.kill()
    until = time.monotonic() + 20
    while child.exists():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_end_is_said_by_the_name_of_the_signal() -> None:
    said = [describe_end(status) for status in (3, -11, -99)]
    assert said == ["ended with status 3", "was ended by SIGSEGV", "was ended by signal 99"]
