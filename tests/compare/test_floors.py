"""Saturating operators are compared with an absolute floor; what needs less than that is not."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest

import atc_py
from atc_py.compare.floors import dtype_floor
from atc_py.compare.measure import Measure
from atc_py.results.layer import FAILING_DISTANCE
from atc_py.results.layer_comparison import LayerComparison
from atc_py.tensor.dtypes import DType
from tests.compare.broken_networks import built, node

Array = npt.NDArray[Any]

FLOOR = 4 * 2.0**-24


def compared(
    nodes: list[onnx.NodeProto], folder: Path, x: np.ndarray, **constants: np.ndarray
) -> LayerComparison:
    onnx.save(built(nodes, {"x": x}, constants), folder / "model.onnx")
    return atc_py.compare_model(folder / "model.onnx", inputs={"x": x})


def test_floor_is_four_roundings_of_one_in_the_dtype_of_the_kernel() -> None:
    assert dtype_floor(DType.FLOAT32) == FLOOR
    assert dtype_floor(DType.FLOAT16) == FLOOR
    assert dtype_floor(DType.FLOAT64) == 4 * 2.0**-53
    assert dtype_floor(DType.INT32) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floor_is_taken_off_each_error(dtype: type) -> None:
    random = np.random.default_rng(0)
    wanted: Array = random.uniform(0, 1e-5, 100_000).astype(dtype)
    found: Array = (wanted + random.normal(0, 2 * FLOOR, wanted.shape)).astype(dtype)
    measure = Measure(DType.FLOAT32, FLOOR)
    measure.add(found, wanted)
    got = measure.figures().beyond
    assert got is not None
    error = found.astype(np.float64) - wanted
    left = np.sign(error) * np.maximum(np.abs(error) - FLOOR, 0)
    length, kept = np.linalg.norm(wanted), wanted + left
    assert got.floor == FLOOR
    assert got.distance == pytest.approx(np.linalg.norm(left) / length, rel=1e-4)
    assert got.snr == pytest.approx(20 * np.log10(length / np.linalg.norm(left)), abs=1e-2)
    assert got.cosine == pytest.approx(kept @ wanted / np.linalg.norm(kept) / length, rel=1e-5)
    assert Measure(DType.FLOAT32).figures().beyond is None


@pytest.mark.parametrize("last", ["Sigmoid", "Transpose", "ReduceMax"])
def test_scores_that_float16_takes_for_zero_are_not_bad(last: str, tmp_path: Path) -> None:
    x = np.random.default_rng(0).uniform(-17.9, -16.9, (8, 64)).astype(np.float32)
    nodes = [node("Sigmoid", "x", "y" if last == "Sigmoid" else "p")]
    nodes += [] if last == "Sigmoid" else [node(last, "p", "y")]
    done = compared(nodes, tmp_path, x)
    output = done.layers[done.outputs["y"]]
    assert output.figures.distance > FAILING_DISTANCE
    assert output.judged.distance <= FAILING_DISTANCE
    assert output.within_floor
    assert not output.faults
    assert done.first_failing is None


def test_reader_that_needs_the_small_values_is_bad(tmp_path: Path) -> None:
    x = np.random.default_rng(0).uniform(-17.9, -16.9, (8, 64)).astype(np.float32)
    nodes = [node("Sigmoid", "x", "p"), node("Mul", "p much", "y")]
    done = compared(nodes, tmp_path, x, much=np.array([1e4], np.float32))
    first = done.first_failing
    assert first is not None
    assert first.source == "n_y"
    root = done.root_of(first)
    assert root is not None
    assert root.source == "n_p"


def test_error_beyond_the_floor_is_bad_in_a_saturating_operator_too(tmp_path: Path) -> None:
    """Check logits near 2900, 2 apart in float16: errors are far above the floor."""
    x = np.random.default_rng(1).uniform(2900, 2903, (4, 16)).astype(np.float32)
    done = compared([node("Softmax", "x", "y", axis=-1)], tmp_path, x)
    assert done.first_failing is not None
    assert done.first_failing.source == "n_y"


def test_exp_has_no_floor(tmp_path: Path) -> None:
    """Check that Exp has none: it saturates at 0 alone, and is as exact there as anywhere."""
    x = np.random.default_rng(0).uniform(-17.9, -16.9, (8, 64)).astype(np.float32)
    done = compared([node("Exp", "x", "y")], tmp_path, x)
    assert done.first_failing is not None
    assert "underflow" in "; ".join(done.first_failing.faults)
