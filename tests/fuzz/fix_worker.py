"""A process that tries `fix` on one model after the other, within limits of time and memory.

It writes what `tests.fuzz.worker` writes.
"""

import argparse
import faulthandler
import json
import resource
import signal
import tempfile
from pathlib import Path

from tests.fuzz.fix_cases import LISTS, fix_case
from tests.fuzz.fix_trial import try_fix
from tests.fuzz.worker import measured, say

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
        say(f"begin {number}")
        say(json.dumps(_tried(given.seed, number, shared=not given.built_in)))


def _tried(seed: int, number: int, *, shared: bool) -> dict[str, object]:
    """Return one case; how it ended and what it took."""
    case = fix_case(seed, number, shared=shared)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(case.data)
        operator_list = LISTS[number % len(LISTS)]
        return measured(number, case.label, lambda: try_fix(path, operator_list), SECONDS)


if __name__ == "__main__":
    main()
