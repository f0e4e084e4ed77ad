"""`convert` beside openvino and onnxruntime: networks of all sizes, whole processes, in turn.

    python -m tests.bench.converting [NAME ...]

Only networks whose name begins with one of the names are measured. The models are made by processes
of their own: a child's peak memory counts that of its parent, so this process must stay small.
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.measuring import MIB, Cost, measure, say
from tests.bench.targets import geometric_mean, note

TURNS = 7
LARGE = 100 * MIB
TARGETS = {True: 0.5, False: 0.6}
"""Largest share of openvino's time, of models over 100 MiB and of others."""

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared" / "models"
LIGHT = (
    "bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50",
    "shufflenet", "squeezenet", "vgg19", "zfnet512",
)  # fmt: skip
SIZED = ("bert_base", "gpt2", "convnext_t", "swin_t", "wide_network")

OPENVINO = """
import sys, openvino
openvino.save_model(openvino.convert_model(sys.argv[1]), sys.argv[2] + ".xml")
"""
ONNXRUNTIME = """
import sys, onnxruntime
onnxruntime.set_default_logger_severity(4)
options = onnxruntime.SessionOptions()
options.optimized_model_filepath = sys.argv[2] + ".onnx"
onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
"""
MAKE_LIGHT = """
import sys, onnx
from tests.bench.models import randomised_light
onnx.save(randomised_light(sys.argv[1]), sys.argv[2])
"""
MAKE_SIZED = """
import sys, onnx
from tests.bench.sized_networks import SIZED_NETWORKS
onnx.save(SIZED_NETWORKS[sys.argv[1]](), sys.argv[2])
"""


def converting(chosen: tuple[str, ...] = ()) -> None:
    """Print a line for each network: medians of the turns as shares of openvino's."""
    say(f"convert, whole process, medians of {TURNS} turns; shares of openvino's time and memory")
    say(f"  {'network':24} {'MiB':>6} {'time':>6} {'cpu':>6} {'target':>7} {'peak':>6} {'ort':>6}")
    ratios = []
    for name in (*sorted(each.parent.name for each in SHARED.glob("*/model.onnx")), *LIGHT, *SIZED):
        if not chosen or name.startswith(chosen):
            with tempfile.TemporaryDirectory() as folder:
                ratios.append(_measure_network(name, _made(name, Path(folder))))
    note("convert / openvino, geometric mean", geometric_mean(ratios))
    note("convert / openvino, largest", max(ratios))


def _made(name: str, folder: Path) -> Path:
    """Return the path of the network, in a folder of its own."""
    path = folder / "model.onnx"
    if (SHARED / name).is_dir():
        shutil.copyfile(SHARED / name / "model.onnx", path)
        return path
    maker = MAKE_LIGHT if name in LIGHT else MAKE_SIZED
    subprocess.run([sys.executable, "-c", maker, name, str(path)], check=True)
    return path


def _measure_network(name: str, path: Path) -> float:
    """Print the line of one network; its share of openvino's time."""
    output = str(path.with_suffix(""))
    commands = {
        "atc-py": [sys.executable, "-m", "atc_py", "convert", str(path), "-o", f"{output}.om"],
        "openvino": [sys.executable, "-c", OPENVINO, str(path), output + "-ov"],
        "onnxruntime": [sys.executable, "-c", ONNXRUNTIME, str(path), output + "-ort"],
    }
    turns = [{tool: measure(each) for tool, each in commands.items()} for _ in range(TURNS)]
    ours, theirs, runtime = (_medians(turn[tool] for turn in turns) for tool in commands)
    size = path.stat().st_size
    target = TARGETS[size > LARGE]
    room = 100 * MIB + 0.35 * size
    say(
        f"  {name:24} {size / MIB:6.1f} {ours.seconds / theirs.seconds:6.2f} "
        f"{ours.processor / theirs.processor:6.2f} {target:7.2f} {ours.peak / theirs.peak:6.2f} "
        f"{runtime.seconds / theirs.seconds:6.2f}"
        f"  peak {ours.peak / MIB:.0f} MiB of {room / MIB:.0f}"
    )
    return ours.seconds / theirs.seconds


def _medians(costs: Iterator[Cost]) -> Cost:
    """Return the median of each part."""
    times, peaks, processor = zip(
        *((cost.seconds, cost.peak, cost.processor) for cost in costs), strict=True
    )
    return Cost(
        statistics.median(times), round(statistics.median(peaks)), statistics.median(processor)
    )


if __name__ == "__main__":
    converting(tuple(sys.argv[1:]))
