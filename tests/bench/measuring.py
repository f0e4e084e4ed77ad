"""What the benchmarks measure with: whole processes, their time and memory, and calls."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

MIB = 1 << 20
ROUNDS = 3

_ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}
"""The environment of what is measured: Python keeps bytecode, as of all packages that are installed.

Compiling the modules of a checkout anew takes as long as converting a small model."""

BLOCKS, RUNS = 5, 5
"""Blocks in which the sides of a comparison take turns, and runs of each in a block."""


@dataclass(frozen=True)
class Cost:
    """Wall time in seconds and peak resident memory in bytes of a whole process.

    Attributes:
        seconds: wall time.
        peak: largest resident memory in bytes.
        processor: seconds of processor time, which other processes change less.
    """

    seconds: float
    peak: int
    processor: float


def measure(command: list[str], status: tuple[int, ...] = (0,)) -> Cost:
    """Run `command` and wait for it; it must end with one of the statuses."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_ENVIRONMENT
    )
    _, ended, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(ended)
    if process.returncode not in status:
        raise SystemExit(f"{command} failed with status {process.returncode}")
    seconds = time.perf_counter() - started
    return Cost(seconds, usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime)


def cheapest(costs: Iterable[Cost]) -> Cost:
    """Return the fastest of several runs, with the largest peak among them."""
    measured = list(costs)
    return Cost(
        min(cost.seconds for cost in measured),
        max(cost.peak for cost in measured),
        min(cost.processor for cost in measured),
    )


def say(text: str) -> None:
    """Print one line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def say_costs(costs: Mapping[str, Cost], size: int) -> None:
    """Print a table of what each tool costs; the first is ours, `size` the model's in bytes."""
    ours = next(iter(costs.values()))
    say(f"  {'tool':12} {'seconds':>8} {'x ours':>7} {'peak MiB':>9} {'peak/file':>9}")
    for tool, cost in costs.items():
        say(
            f"  {tool:12} {cost.seconds:8.2f} {cost.seconds / ours.seconds:7.2f} "
            f"{cost.peak / MIB:9.0f} {cost.peak / size:9.2f}"
        )


def median_time(action: Callable[[], object]) -> float:
    """Return median time in seconds of `RUNS` runs of `action`, after a call to warm up."""
    action()
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return statistics.median(times)
