"""Time of a comparison of each shared network beside the two runs that it is made of."""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.bench.measuring import BLOCKS, say
from tests.bench.networks import MODELS
from tests.bench.targets import note


class _Times(NamedTuple):
    """Seconds: of a float32 run, a simulated run, the comparison, and its share of the original."""

    original: float
    device: float
    compared: float
    pieces: float

    @property
    def ratio(self) -> float:
        """The comparison over the sum of the two runs."""
        return self.compared / (self.original + self.device)


def comparing() -> None:
    """Print a line for each network: the two runs, the comparison, and their ratio.

    Each side starts cold, as a user's command does: a run of the original opens a session of
    onnxruntime for the whole model and runs it once, a simulated run opens the offline model and
    runs it once. The comparison is all that `compare` does after compiling, reading both files
    included.
    """
    folders = sorted(path.parent for path in MODELS.glob("*/model.onnx"))
    if not folders:
        say("compare: the shared models are not there")
        return
    say(f"compare at force_fp16, medians of {BLOCKS} blocks in turn; pieces: the original in it")
    say(f"  {'network':22} {'run ms':>8} {'sim ms':>8} {'pieces':>8} {'all ms':>8} {'ratio':>7}")
    ratios = []
    for folder in folders:
        with tempfile.TemporaryDirectory() as name:
            blocks = _blocks(folder / "model.onnx", Path(name) / "model.om")
        run, sim, done, pieces = (statistics.median(each) for each in zip(*blocks, strict=True))
        ratio = statistics.median(each.ratio for each in blocks)
        ratios.append(ratio)
        numbers = f"{run * 1e3:8.1f} {sim * 1e3:8.1f} {pieces * 1e3:8.1f} {done * 1e3:8.1f}"
        say(f"  {folder.name:22} {numbers} {ratio:7.2f}")
    note("compare / the runs it needs, largest", max(ratios))


def _blocks(path: Path, om: Path) -> list[_Times]:
    """Return times of one network, the two sides and the comparison in turn."""
    import numpy as np
    import onnxruntime

    import atc_py

    onnxruntime.set_default_logger_severity(4)
    atc_py.convert(path, om)
    feeds = dict(np.load(path.parent / "inputs.npz"))

    def original() -> None:
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        session.run(None, feeds)

    def device() -> None:
        with atc_py.load(om) as model:
            model.run(feeds)

    blocks = []
    atc_py.compare_model(path, inputs=feeds)
    for _ in range(BLOCKS):
        run, sim = _seconds(original), _seconds(device)
        begun: dict[str, float] = {}

        def note_begin(stage: str, begun: dict[str, float] = begun) -> None:
            begun.setdefault(stage, time.perf_counter())

        done = atc_py.compare_model(path, inputs=feeds, on_stage=note_begin)
        compared = time.perf_counter() - begun["compare"]
        blocks.append(_Times(run, sim, compared, done.reference_seconds))
    return blocks


def _seconds(action: Callable[[], None]) -> float:
    """Time of one call."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


if __name__ == "__main__":
    comparing()
