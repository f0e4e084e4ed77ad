"""What kernels cost of a conversion: planning, templates and descriptions beside the rest.

Twice: of the command as a user runs it, and of calls in a process that has all modules and templates.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

import atc_py
from atc_py.kernels.kernels import emit_kernels
from tests.bench.measuring import say
from tests.bench.networks import MODELS

_TIMES = 7
_EMITS = "atc_py.pipeline.compile.emit_kernels"


def emitting() -> None:
    """Print the shares of emission in `atc-py convert` and of `emit_kernels` in `convert`."""
    paths = sorted(MODELS.glob("*/model.onnx"))
    if not paths:
        say("emission: the shared models are not there")
        return
    say(f"emission of kernels: share of the command's time, median of {_TIMES};")
    say(f"ms of processor time of a call in one process, best of {_TIMES}")
    say(f"  {'model':24} {'command':>8} {'convert':>8} {'emit':>8} {'share':>8}")
    totals = [0.0, 0.0]
    for path in paths:
        command, (whole, emission) = _share_of_command(path), _best(path)
        totals = [totals[0] + whole, totals[1] + emission]
        say(f"  {path.parent.name:24} {command:8.1%} {_row(whole, emission)}")
    say(f"  {'all':24} {'':8} {_row(*totals)}")


def _row(whole: float, emission: float) -> str:
    """Return milliseconds of a call and of its emission, and the share."""
    return f"{whole * 1e3:8.1f} {emission * 1e3:8.1f} {emission / whole:8.1%}"


def _share_of_command(path: Path) -> float:
    """Return the share of stage "emit" in a whole `atc-py convert`; templates are compiled."""
    shares = []
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "atc_py", "convert", str(path), "--json"]
        command += ["-o", f"{folder}/model.om"]
        for _ in range(_TIMES):
            started = time.perf_counter()
            printed = subprocess.run(command, check=True, capture_output=True).stdout
            seconds = time.perf_counter() - started
            shares.append(float(json.loads(printed)["stages"]["emit"]) / seconds)
    return statistics.median(shares)


def _best(path: Path) -> tuple[float, float]:
    """Return seconds of a conversion and of its emission, each the shortest of several."""
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
