"""A process that tries `fix` on one model after the other, within limits of time and memory.

It writes what `tests.fuzz.worker` writes.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import resource
import signal
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from tests.fuzz.fix_cases import LISTS, fix_case
from tests.fuzz.fix_trial import try_fix

__all__ = ["main"]

SECONDS = 60
"""Processor time that a case may take; the proof runs the model in onnxruntime, node by node."""

MEMORY = 8 * 2**30
"""Bytes of address space that the process may have."""


def main() -> None:
    """Try the cases that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("seed", "first", "end", "step"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--built-in", action="store_true", help="start from built-in models only")
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    faulthandler.enable()
    faulthandler.register(signal.SIGPROF, chain=True)
    for number in range(given.first, given.end, given.step):
        _say(f"begin {number}")
        _say(json.dumps(_tried(given.seed, number, shared=not given.built_in)))


def _tried(seed: int, number: int, *, shared: bool) -> dict[str, object]:
    """Return one case; how it ended and what it took."""
    case = fix_case(seed, number, shared=shared)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(case.data)
        outcome = try_fix(path, LISTS[number % len(LISTS)])
    signal.setitimer(signal.ITIMER_PROF, 0)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {
        "number": number,
        "label": case.label,
        "seconds": round(time.process_time() - started, 3),
        "grown_mib": grown // 1024,
        "steps": [asdict(step) for step in outcome.steps],
        "failure": outcome.failure,
    }


def _say(line: str) -> None:
    """Write a line where no captured stream can keep it back."""
    os.write(sys.__stdout__.fileno() if sys.__stdout__ else 1, f"{line}\n".encode())


if __name__ == "__main__":
    main()
