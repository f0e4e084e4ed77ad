"""Start-up: what the common commands load, and how often Python looks for cycles meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from onnx import TensorProto, helper

if TYPE_CHECKING:
    from pathlib import Path

_COUNT = """
import gc, json, sys
from atc_py.cli.start import main
def looks():
    return sum(each["collections"] for each in gc.get_stats())
before = looks()
try:
    main()
except SystemExit as error:
    assert not error.code, error.code
ours = [name for name in sys.modules if name.startswith("atc_py")]
print("\\n" + json.dumps([len(sys.modules), len(ours), looks() - before]))
"""


def loads_of(arguments: list[str]) -> tuple[int, int, int]:
    """Return the modules that a command loads, those of atc-py among them, and looks for cycles."""
    command = [sys.executable, "-c", _COUNT, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    counted = json.loads(done.stdout.splitlines()[-1])
    return counted[0], counted[1], counted[2]


@pytest.fixture(scope="module")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a model of a few common operators."""
    value = helper.make_tensor_value_info
    weights = helper.make_tensor("w", TensorProto.FLOAT, (4, 3, 3, 3), [0.125] * 108)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Transpose", ["r"], ["y"], perm=[0, 2, 3, 1]),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [value("x", TensorProto.FLOAT, (1, 3, 8, 8))],
        [value("y", TensorProto.FLOAT, (1, 8, 8, 4))],
        [weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=7)
    path = tmp_path_factory.mktemp("start_up") / "small.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_collector_of_cycles_hardly_runs_while_modules_load(small_model: Path) -> None:
    _, _, looks = loads_of(["check", str(small_model)])
    assert looks <= 5
