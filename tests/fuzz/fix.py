"""Many models through `fix`: no traceback, nothing half-written, and the same results as before.

`python -m tests.fuzz.fix --count 2000 --seed 1` prints every failure with its seed and number, and
how the cases ended. `skipped` are those whose original runs neither in onnxruntime nor in ONNX's
reference.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from tests.fuzz.sweep import Round, sweep

WORKER = "tests.fuzz.fix_worker"


def main(args: Sequence[str] | None = None) -> int:
    """Run a round; 1 where a case failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--built-in", action="store_true", help="start from built-in models only")
    given = parser.parse_args(args)
    wanted = Round(
        given.seed, given.first, given.count, given.jobs, not given.built_in, worker=WORKER
    )
    tally = sweep(wanted)
    for failure in tally.failures:
        print(f"\nFAILED {failure}")  # noqa: T201
    for (command, status), count in sorted(tally.ends.items()):
        print(f"{command} {status}: {count}")  # noqa: T201
    for (_, code), count in tally.codes.most_common():
        print(f"  {code}: {count}, for example {tally.examples['fix', code]}")  # noqa: T201
    print(f"\n{tally.tried} cases, {len(tally.failures)} failed")  # noqa: T201
    print(f"slowest {tally.slowest[0]} s: {tally.slowest[1]}")  # noqa: T201
    print(f"most memory {tally.grown[0]} MiB: {tally.grown[1]}")  # noqa: T201
    return bool(tally.failures)


if __name__ == "__main__":
    sys.exit(main())
