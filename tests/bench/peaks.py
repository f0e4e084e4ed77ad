"""Peak memory of commands, from a process that is small itself.

    python -m tests.bench.peaks '[["python", "-c", "pass"], ...]'

A child's peak counts what its parent had when it was started. Prints bytes, a line a command.
"""

import json
import subprocess
import sys

from tests.bench.measuring import measure, say


def peaks_of(*commands: list[str]) -> list[int]:
    """Return the peak resident memory of each command, in bytes."""
    line = [sys.executable, "-m", "tests.bench.peaks", json.dumps(commands)]
    done = subprocess.run(line, check=True, capture_output=True, text=True)
    return [int(each) for each in done.stdout.split()]


if __name__ == "__main__":
    for each in json.loads(sys.argv[1]):
        say(str(measure(each).peak))
