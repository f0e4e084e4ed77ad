"""Damaged files of Huawei's atc through every command that imports them: refused with a code, or used.

The files are small ones that tests write. `python -m tests.fuzz.sweep --worker tests.fuzz.huawei_imports`
tries many; it writes what `tests.fuzz.worker` writes.
"""

import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.fuzz.huawei_models import mutated_file
from tests.fuzz.trial import Outcome, run_command
from tests.fuzz.worker import main, measured
from tests.pipeline.huawei.example_models import called, chained, geared, partly_known, piped
from tests.pipeline.huawei.small_models import halves

SECONDS = 30
"""Processor time that a case may take."""

COMMANDS = (
    ("run", "@", "--random", "1"),
    ("run", "@", "--random", "1", "--device", "ort"),
    ("export", "@", "-o", "@.onnx"),
    ("export", "@", "-o", "@.onnx", "--plain", "--float32"),
    ("profile", "@"),
    ("kernels", "@"),
)
"""Commands that import a file of Huawei's atc."""


def damaged_model(seed: int, number: int) -> tuple[str, bytes]:
    """Label and bytes of a case, the same whenever it is made."""
    return mutated_file(_sound_models(), seed, number, ("bytes", *("description",) * 5))


def try_import(path: Path) -> Outcome:
    """Give the file at `path` to every command."""
    return Outcome(
        tuple(run_command(*(part.replace("@", str(path)) for part in each)) for each in COMMANDS)
    )


@cache
def _sound_models() -> list[tuple[str, bytes]]:
    """The files that mutation starts from, by name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.om"
        return [(name, write(path).read_bytes()) for name, write in _EXAMPLES.items()]


def _residual(path: Path) -> Path:
    slope = np.full((1, 1, 1), 0.3, np.float32)
    arrays: dict[str, NDArray[Any]] = {"w": halves(1, 16, 16, 3, 3), "s": slope, "t": slope}
    return piped(path, ["PRelu", "Add", "PRelu"], {4: "other", 6: "s", 9: "t"}, arrays)


_EXAMPLES: dict[str, Callable[[Path], Path]] = {
    "pipe": lambda path: piped(path, ["Relu"], {}, {"w": halves(1, 16, 16, 3, 3)}),
    "residual": _residual,
    "chain": chained,
    "partly": partly_known,
    "called": called,
    "geared": geared,
}


def _tried(folder: Path, seed: int, number: int, *, shared: bool) -> dict[str, object]:  # noqa: ARG001
    """One case; how it ended and what it took."""
    label, data = damaged_model(seed, number)
    path = folder / "model.om"
    path.write_bytes(data)
    return measured(number, label, partial(try_import, path), SECONDS)


if __name__ == "__main__":
    main(_tried)
