"""Every kernel of every network, built with all warnings as errors and held to the simulator.

`python -m tests.kernels_of_networks [--sanitize] [MODEL ...]`: the models that are named, or those
below the folder that ATC_PY_MODELS names and the light networks of the onnx package. The exit
status is 4 where a kernel is wrong.
"""

import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import onnx

from atc_py.compare.kernels.toolchain import find_compiler
from atc_py.compare.kernels.verify import KernelVerdict, verify_kernels
from atc_py.pipeline.opened import opened_model
from tests.bench.models import LIGHT, randomised_light

_FOLDER = "ATC_PY_MODELS"


def main(arguments: list[str]) -> int:
    """Verify, print a line a network and one a fault; the exit status."""
    sanitize = "--sanitize" in arguments
    named = [Path(each) for each in arguments if not each.startswith("-")]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in named or networks(Path(folder)):
            started = time.perf_counter()
            with opened_model(path) as model:
                checked = verify_kernels(model, find_compiler(sanitize=sanitize))
            sys.stdout.write(line(path, checked, time.perf_counter() - started) + "\n")
            for each in checked:
                if each.verdict.is_wrong:
                    wrong += 1
                    sys.stdout.write(f"  {each.kernel['name']} row {each.row}: {each.text}\n")
            sys.stdout.flush()
    return 4 if wrong else 0


def networks(folder: Path) -> Iterator[Path]:
    """Yield the shared models, where they are, and the light networks with random weights."""
    models = os.environ.get(_FOLDER)
    if models is not None:
        yield from sorted(Path(models).glob("*/model.onnx"))
    for found in sorted(LIGHT.glob("light_*.onnx")):
        path = folder / found.name
        name = found.stem.removeprefix("light_")
        onnx.save(randomised_light(name), path)
        yield path


def line(path: Path, checked: list[KernelVerdict], seconds: float) -> str:
    """Return `resnet50: 12 equal, 3 close (4.1 s)`."""
    counts = Counter(each.verdict.value for each in checked)
    listed = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    name = path.parent.name if path.stem == "model" else path.stem
    return f"{name}: {listed} ({seconds:.1f} s)"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
