"""Processor time of plans of dtypes beside a conversion and a run for each trial, which they need."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench.measuring import say
from tests.bench.networks import MODELS
from tests.bench.targets import note

NETWORKS = ("bert_mini_opset13", "mobilenetv2_opset13", "resnet_mini_opset9")
TRIALS, SAMPLES = 24, 4
TARGET = {"cosine": 0.999999}


def trials() -> None:
    """Print a line for each network; all in one process."""
    paths = [MODELS / name / "model.onnx" for name in NETWORKS]
    if not all(path.exists() for path in paths):
        say("trials: the shared models are not there")
        return
    say(f"plan, at most {TRIALS} trials of {SAMPLES} samples, processor time in one process")
    say(f"  {'network':22} {'trials':>6} {'plan s':>7} {'one s':>7} {'ratio':>6}")
    note("plan / a conversion and the runs of each trial, largest", max(map(_ratio, paths)))


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
    count = 0

    def plan() -> None:
        nonlocal count
        done = atc_py.plan_model(path, target=TARGET, samples=SAMPLES, trials=TRIALS, jobs=1)
        count = done.trials

    taken = _seconds(plan)
    ratio = taken / (count * needed)
    say(f"  {path.parent.name:22} {count:6} {taken:7.2f} {needed:7.2f} {ratio:6.2f}")
    return ratio


def _seconds(action: Callable[[], None]) -> float:
    """Processor time of a call."""
    started = time.process_time()
    action()
    return time.process_time() - started


if __name__ == "__main__":
    trials()
