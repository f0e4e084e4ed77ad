"""A process that tries mutated models one after the other, within limits of time and memory.

It writes two lines for each: `begin NUMBER`, and the outcome as JSON. Who started it sees by the
missing second line that a case ended the process.
"""

import argparse
import faulthandler
import json
import os
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from tests.fuzz.cases import mutated_model
from tests.fuzz.trial import Outcome, try_model

SECONDS = 10
"""Processor time that a case may take; then SIGPROF ends the process."""

MEMORY = 4 * 2**30
"""Bytes of address space that the process may have."""


def main(tried: Callable[..., dict[str, object]] | None = None) -> None:
    """Try the cases that the command line names.

    Args:
        tried: gives the outcome of a case, its files in a folder; that of a mutated model if None.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("seed", "first", "end", "step"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--built-in", action="store_true", help="start from built-in models only")
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    faulthandler.enable()
    faulthandler.register(signal.SIGPROF, chain=True)
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        for number in range(given.first, given.end, given.step):
            say(f"begin {number}")
            shared = not given.built_in
            found = (tried or _tried)(Path(folder), given.seed, number, shared=shared)
            say(json.dumps(found))


def _tried(folder: Path, seed: int, number: int, *, shared: bool) -> dict[str, object]:
    """Return one case; how it ended and what it took."""
    case = mutated_model(seed, number, shared=shared)
    path = folder / "model.onnx"
    path.write_bytes(case.data)
    return measured(number, case.label, lambda: try_model(path, number), SECONDS)


def measured(
    number: int, label: str, attempt: Callable[[], Outcome], seconds: int
) -> dict[str, object]:
    """Return how a case ended and what it took; SIGPROF ends the process after `seconds`."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, seconds)
    outcome = attempt()
    signal.setitimer(signal.ITIMER_PROF, 0)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {
        "number": number,
        "label": label,
        "seconds": round(time.process_time() - started, 3),
        "grown_mib": grown // 1024,
        "steps": [asdict(step) for step in outcome.steps],
        "failure": outcome.failure,
    }


def say(line: str) -> None:
    """Write a line where no captured stream can keep it back."""
    os.write(sys.__stdout__.fileno() if sys.__stdout__ else 1, f"{line}\n".encode())


if __name__ == "__main__":
    main()
