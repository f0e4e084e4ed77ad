"""Processor time of one inference of each shared network on one core, beside onnxruntime.

What the clock on the wall says depends on what else the machine does, and on how fast threads wake
up. Processor time on one core says what the work itself takes, also on a busy machine.
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.measuring import say
from tests.bench.networks import MODELS
from tests.bench.targets import geometric_mean, note
from tests.blas_kernels import kernels_in_use

CHAINS = ("elementwise chain", "softmax chain")
NODES = 1_000
"""Nodes of a chain; one of Softmax is thirteen calls of numpy."""

TURNS, SECONDS = 6, 0.15
"""How often the two take turns, and for how long each time."""


def one_core() -> None:
    """Print a line for each network, and the geometric mean of the ratios of float16 to float32."""
    folders = sorted(path.parent for path in MODELS.glob("*/model.onnx"))
    if not folders or not hasattr(os, "sched_setaffinity"):
        say("one core: the shared models are not there, or the system does not pin processes")
        return
    cores = os.sched_getaffinity(0)
    say(f"networks at force_fp16 on one core, processor time, best of {TURNS} turns")
    say(f"  {'network':22} {'atc-py ms':>10} {'/ ort':>7}")
    ratios = []
    for folder in folders:
        os.sched_setaffinity(0, {min(cores)})
        try:
            ours, theirs = _times(folder)
        finally:
            os.sched_setaffinity(0, cores)
        ratios.append(ours / theirs)
        say(f"  {folder.name:22} {ours * 1000:10.2f} {ours / theirs:7.2f}")
    mean = geometric_mean(ratios)
    note("simulator / onnxruntime, one core, geometric mean", mean)
    say(f"  {'geometric mean':22} {'':10} {mean:7.2f}")
    say(f"  OpenBLAS's kernels: {', '.join(kernels_in_use())}")
    for shape in CHAINS:
        each = _chain(shape)
        say(f"  {shape}, {NODES:,} small nodes: {each:.1f} us a node")
        note(f"simulator, {shape}, us a node", each)


def _chain(shape: str) -> float:
    """Microseconds of processor time that a node of a chain takes in one run."""
    import numpy as np
    import onnx

    import atc_py
    from tests.bench.growing_models import DIMS, SHAPES

    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "model.onnx"
        onnx.save(SHAPES[shape](NODES), path)
        atc_py.convert(path, path.with_suffix(".om"))
        with atc_py.load(path.with_suffix(".om")) as model:
            feeds = {"x": np.ones(DIMS, np.float32)}
            for _ in range(3):
                model.run(feeds)
            return min(_best(lambda: model.run(feeds)) for _ in range(TURNS)) / NODES * 1e6


def _times(folder: Path) -> tuple[float, float]:
    """Return seconds of one inference, ours and onnxruntime's."""
    import numpy as np
    import onnxruntime

    import atc_py

    onnxruntime.set_default_logger_severity(4)
    path = folder / "model.onnx"
    feeds: dict[str, Any] = dict(np.load(folder / "inputs.npz"))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    with tempfile.TemporaryDirectory() as name:
        om = Path(name) / "model.om"
        atc_py.convert(path, om)
        with atc_py.load(om) as model:
            for _ in range(3):
                model.run(feeds)
            turns = [
                (_best(lambda: model.run(feeds)), _best(lambda: session.run(None, feeds)))
                for _ in range(TURNS)
            ]
    ours, theirs = (min(each) for each in zip(*turns, strict=True))
    return ours, theirs


def _best(action: Callable[[], object]) -> float:
    """Return the least processor time in seconds that `action` takes of the runs in a turn."""
    times: list[float] = []
    while not times or sum(times) < SECONDS:
        started = time.process_time()
        action()
        times.append(time.process_time() - started)
    return min(times)
