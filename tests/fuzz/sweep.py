"""Many mutated models, tried by worker processes; what failed, and the table of codes.

`python -m tests.fuzz.sweep --count 10000 --seed 1` prints the seed, every failure with what it
takes to make the case again, and how often each code was given.
"""

from __future__ import annotations

import argparse
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from atc_py.diag import all_codes

ROOT = Path(__file__).resolve().parents[2]

GROWTH = 1024
"""MiB by which the memory of a worker may grow over one case."""

_SILENCE = 120
"""Seconds without a line after which a worker is given up: it waits for something."""


@dataclass(frozen=True)
class Round:
    """A round of cases to try.

    Attributes:
        seed: the round's seed.
        first: the first case.
        count: how many cases.
        jobs: processes at a time.
        shared: start also from the models beside the project, where they are.
        seconds: when to stop, 0 for never.
        worker: the module that tries the cases.
    """

    seed: int = 1
    first: int = 0
    count: int = 1000
    jobs: int = 1
    shared: bool = True
    seconds: float = 0.0
    worker: str = "tests.fuzz.worker"


@dataclass
class Tally:
    """The outcomes of the cases.

    Attributes:
        tried: how many there were.
        ends: cases by the command that ended them and its exit status.
        codes: cases by each code that a command gave.
        examples: the label of one case for each of these.
        failures: what must not be, with the label of the case.
        slowest: processor time of the slowest case, in seconds, and its label.
        grown: the most MiB by which a case made its process grow, and its label.
    """

    tried: int = 0
    ends: Counter[tuple[str, int]] = field(default_factory=Counter)
    codes: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str], str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")
    grown: tuple[int, str] = (0, "")

    def take(self, found: dict[str, Any]) -> None:
        """Count one outcome, as a worker wrote it."""
        self.tried += 1
        label = found["label"]
        for step in found["steps"]:
            for code in step["codes"]:
                self.codes[step["command"], code] += 1
                self.examples.setdefault((step["command"], code), label)
        last = found["steps"][-1]
        self.ends[last["command"], last["status"]] += 1
        self.slowest = max(self.slowest, (found["seconds"], label))
        self.grown = max(self.grown, (found["grown_mib"], label))
        if found["failure"]:
            self.failures.append(f"{label}\n{found['failure']}")
        elif found["grown_mib"] > GROWTH:
            self.failures.append(f"{label}\nmemory grew by {found['grown_mib']} MiB")

    def join(self, other: Tally) -> None:
        """Take in what another worker's cases came to."""
        self.tried += other.tried
        self.ends += other.ends
        self.codes += other.codes
        self.examples = {**other.examples, **self.examples}
        self.failures += other.failures
        self.slowest = max(self.slowest, other.slowest)
        self.grown = max(self.grown, other.grown)


def sweep(wanted: Round) -> Tally:
    """Try the cases of a round."""
    until = time.monotonic() + wanted.seconds if wanted.seconds else None
    with ThreadPoolExecutor(wanted.jobs) as pool:
        tallies = pool.map(partial(_drive, wanted, until), range(wanted.jobs))
        whole = Tally()
        for each in tallies:
            whole.join(each)
    return whole


def _drive(wanted: Round, until: float | None, job: int) -> Tally:
    """Return every `jobs`th case, in as many worker processes as it takes."""
    tally = Tally()
    at, end = wanted.first + job, wanted.first + wanted.count
    while at < end and (until is None or time.monotonic() < until):
        with tempfile.TemporaryFile() as log, _worker(wanted, at, end, log) as process:
            last, finished = at, False
            for line in _lines(process, until):
                if line.startswith("begin "):
                    last, finished = int(line[6:]), False
                else:
                    tally.take(json.loads(line))
                    finished = True
            process.kill()
            status = process.wait()
            if not finished and (until is None or time.monotonic() < until):
                tally.tried += 1
                tally.failures.append(_ended(wanted.seed, last, status, log))
        at = last + wanted.jobs
    return tally


def _worker(wanted: Round, first: int, end: int, log: Any) -> subprocess.Popen[bytes]:
    """Return a process that tries cases from `first` on."""
    command = [sys.executable, "-m", wanted.worker, f"--seed={wanted.seed}"]
    command += [f"--first={first}", f"--end={end}", f"--step={wanted.jobs}"]
    command += [] if wanted.shared else ["--built-in"]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, env=environment)


def _lines(process: subprocess.Popen[bytes], until: float | None) -> Iterator[str]:
    """Yield the lines of a worker, until it ends, falls silent, or time is up."""
    assert process.stdout is not None
    pending = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while until is None or time.monotonic() < until:
            if not selector.select(_SILENCE):
                return
            data = os.read(process.stdout.fileno(), 2**16)
            if not data:
                return
            *whole, pending = (pending + data).split(b"\n")
            yield from (line.decode() for line in whole)


def _ended(seed: int, number: int, status: int, log: Any) -> str:
    """Return a sentence for a case that ended its worker, with the end of what that wrote."""
    log.seek(0)
    said = log.read()[-3000:].decode("utf-8", "replace")
    how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
    return f"#{seed}:{number}\nthe process ended with {how}\n{said}"


def table_lines(tally: Tally) -> Iterator[str]:
    """Yield the outcome in Markdown: cases by how they ended, then by code."""
    yield "| last command | exit status | cases |"
    yield "| --- | --- | --- |"
    for (command, status), count in sorted(tally.ends.items()):
        yield f"| {command} | {status} | {count} |"
    yield ""
    names = {row.id: row.name for row in all_codes()}
    commands = sorted({command for command, _ in tally.codes})
    yield f"| code | {' | '.join([*commands, 'example'])} |"
    yield "| --- |" + " --- |" * (len(commands) + 1)
    for code in sorted({code for _, code in tally.codes}):
        counts = [str(tally.codes[command, code]) for command in commands]
        found = (tally.examples.get((command, code)) for command in commands)
        example = next(label for label in found if label)
        yield f"| {code} {names[code]} | {' | '.join(counts)} | {example} |"


def main(args: Sequence[str] | None = None) -> int:
    """Run a round; 1 where a case failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    given = os.environ.get
    parser.add_argument("--count", type=int, default=int(given("FUZZ_COUNT", "10000")))
    parser.add_argument("--seed", type=int, default=int(given("FUZZ_SEED", "1")))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float(given("FUZZ_SECONDS", "0")))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--built-in", action="store_true", help="start from built-in models only")
    parser.add_argument("--worker", default=Round.worker, help="the module that tries the cases")
    found = parser.parse_args(args)
    wanted = Round(
        found.seed,
        found.first,
        found.count,
        found.jobs,
        not found.built_in,
        found.seconds,
        found.worker,
    )
    print(f"seed {wanted.seed}, cases {wanted.first} to {wanted.first + wanted.count - 1}")  # noqa: T201
    tally = sweep(wanted)
    for failure in tally.failures:
        print(f"\nFAILED {failure}")  # noqa: T201
    print("\n".join(table_lines(tally)))  # noqa: T201
    print(f"\n{tally.tried} cases, {len(tally.failures)} failed")  # noqa: T201
    print(f"slowest {tally.slowest[0]} s: {tally.slowest[1]}")  # noqa: T201
    print(f"most memory {tally.grown[0]} MiB: {tally.grown[1]}")  # noqa: T201
    return bool(tally.failures)


if __name__ == "__main__":
    sys.exit(main())
