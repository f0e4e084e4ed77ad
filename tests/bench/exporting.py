"""Device `ort` beside onnxruntime: time of a run, of writing the export, and memory."""

import math
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.bench.measuring import BLOCKS, RUNS, median_time, say
from tests.bench.networks import MODELS
from tests.bench.peaks import peaks_of

_THEIRS = """
import sys, numpy, onnxruntime
onnxruntime.set_default_logger_severity(4)
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
session.run(None, dict(numpy.load(sys.argv[2])))
"""

_OURS = """
import sys, numpy, atc_py
with atc_py.load(sys.argv[1], device="ort") as model:
    model.run(dict(numpy.load(sys.argv[2])))
"""


class _Row(NamedTuple):
    """Figures of a network: seconds of runs, ratio of times, of export to convert, of memory."""

    ours: float
    theirs: float
    ratio: float
    written: float
    memory: float


def exporting() -> None:
    """Print a line for each network, and the geometric mean of the ratios of run times.

    Both sides run on all cores and take turns in blocks. `export` is the time of `atc-py export` of
    the offline model over that of `atc-py convert`, `memory` the peak of a whole process that loads
    the model and runs it once.
    """
    folders = sorted(path.parent for path in MODELS.glob("*/model.onnx"))
    if not folders:
        say("device ort: the shared models are not there")
        return
    say(f"device ort at force_fp16 beside onnxruntime float32, {BLOCKS} blocks of {RUNS}, medians")
    say(
        f"  {'network':22} {'ort ms':>8} {'float32 ms':>11} {'ratio':>6} {'export':>7} {'memory':>7}"
    )
    ratios = []
    for folder in folders:
        with tempfile.TemporaryDirectory() as name:
            row = _row(folder, Path(name))
        ratios.append(row.ratio)
        say(
            f"  {folder.name:22} {row.ours * 1e3:8.2f} {row.theirs * 1e3:11.2f} {row.ratio:6.2f} "
            f"{row.written:7.2f} {row.memory:7.2f}"
        )
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))
    say(f"  {'geometric mean':22} {'':8} {'':11} {mean:6.2f}")


def _row(folder: Path, work: Path) -> _Row:
    """Measure one network."""
    import numpy as np
    import onnxruntime

    import atc_py

    onnxruntime.set_default_logger_severity(4)
    path, inputs, om = folder / "model.onnx", folder / "inputs.npz", work / "model.om"
    feeds = dict(np.load(inputs))
    written = []
    for _ in range(BLOCKS):
        started = time.perf_counter()
        atc_py.convert(path, om)
        between = time.perf_counter()
        atc_py.export_model(om, work / "model.onnx")
        written.append((time.perf_counter() - between) / (between - started))
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    with atc_py.load(om, device="ort") as model:
        blocks = [
            (
                median_time(lambda: model.run(feeds)),
                median_time(lambda: session.run(None, feeds)),
            )
            for _ in range(BLOCKS)
        ]
    ours, theirs = (statistics.median(each) for each in zip(*blocks, strict=True))
    mine, other = peaks_of(
        [sys.executable, "-c", _OURS, str(om), str(inputs)],
        [sys.executable, "-c", _THEIRS, str(path), str(inputs)],
    )
    ratio = statistics.median(one / two for one, two in blocks)
    return _Row(ours, theirs, ratio, statistics.median(written), mine / other)


if __name__ == "__main__":
    exporting()
