"""How time and memory of a conversion, and of a check, grow with the number of nodes, for each shape of a graph."""

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.measuring import ROUNDS, Cost, cheapest, measure, say
from tests.bench.targets import note

SIZES = (1_000, 10_000)
LARGE = 100_000
LARGE_SHAPES = ("elementwise chain", "convolutions", "transformer")
"""Shapes that are measured with as many nodes as that as well."""

BAR = 50
"""Microseconds a node for which a bar has one character."""

_MAKE = """
import sys
import onnx
from tests.bench.growing_models import SHAPES
onnx.save(SHAPES[sys.argv[1]](int(sys.argv[2])), sys.argv[3])
"""


def growing() -> None:
    """Convert and check models of growing size, each in a process of its own; print what a node costs.

    Time is that of the processor, less that of a model of one node, which is all but nothing but
    starting. In proportion the ratio is 10, and bars, which are time a node, have equal lengths.
    """
    from tests.bench.growing_models import SHAPES

    say("convert growing models, processor time of the whole process beyond that of a tiny model;")
    say(
        f"ratio to a tenth of the nodes; peak memory of what nodes there are more; # is {BAR} us/node"
    )
    say(f"  {'shape':18} {'nodes':>7} {'s':>7} {'ratio':>6} {'us/node':>8} {'KiB/node':>8}")
    for shape in SHAPES:
        _measure("convert", shape, (*SIZES, LARGE) if shape in LARGE_SHAPES else SIZES)
    say("check growing models")
    for shape in LARGE_SHAPES:
        _measure("check", shape, (*SIZES, LARGE))


def _measure(command: str, shape: str, sizes: tuple[int, ...]) -> None:
    """Print a line for each size."""
    tiny = _cost(command, "softmax chain", 1)
    before: tuple[int, float, int] | None = None
    for nodes in sizes:
        cost = _cost(command, shape, nodes)
        seconds = cost.processor - tiny.processor
        ratio = memory = ""
        if before is not None:
            ratio = f"{seconds / before[1]:.1f}"
            memory = f"{(cost.peak - before[2]) / (nodes - before[0]) / 1024:.1f}"
        each = seconds / nodes * 1e6
        bar = "#" * round(each / BAR)
        say(f"  {shape:18} {nodes:7} {seconds:7.2f} {ratio:>6} {each:8.0f} {memory:>8} {bar}")
        if before is not None and nodes == LARGE and shape == LARGE_SHAPES[-1]:
            note(f"{command} {LARGE:,} nodes, s of processor", cost.processor)
            note(f"{command} {LARGE:,} nodes / a tenth of them", seconds / before[1])
        before = nodes, seconds, cost.peak


def _cost(command: str, shape: str, nodes: int) -> Cost:
    """Return the cost of converting or checking a model; of a small one the best of several."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        subprocess.run([sys.executable, "-c", _MAKE, shape, str(nodes), str(path)], check=True)
        words = [sys.executable, "-m", "atc_py", command, str(path)]
        if command == "convert":
            words += ["-o", str(path.with_suffix(".om"))]
        return cheapest(measure(words) for _ in range(ROUNDS if nodes <= SIZES[0] else 1))


if __name__ == "__main__":
    growing()
