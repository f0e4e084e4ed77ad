"""`make bench`: conversion, checking and inference beside their peers.

Every figure of one table comes from one run on one machine; only the ratios carry over to others.
Models are made in a process of their own: a child's peak memory counts that of its parent at the
time when it was started, so this process must stay small.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench.checking import checking
from tests.bench.comparing import comparing
from tests.bench.converting import converting
from tests.bench.emitting import emitting
from tests.bench.exporting import exporting
from tests.bench.fixing import fixing
from tests.bench.growing import growing
from tests.bench.integers import integers
from tests.bench.many_samples import many_samples
from tests.bench.measuring import say
from tests.bench.networks import networks
from tests.bench.one_core import one_core
from tests.bench.planned_dtypes import planned_dtypes
from tests.bench.planning import planning
from tests.bench.quantizing import quantizing
from tests.bench.reporting import reporting
from tests.bench.sweeping import sweeping
from tests.bench.target_search import target_search
from tests.bench.targets import Machine, say_targets
from tests.bench.trials import trials

RUNS = 10
BLOCKS = 7


def main() -> None:
    """Make the models, measure, print; last the table of targets."""
    machine = Machine()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "tests.bench.models", folder], check=True)
        checking(Path(folder) / "deep.onnx")
        # In a process of its own, as the memory that engines take would count as every child's.
        program = (
            "import sys, pathlib, tests.bench.run_all as b; b.inference(pathlib.Path(sys.argv[1]))"
        )
        subprocess.run([sys.executable, "-c", program, f"{folder}/resnet50.onnx"], check=True)
    # Before anything runs in this process, whose memory would count as that of its children.
    converting()
    growing()
    many_samples()
    networks()
    exporting()
    one_core()
    comparing()
    fixing()
    reporting()
    integers()
    planning()
    trials()
    planned_dtypes()
    emitting()
    quantizing()
    target_search()
    sweeping()
    say_targets(machine)


def inference(path: Path) -> None:
    """Measure the latency of one image, float16 here and float32 there, both on all cores.

    The two take turns in blocks, since the machine's speed changes from one second to the next.
    """
    import numpy as np
    import onnxruntime

    import atc_py

    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    om = path.with_suffix(".om")
    atc_py.convert(path, om)
    x = np.random.default_rng(1).standard_normal((1, 3, 224, 224), dtype=np.float32)
    feed = {session.get_inputs()[0].name: x}
    with atc_py.load(om) as model:
        blocks = [
            (median(lambda: model.run(feed)), median(lambda: session.run(None, feed)))
            for _ in range(BLOCKS)
        ]
    ratios = sorted(ours / theirs for ours, theirs in blocks)
    say(f"run resnet50, batch 1, {BLOCKS} blocks of {RUNS} runs in turn, medians")
    say(f"  atc-py force_fp16   {statistics.median(ours for ours, _ in blocks) * 1000:7.1f} ms")
    say(f"  onnxruntime float32 {statistics.median(them for _, them in blocks) * 1000:7.1f} ms")
    say(
        f"  ratio               {statistics.median(ratios):7.2f}, {ratios[0]:.2f} to {ratios[-1]:.2f}"
    )


def median(action: Callable[[], object]) -> float:
    """Return median time in seconds of `action` after two calls to warm up."""
    times = []
    for turn in range(RUNS + 2):
        started = time.perf_counter()
        action()
        if turn > 1:
            times.append(time.perf_counter() - started)
    return statistics.median(times)


if __name__ == "__main__":
    main()
