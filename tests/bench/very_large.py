"""`make bench-large`: a model with 6 GB of weights in external data, and one whose .om needs zip64.

The weights are a hole in a sparse file; their copy and what is compiled take up to 10 GB of the disk
for temporary files (TMPDIR).
"""

import hashlib
import shutil
import sys
import tempfile
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from tests.bench.measuring import MIB, Cost, measure, say

WIDTH = 8192
PRODUCTS = {"6 GB of weights": 24, "10 GB of weights": 40}

COPY = """
import shutil, sys
from tests.bench.very_large import digest
shutil.copyfile(sys.argv[1], sys.argv[2])
digest(sys.argv[1])
"""
"""What conversion is compared with: it copies the weights and hashes them."""


def make_sparse_model(folder: Path, products: int, width: int = WIDTH) -> Path:
    """Write a chain of MatMuls whose float32 weights are a hole in a file, and return its path."""
    nbytes = width * width * 4
    weights = []
    for number in range(products):
        weight = TensorProto(name=f"w{number}", data_type=TensorProto.FLOAT, dims=[width, width])
        weight.data_location = TensorProto.EXTERNAL
        place = {"location": "weights.bin", "offset": number * nbytes, "length": nbytes}
        for key, value in place.items():
            weight.external_data.add(key=key, value=str(value))
        weights.append(weight)
    nodes = [
        helper.make_node("MatMul", [f"x{number}", f"w{number}"], [f"x{number + 1}"])
        for number in range(products)
    ]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, width])
        for name in ("x0", f"x{products}")
    ]
    graph = helper.make_graph(nodes, "products", ends[:1], ends[1:], weights)
    opset = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), folder / "model.onnx")
    with (folder / "weights.bin").open("wb") as file:
        file.truncate(products * nbytes)
    return folder / "model.onnx"


def digest(path: str) -> str:
    """Return the SHA-256 of a file."""
    found = hashlib.sha256()
    with Path(path).open("rb") as file:
        while piece := file.read(1 << 21):
            found.update(piece)
    return found.hexdigest()


def main() -> None:
    """Make each model, measure the commands beside a copy with a digest, print."""
    for name, products in PRODUCTS.items():
        with tempfile.TemporaryDirectory() as folder:
            _measure_commands(name, make_sparse_model(Path(folder), products))


def _measure_commands(name: str, model: Path) -> None:
    """Print processor time and memory of check, convert and run, and their share of a copy's."""
    program = [sys.executable, "-m", "atc_py"]
    weights, output = model.with_name("weights.bin"), model.with_suffix(".om")
    copy = model.with_name("copy.bin")
    copied = measure([sys.executable, "-c", COPY, str(weights), str(copy)])
    copy.unlink()
    costs = {
        "check": measure([*program, "check", str(model)]),
        "convert": measure([*program, "convert", str(model), "-o", str(output)]),
        "run": measure([*program, "run", str(output), "--random", "1"]),
    }
    size = output.stat().st_size
    free = shutil.disk_usage(model.parent).free
    say(f"{name}, {size / MIB:.0f} MiB compiled, {free / MIB:.0f} MiB left on the disk")
    for command, cost in costs.items():
        say(f"  {command:8} {_share(cost, copied)}, {cost.peak / MIB:.0f} MiB resident")


def _share(cost: Cost, copied: Cost) -> str:
    """Return a command's times as shares of those of a copy with a digest."""
    wall, processor = cost.seconds / copied.seconds, cost.processor / copied.processor
    return f"{wall:.2f} of a copy's time, {processor:.2f} of its processor time"


if __name__ == "__main__":
    main()
