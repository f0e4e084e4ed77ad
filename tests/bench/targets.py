"""The one table of `make bench`: figures beside their targets and those of the last release."""

import math
import os
import statistics
from collections.abc import Iterable
from pathlib import Path

from tests.bench.measuring import say

RELEASED = Path(__file__).with_name("released.tsv")
"""A row for each figure: its name, the largest value that is wanted, and that of the last release."""

_noted: dict[str, float] = {}


def note(name: str, value: float) -> None:
    """Keep a figure for the table, which has its name."""
    if f"{name}\t" not in RELEASED.read_text(encoding="utf-8"):
        raise KeyError(name)
    _noted[name] = value


def geometric_mean(values: Iterable[float]) -> float:
    """The mean of ratios."""
    return math.exp(statistics.fmean(map(math.log, values)))


def table(lines: Iterable[str]) -> list[str]:
    """The lines of the table: of each row of `released.tsv` what was noted."""
    shown = [f"  {'figure':52} {'now':>7} {'target':>7} {'release':>8}"]
    for line in lines:
        name, target, before = line.split("\t")
        now = _noted.get(name)
        value = "-" if now is None else f"{now:.2f}"
        missed = "  missed" if now is not None and now > float(target) else ""
        shown.append(f"  {name:52} {value:>7} {target:>7} {before.strip():>8}{missed}")
    return shown


class Machine:
    """How much of the processors others took since this was made, in Linux's count."""

    def __init__(self) -> None:
        self._start = self._times()

    @staticmethod
    def _times() -> tuple[float, float]:
        """Seconds that all processes had, and that this one and its children had."""
        path = Path("/proc/stat")
        if not path.exists():
            return 0.0, 0.0
        user, nice, system = map(int, path.read_text().split(maxsplit=4)[1:4])
        own = os.times()
        ticks = (user + nice + system) / os.sysconf("SC_CLK_TCK")
        return ticks, own.user + own.system + own.children_user + own.children_system

    def share_of_others(self) -> float:
        """Processor time of other processes over that of this one; 0 where it is not known."""
        everything, own = (
            end - start for end, start in zip(self._times(), self._start, strict=True)
        )
        return max(0.0, everything - own) / own if everything and own else 0.0


def say_targets(machine: Machine) -> None:
    """Print the table, and how idle the machine was."""
    cores = os.cpu_count() or 1
    say(
        f"targets, on {cores} cores; other processes took {machine.share_of_others():.0%} of our processor time"
    )
    for line in table(RELEASED.read_text(encoding="utf-8").splitlines()):
        say(line)
