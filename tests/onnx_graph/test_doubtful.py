"""Slices after windows that do not fit, which end the process in onnx's inference."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from atc_py.diag.codes import BAD_NODE
from atc_py.onnx_graph.typing import infer, inference_model
from tests.onnx_graph import onnx_files

node = helper.make_node
FLOAT = onnx_files.FLOAT
X = {"x": (FLOAT, [1, 1, 4, 4])}
BOUNDS = {"s": np.array([0]), "e": np.array([1]), "a": np.array([2])}
SLICE = node("Slice", ["m", "s", "e", "a"], ["y"])
FOLD = """
import sys
from pathlib import Path
from atc_py.diag import AtcError
from atc_py.onnx_graph.reading.read import read_model
try:
    read_model(Path(sys.argv[1])).fold({}).to_source()
except AtcError as error:
    print(*(finding.code.name for finding in error.diagnostics))
"""


def findings(proto: onnx.ModelProto, folder: Path) -> str:
    """Return names of the codes of what folding finds, in a process of its own."""
    command = [sys.executable, "-c", FOLD, str(onnx_files.save(proto, folder))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("operator", "weights", "attributes"),
    [
        ("MaxPool", {}, {"kernel_shape": [9, 9]}),
        ("AveragePool", {}, {"kernel_shape": [3, 3], "dilations": [4, 1]}),
        ("Conv", {"w": np.ones((1, 1, 9, 9), np.float32)}, {}),
        ("ConvTranspose", {"w": np.ones((1, 1, 1, 1), np.float32)}, {"pads": [5] * 4}),
        ("Pad", {"w": np.array([0, 0, -7, 0, 0, 0, 0, 0])}, {}),
    ],
)
def test_slice_after_a_negative_dim_is_refused(
    operator: str, weights: dict[str, np.ndarray], attributes: dict[str, Any], tmp_path: Path
) -> None:
    nodes = [node(operator, ["x", *weights], ["k"], **attributes), node("Relu", ["k"], ["m"])]
    proto = onnx_files.model([*nodes, SLICE], X, ["y"], {**BOUNDS, **weights}, {"": 19})
    assert findings(proto, tmp_path) == "bad-node"


def test_slice_after_a_window_too_large_in_a_branch_is_refused(tmp_path: Path) -> None:
    bounds = [onnx.numpy_helper.from_array(array, name) for name, array in BOUNDS.items()]
    inner = [node("MaxPool", ["x"], ["m"], kernel_shape=[9, 9]), SLICE]
    then = helper.make_graph(inner, "then", [], [onnx.ValueInfoProto(name="y")], bounds)
    other = helper.make_graph(
        [node("Neg", ["x"], ["n"])], "else", [], [onnx.ValueInfoProto(name="n")]
    )
    nodes = [node("If", ["c"], ["r"], then_branch=then, else_branch=other)]
    inputs = {**X, "c": (onnx.TensorProto.BOOL, [1])}
    proto = onnx_files.model(nodes, inputs, ["r"])
    assert set(findings(proto, tmp_path).split()) == {BAD_NODE.name}


@pytest.fixture
def inferences(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the number of nodes in each inference on a whole graph, except those for types."""
    sizes: list[int] = []
    original = inference_model.infer_shapes

    def counted(model: onnx.ModelProto | bytes, **options: bool) -> onnx.ModelProto:
        if isinstance(model, bytes) and options.get("data_prop"):
            sizes.append(len(onnx.ModelProto.FromString(model).graph.node))
        inferred: onnx.ModelProto = original(model, **options)
        return inferred

    monkeypatch.setattr(infer, "infer_shapes", counted)
    return sizes


@pytest.mark.parametrize(
    ("first", "attributes", "dim", "sizes"),
    [("Relu", {}, 4, [6]), ("MaxPool", {"kernel_shape": [2, 2]}, 3, [5, 6])],
)
def test_slices_in_a_row_wait_only_for_a_window(
    first: str,
    attributes: dict[str, Any],
    dim: int,
    sizes: list[int],
    inferences: list[int],
    tmp_path: Path,
) -> None:
    nodes = [node(first, ["x"], ["v0"], **attributes)]
    nodes += [node("Slice", [f"v{at}", "s", "e", "a"], [f"v{at + 1}"]) for at in range(5)]
    weights = {**BOUNDS, "e": np.array([-1])}
    proto = onnx_files.model(nodes, {"x": (FLOAT, [1, 1, 9, 9])}, ["v5"], weights)
    assert onnx_files.source(proto, tmp_path).outputs[0].shape[2] == dim
    assert inferences == sizes


def test_what_is_known_is_folded_before_inference_goes_on(
    inferences: list[int], tmp_path: Path
) -> None:
    nodes = [
        node("MaxPool", ["x"], ["m"], kernel_shape=[2, 2]),
        SLICE,
        node("Shape", ["m"], ["h"]),
        node("Reshape", ["m", "h"], ["same"]),
    ]
    proto = onnx_files.model(nodes, X, ["y", "same"], BOUNDS)
    onnx_files.source(proto, tmp_path)
    # Without the slice, which waits for the window; with Shape folded and the slice.
    assert inferences == [3, 3]


@pytest.mark.parametrize(
    "attributes", [{"pads": [1] * 4}, {"auto_pad": "SAME_UPPER"}], ids=["pads", "same"]
)
def test_window_that_always_fits_needs_no_second_inference(
    attributes: dict[str, Any], inferences: list[int], tmp_path: Path
) -> None:
    nodes = [node("MaxPool", ["x"], ["m"], kernel_shape=[3, 3], **attributes), SLICE]
    source = onnx_files.source(onnx_files.model(nodes, X, ["y"], BOUNDS), tmp_path)
    assert source.outputs[0].shape == (1, 1, 1, 4)
    assert inferences == [2]
