"""Processor time of the trials of plans of dtypes beside a conversion and its runs."""

import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from tests.bench.measuring import say
from tests.bench.networks import MODELS
from tests.bench.targets import note

TARGETS = {
    "bert_mini_opset13": 0.9999999,
    "mobilenetv2_opset13": 0.999999,
    "resnet_mini_opset9": 0.999999,
}
"""Cosines of shared networks that a search reaches, if at all, in many trials."""

TRIALS, SAMPLES = 24, 4


def trials() -> None:
    """Print a line for each network; all in one process."""
    paths = [MODELS / name / "model.onnx" for name in TARGETS]
    if not all(path.exists() for path in paths):
        say("trials: the shared models are not there")
        return
    say(f"trials of plans, {SAMPLES} samples, processor time in one process, medians")
    say(f"  {'network':22} {'trials':>6} {'trial ms':>9} {'alone ms':>9} {'ratio':>6}")
    note("a trial of a plan / a conversion and its runs, largest", max(map(_ratio, paths)))


def _ratio(path: Path) -> float:
    """Print the line of a network; return the ratio."""
    import numpy as np

    import atc_py

    feeds = dict(np.load(path.parent / "inputs.npz"))
    with tempfile.TemporaryDirectory() as folder:
        om = Path(folder) / "model.om"

        def one() -> None:
            atc_py.convert(path, om)
            with atc_py.load(om) as model:
                for _ in range(SAMPLES):
                    model.run(feeds)

        one()
        needed = min(_seconds(one) for _ in range(2))
    starts: list[float | None] = []

    def note_start(stage: str) -> None:
        starts.append(time.process_time() if ": trial " in stage else None)

    target = {"cosine": TARGETS[path.parent.name]}
    atc_py.plan_model(
        path, target=target, samples=SAMPLES, trials=TRIALS, jobs=1, on_stage=note_start
    )
    pairs = pairwise(starts)
    taken = [end - start for start, end in pairs if start is not None and end is not None]
    trial = statistics.median(taken)
    say(
        f"  {path.parent.name:22} {len(taken):6} {trial * 1000:9.0f} {needed * 1000:9.0f} "
        f"{trial / needed:6.2f}"
    )
    return trial / needed


def _seconds(action: Callable[[], None]) -> float:
    """Processor time of a call."""
    started = time.process_time()
    action()
    return time.process_time() - started


if __name__ == "__main__":
    trials()
