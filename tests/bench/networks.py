"""Time of one inference of each shared network beside onnxruntime and ONNX's reference."""

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.bench.measuring import BLOCKS, RUNS, median_time, say
from tests.bench.targets import geometric_mean, note

MODELS = Path(__file__).resolve().parents[2] / ".." / "shared" / "models"


def networks() -> None:
    """Print a line for each network, and the geometric mean of the ratios of float16 to float32.

    The two take turns in blocks, since the machine's speed changes from one second to the next.
    """
    folders = sorted(path.parent for path in MODELS.glob("*/model.onnx"))
    if not folders:
        say("networks: the shared models are not there")
        return
    say(f"networks at force_fp16, {BLOCKS} blocks of {RUNS} runs in turn, medians")
    say(f"  {'network':22} {'atc-py ms':>10} {'/ ort':>7} {'/ reference':>12}")
    ratios = []
    for folder in folders:
        ours, theirs, reference = _times(folder)
        ratios.append(ours / theirs)
        beside = "fails" if reference is None else f"{ours / reference:.3f}"
        say(f"  {folder.name:22} {ours * 1000:10.1f} {ours / theirs:7.2f} {beside:>12}")
    mean = geometric_mean(ratios)
    note("simulator / onnxruntime, all cores, geometric mean", mean)
    say(f"  {'geometric mean':22} {'':10} {mean:7.2f}")


def _times(folder: Path) -> tuple[float, float, float | None]:
    """Return seconds of one inference: ours, onnxruntime's, and of one run the reference's."""
    import numpy as np
    import onnxruntime

    import atc_py

    onnxruntime.set_default_logger_severity(4)
    path = folder / "model.onnx"
    feeds: dict[str, Any] = dict(np.load(folder / "inputs.npz"))
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    with tempfile.TemporaryDirectory() as name:
        om = Path(name) / "model.om"
        atc_py.convert(path, om)
        with atc_py.load(om) as model:
            blocks = [
                (
                    median_time(lambda: model.run(feeds)),
                    median_time(lambda: session.run(None, feeds)),
                )
                for _ in range(BLOCKS)
            ]
    ours, theirs = (statistics.median(each) for each in zip(*blocks, strict=True))
    return ours, theirs, _reference(path, feeds)


def _reference(path: Path, feeds: dict[str, Any]) -> float | None:
    """Return seconds that ONNX's reference evaluator takes; None where it fails."""
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(str(path))
    started = time.perf_counter()
    try:
        evaluator.run(None, feeds)
    except (ValueError, TypeError, RuntimeError, NotImplementedError):
        return None
    return time.perf_counter() - started
