"""`quantize --target` in one process and in two, on the same samples: wall time, and equal files.

python -m tests.bench.target_search [NETWORK ...]
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import atc_py
from tests.bench.measuring import say
from tests.quantizing.networks import NETWORKS, FloatNetwork

NAMES = ("resnet_mini_opset9", "unet_opset13", "vit_mini_opset13")
SAMPLES = range(1, 65)
"""Seeds of the samples."""

DECIBELS = 3.0
"""The target: so much more signal to noise than with all layers on int8."""


def target_search(names: tuple[str, ...] = NAMES) -> None:
    """Print a line for each network."""
    say(f"quantize --target, {len(SAMPLES)} samples, all of which judge")
    say(f"  {'network':24} {'layers':>7} {'sets':>5} {'one s':>7} {'two s':>7} {'ratio':>6}")
    for network in NETWORKS:
        if network.name in names and network.is_at_hand:
            with tempfile.TemporaryDirectory() as folder:
                _measure(network, Path(folder))


def _measure(network: FloatNetwork, folder: Path) -> None:
    """Print the line of a network.

    Raises:
        SystemExit: the files of both differ.
    """
    model, name = network.find(folder), network.name
    given: dict[str, Any] = {"data": network.samples(SAMPLES), "format": "qdq"}
    plain = atc_py.quantize(model, folder / "plain.onnx", **given).proof
    if plain is None:
        return
    given["target"] = {"snr": min(each.snr for each in plain.outputs.values()) + DECIBELS}
    seconds, files, sets = [], [], 0
    for jobs in (1, 2):
        began = time.perf_counter()
        done = atc_py.quantize(model, folder / "int8.onnx", jobs=jobs, **given)
        seconds.append(time.perf_counter() - began)
        files.append((folder / "int8.onnx").read_bytes())
        sets = (
            0 if done.proof is None or done.proof.fall_back is None else done.proof.fall_back.trials
        )
    if files[0] != files[1]:
        raise SystemExit(f"{name}: two processes write another file than one")
    one, two = seconds
    say(f"  {name:24} {len(done.layers):7} {sets:5} {one:7.2f} {two:7.2f} {two / one:6.2f}")


if __name__ == "__main__":
    target_search(tuple(sys.argv[1:]) or NAMES)
