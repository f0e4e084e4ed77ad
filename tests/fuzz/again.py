"""One case made again: `python -m tests.fuzz.again SEED NUMBER [FILE]` writes and tries it."""

import sys
from pathlib import Path

from tests.fuzz.cases import mutated_model
from tests.fuzz.trial import try_model

if __name__ == "__main__":
    seed, number = map(int, sys.argv[1:3])
    path = Path(sys.argv[3] if len(sys.argv) > 3 else f"case_{seed}_{number}.onnx")
    case = mutated_model(seed, number)
    path.write_bytes(case.data)
    print(case.label, path)  # noqa: T201
    for step in try_model(path, number).steps:
        print(step.command, step.status, *step.codes)  # noqa: T201
        print(step.failure, end="")  # noqa: T201
