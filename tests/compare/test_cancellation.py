"""Means and sums whose terms cancel: judged by what was added up, unless somebody needs them."""

from pathlib import Path

import numpy as np
import onnx
import pytest

import atc_py
from atc_py.results.layer import FAILING_DISTANCE
from atc_py.results.layer_comparison import LayerComparison
from tests.compare.broken_networks import built, node


def balanced() -> np.ndarray:
    """Return rows whose terms cancel but for what float32 rounds."""
    half = np.random.default_rng(5).standard_normal((4, 256)).astype(np.float32)
    return np.concatenate([half, 1e-7 - half], axis=1)


def compared(nodes: list[onnx.NodeProto], folder: Path, x: np.ndarray) -> LayerComparison:
    axes = {"axes": np.array([-1], np.int64)}
    onnx.save(built(nodes, {"x": x}, axes), folder / "model.onnx")
    return atc_py.compare_model(folder / "model.onnx", inputs={"x": x})


def reduction(op: str) -> onnx.NodeProto:
    if op == "ReduceSum":
        return node("ReduceSum", "x axes", "m", keepdims=1)
    return node("ReduceMean", "x", "m", axes=[-1], keepdims=1)


@pytest.mark.parametrize("op", ["ReduceMean", "ReduceSum"])
def test_mean_that_cancels_is_not_bad(op: str, tmp_path: Path) -> None:
    done = compared([reduction(op), node("Sub", "x m", "y")], tmp_path, balanced())
    (mean,) = (layer for layer in done.layers if layer.source == "n_m")
    assert mean.figures.distance > 10 * FAILING_DISTANCE
    assert mean.cancels
    assert done.first_failing is None


@pytest.mark.parametrize("op", ["ReduceMean", "ReduceSum"])
def test_mean_that_cancels_and_matters_makes_its_reader_bad(op: str, tmp_path: Path) -> None:
    done = compared([reduction(op), node("Mul", "x m", "y")], tmp_path, balanced())
    first = done.first_failing
    assert first is not None
    assert first.source == "n_y"
    root = done.root_of(first)
    assert root is not None
    assert root.source == "n_m"


def test_mean_that_is_an_output_fails(tmp_path: Path) -> None:
    done = compared([node("ReduceMean", "x", "y", axes=[-1], keepdims=1)], tmp_path, balanced())
    assert done.first_failing is not None
    assert done.first_failing.source == "n_y"
    assert not done.layers[done.outputs["y"]].cancels


def test_mean_that_is_wrong_beside_its_terms_is_bad(tmp_path: Path) -> None:
    """Check the case that all squares become 0: no terms are left that could cancel."""
    x = np.full((4, 64), 1e-5, np.float32)
    nodes = [
        node("Mul", "x x", "q"),
        node("ReduceMean", "q", "m", axes=[-1], keepdims=1),
        node("Sub", "x m", "y"),
    ]
    done = compared(nodes, tmp_path, x)
    (mean,) = (layer for layer in done.layers if layer.source == "n_m")
    assert mean.faults
    assert not mean.cancels
