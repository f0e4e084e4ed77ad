"""Runs of models with gears: the gear that fits what is fed, or the one that is named."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atc_py
from atc_py.diag import AtcError, Code, Diagnostic
from atc_py.diag.codes import BAD_RUN_INPUT, MISSING_RUN_INPUT, NO_SUCH_GEAR
from atc_py.options.gears import SHAPE_DATA
from atc_py.pipeline.running.model import Model
from tests.gears.models import image_model, two_inputs


@pytest.fixture(scope="module")
def batches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an offline model with the batches 1, 2 and 4."""
    folder = tmp_path_factory.mktemp("batches")
    source = image_model(folder / "net.onnx")
    atc_py.convert(source, folder / "net.om", input_shape="x:-1,3,8,8", batch_sizes="1,4,2")
    return folder / "net.om"


@pytest.fixture(scope="module")
def dims(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an offline model of several inputs with gears."""
    folder = tmp_path_factory.mktemp("dims")
    source = two_inputs(folder / "net.onnx")
    gears = "2,3;2,5;7,3"
    atc_py.convert(source, folder / "net.om", input_shape="a:-1,4;b:2,-1;s:", dims=gears)
    return folder / "net.om"


@pytest.fixture
def model(batches: Path) -> Iterator[Model]:
    """Return the model of batches, loaded."""
    with atc_py.load(batches) as loaded:
        yield loaded


def images(count: int) -> dict[str, Any]:
    """Return a batch of random images."""
    random = np.random.default_rng(count)
    return {"x": random.standard_normal((count, 3, 8, 8)).astype(np.float32)}


def refused(model: Model, feeds: dict[str, Any], gear: int | None = None) -> Diagnostic:
    """Return the first finding with which a run is refused."""
    with pytest.raises(AtcError) as caught:
        model.run(feeds, gear)
    return caught.value.diagnostics[0]


def test_shapes_that_are_fed_choose(model: Model) -> None:
    for count in (2, 1, 4, 2):
        assert model.run(images(count))["scores"].shape == (count, 5)
        assert model.profile()
    assert model.inputs[0].shape == (None, 3, 8, 8)
    assert model.outputs[0].shape == (None, 5)
    assert model.shape_data is not None
    assert (model.shape_data.name, model.shape_data.shape) == (SHAPE_DATA, (1,))


def test_batches_compute_what_single_images_do(model: Model) -> None:
    feeds = images(4)
    whole = model.run(feeds)["scores"]
    for at in range(4):
        single = model.run({"x": feeds["x"][at : at + 1]})["scores"]
        assert single.tobytes() == whole[at : at + 1].tobytes()


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_numbers_that_are_fed_choose(model: Model, dtype: str) -> None:
    feeds = {**images(2), SHAPE_DATA: np.array([2], dtype)}
    assert model.run(feeds)["scores"].shape == (2, 5)


def test_fed_numbers_decide_over_shapes(model: Model) -> None:
    found = refused(model, {**images(2), SHAPE_DATA: np.array([4], np.int32)})
    assert found.code is BAD_RUN_INPUT
    assert "4x3x8x8" in found.message


def test_what_fits_no_gear_is_refused(model: Model) -> None:
    found = refused(model, images(3))
    assert found.code is NO_SUCH_GEAR
    assert found.code.exit == 2
    assert "3x3x8x8" in found.message
    assert "1 (x:1,3,8,8), 4 (x:4,3,8,8), 2 (x:2,3,8,8)" in (found.help or "")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (np.array([3], np.int32), NO_SUCH_GEAR),
        (np.array([2.0], np.float32), BAD_RUN_INPUT),
        (np.array([2, 2], np.int32), BAD_RUN_INPUT),
        (np.array(2, np.int32), BAD_RUN_INPUT),
        ([2], BAD_RUN_INPUT),
    ],
)
def test_fed_numbers_without_meaning(model: Model, data: Any, code: Code) -> None:
    assert refused(model, {**images(2), SHAPE_DATA: data}).code is code


def test_named_gear_holds(model: Model) -> None:
    assert model.run(images(4), 1)["scores"].shape == (4, 5)
    assert refused(model, images(2), 1).code is BAD_RUN_INPUT
    assert refused(model, images(2), 3).code is NO_SUCH_GEAR
    both = {**images(4), SHAPE_DATA: np.array([2], np.int32)}
    assert refused(model, both, 1).code is BAD_RUN_INPUT
    assert model.run({**images(4), SHAPE_DATA: np.array([4], np.int32)}, 1)["p"].shape[0] == 4


def test_model_of_one_shape_has_no_gears(tmp_path: Path) -> None:
    source = image_model(tmp_path / "net.onnx", (1, 3, 8, 8))
    atc_py.convert(source, tmp_path / "net.om")
    with atc_py.load(tmp_path / "net.om") as single:
        assert single.gears is None
        assert refused(single, images(1), 0).code is NO_SUCH_GEAR


def test_several_inputs_choose_together(dims: Path) -> None:
    with atc_py.load(dims) as model:
        feeds = {
            "a": np.ones((2, 4), np.float32),
            "b": np.ones((2, 5), np.float32),
            "s": np.array(2, np.float32),
        }
        assert model.run(feeds)["z"].shape == (2, 5)
        found = refused(model, {**feeds, "a": np.ones((7, 4), np.float32)})
        assert found.code is NO_SUCH_GEAR
        assert "a 7x4, b 2x5" in found.message
        assert refused(model, {"a": feeds["a"]}).code is MISSING_RUN_INPUT
        with_numbers = {**feeds, SHAPE_DATA: np.array([2, 5], np.int32)}
        assert model.run(with_numbers)["z"].shape == (2, 5)


@pytest.mark.parametrize("device", ["sim", "ort"])
def test_every_way_to_run_gives_the_same(batches: Path, device: str) -> None:
    feeds = images(2)
    with atc_py.load(batches) as model:
        expected = model.run(feeds)
    with atc_py.load(batches, device=device, timeout=60) as apart:
        results = apart.run(feeds)
        assert apart.run(images(1))["scores"].shape == (1, 5)
    if device == "sim":
        with atc_py.load(batches, storage="exact") as exact:
            results = {**results, **exact.run(feeds)}
    for name, array in expected.items():
        assert np.allclose(results[name], array, rtol=2e-3, atol=2e-3)
        assert device == "ort" or results[name].tobytes() == array.tobytes()


def test_sessions_run_the_gear_that_fits(batches: Path) -> None:
    with atc_py.InferenceSession(batches) as session:
        assert [each.shape for each in session.get_inputs()] == [[None, 3, 8, 8]]
        assert session.get_outputs()[0].shape == [None, 5]
        for count in (4, 1):
            assert session.run(["scores"], images(count))[0].shape == (count, 5)
        with pytest.raises(AtcError) as caught:
            session.run(None, images(3))
        assert caught.value.diagnostics[0].code is NO_SUCH_GEAR
        assert session.run(["scores"], images(4))[0].shape == (4, 5)
    with atc_py.InferenceSession(batches.read_bytes(), keep=1) as session:
        for count in (4, 1, 2):
            assert session.run(["scores"], images(count))[0].shape == (count, 5)
