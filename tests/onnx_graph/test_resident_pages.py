"""Reading a model leaves none of its weights resident."""

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from atc_py.onnx_graph.reading.read import read_model

TENSORS, NBYTES = 48, 1 << 19


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/smaps is Linux's")
def test_pages_touched_between_weights_are_given_back(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(_model_of_many_weights(), path)
    file = read_model(path)
    assert file.file_nodes == TENSORS
    assert _resident_kib(path) < 1024


def _model_of_many_weights() -> onnx.ModelProto:
    """Return 24 MiB of weights; each is added to the input."""
    weights = [
        numpy_helper.from_array(np.full(NBYTES // 4, at, np.float32), f"w{at}")
        for at in range(TENSORS)
    ]
    nodes = [helper.make_node("Add", [f"x{at}", f"w{at}"], [f"x{at + 1}"]) for at in range(TENSORS)]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [NBYTES // 4])
        for name in ("x0", f"x{TENSORS}")
    ]
    return helper.make_model(helper.make_graph(nodes, "sums", ends[:1], ends[1:], weights))


def _resident_kib(path: Path) -> int:
    """Return resident memory of the mappings of a file, in KiB."""
    found, mine = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split(" ", 1)[0]:
            mine = line.endswith(str(path))
        elif mine and line.startswith("Rss:"):
            found += int(line.split()[1])
    return found
