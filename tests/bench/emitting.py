"""What kernels cost of a conversion: planning, templates and descriptions beside the rest."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

import atc_py
from atc_py.emit.kernels import emit_kernels
from tests.bench.measuring import say
from tests.bench.networks import MODELS

__all__ = ["emitting"]

_TIMES = 7
_EMITS = "atc_py.driver.emit_kernels"


def emitting() -> None:
    """The share of `emit_kernels` in `convert`, in one process, of processor time, best of some."""
    paths = sorted(MODELS.glob("*/model.onnx"))
    if not paths:
        say("emission: the shared models are not there")
        return
    say(f"emission of kernels, ms of processor time, best of {_TIMES}")
    say(f"  {'model':24} {'convert':>8} {'emit':>8} {'share':>8}")
    totals = [0.0, 0.0]
    for path in paths:
        whole, emission = _best(path)
        totals = [totals[0] + whole, totals[1] + emission]
        say(
            f"  {path.parent.name:24} {whole * 1e3:8.1f} {emission * 1e3:8.1f} {emission / whole:8.1%}"
        )
    say(f"  {'all':24} {totals[0] * 1e3:8.1f} {totals[1] * 1e3:8.1f} {totals[1] / totals[0]:8.1%}")


def _best(path: Path) -> tuple[float, float]:
    """Seconds of a conversion and of its emission, each the shortest of several."""
    emitted = 0.0

    def timed(*arguments: Any) -> Any:
        nonlocal emitted
        started = time.process_time()
        found = emit_kernels(*arguments)
        emitted = time.process_time() - started
        return found

    times = []
    with tempfile.TemporaryDirectory() as folder, mock.patch(_EMITS, timed):
        for _ in range(_TIMES):
            started = time.process_time()
            atc_py.convert(path, Path(folder) / "model.om")
            times.append((time.process_time() - started, emitted))
    return min(whole for whole, _ in times), min(emission for _, emission in times)


if __name__ == "__main__":
    emitting()
