"""RandomUniform and Multinomial: types, bounds, distribution, and what a seed promises."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest

import atc_py
from tests.end_to_end import one_node_model
from tests.lowering.precise import MODES, compiled

Array = npt.NDArray[Any]

OPSETS = (8, 10, 13)


def uniform(mode: str = MODES[0], opset: int = 13, **attributes: Any) -> Array:
    """Return the draws of a model that consists of one RandomUniform."""
    model = one_node_model("RandomUniform", {}, opset, **attributes)
    return compiled(model, {}, mode)["y0"]


def drawn(x: Array, mode: str = MODES[0], opset: int = 13, **attributes: Any) -> Array:
    """Return the draws of Multinomial from `x`."""
    model = one_node_model("Multinomial", {"x": x}, opset, **attributes)
    return compiled(model, {"x": x}, mode)["y0"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(
    ("element", "dtype"), [(1, np.float32), (10, np.float16), (11, np.float64)]
)
def test_uniform_has_its_dtype_shape_and_bounds(
    element: int, dtype: type[Any], opset: int, mode: str
) -> None:
    shape = (3, 5, 7)
    y = uniform(mode, opset, shape=shape, dtype=element, low=-2.0, high=6.0, seed=1.0)
    assert (y.dtype, y.shape) == (np.dtype(dtype), shape)
    assert y.min() >= -2
    assert y.max() <= 6
    assert len(np.unique(y)) > 90


def test_uniform_is_uniform() -> None:
    y = uniform(shape=(100_000,), seed=3.0)
    assert y.dtype == np.float32
    assert y.min() >= 0
    assert y.max() < 1
    counts = np.histogram(y, 10, (0, 1))[0]
    assert np.abs(counts - 10_000).max() < 5 * np.sqrt(10_000 * 0.9)  # five deviations
    assert abs(np.corrcoef(y[:-1], y[1:])[0, 1]) < 0.02


def test_uniform_scalar() -> None:
    model = one_node_model("RandomUniform", {}, 13, shape=[1], low=5.0, high=6.0)
    (shape,) = (each for each in model.graph.node[0].attribute if each.name == "shape")
    shape.ClearField("ints")
    model.graph.output[0].type.tensor_type.shape.ClearField("dim")
    y = compiled(model, {})["y0"]
    assert y.shape == ()
    assert 5 <= y.item() < 6


@pytest.mark.parametrize("seed", [0.0, 1.0, -1.5, 1e30])
def test_seed_gives_the_same_numbers_in_every_model_and_run(seed: float) -> None:
    attributes: dict[str, Any] = {"shape": (4, 4), "seed": seed}
    once = uniform(**attributes)
    np.testing.assert_array_equal(uniform(**attributes), once)
    assert not np.array_equal(uniform(shape=(4, 4), seed=seed + abs(seed) / 2 + 1), once)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(one_node_model("RandomUniform", {}, 13, **attributes), path)
        atc_py.convert(path, path.with_suffix(".om"))
        with atc_py.load(path.with_suffix(".om")) as model:
            first, second = model.run({})["y0"], model.run({})["y0"]
    np.testing.assert_array_equal(first, second)


def test_numbers_without_a_seed_differ() -> None:
    assert not np.array_equal(uniform(shape=(8,)), uniform(shape=(8,)))
    x = np.zeros((1, 1000), np.float32)
    assert not np.array_equal(drawn(x, sample_size=8), drawn(x, sample_size=8))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(("element", "dtype"), [(6, np.int32), (7, np.int64)])
@pytest.mark.parametrize("real", [np.float32, np.float16])
def test_multinomial_has_its_dtype_and_classes(
    real: type[Any], element: int, dtype: type[Any], opset: int, mode: str
) -> None:
    x = np.array([[-np.inf, 0, 1, -np.inf], [0, -np.inf, -np.inf, -np.inf]], real)
    y = drawn(x, mode, opset, dtype=element, sample_size=50, seed=2.0)
    assert (y.dtype, y.shape) == (np.dtype(dtype), (2, 50))
    assert set(y[0]) == {1, 2}
    assert set(y[1]) == {0}


def test_multinomial_follows_the_probabilities() -> None:
    p = np.array([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]])
    count = 40_000
    y = drawn((np.log(p) + 5).astype(np.float32), sample_size=count, seed=4.0)
    for row, wanted in zip(y, p, strict=True):
        found = np.bincount(row, minlength=4) / count
        assert np.abs(found - wanted).max() < 5 * np.sqrt(0.25 / count)  # five deviations


def test_multinomial_draws_one_sample_by_default_and_repeats_it() -> None:
    x = np.zeros((50, 100), np.float32)
    once = drawn(x, seed=0.0)
    assert (once.dtype, once.shape) == (np.dtype(np.int32), (50, 1))
    assert len(np.unique(once)) > 20
    np.testing.assert_array_equal(drawn(x, seed=0.0), once)
