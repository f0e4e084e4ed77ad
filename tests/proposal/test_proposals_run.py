"""Proposed dims run: the original gives numbers, and so does what is compiled for them."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from atc_py import api
from atc_py.diag import AtcError
from atc_py.pipeline import padding_trial
from atc_py.tensor.shapes import closed_shape
from tests.onnx_graph import onnx_files

node = helper.make_node
FLOAT, INT64 = onnx_files.FLOAT, onnx_files.INT64


def mean_of_frames() -> onnx.ModelProto:
    """The mean of as many frames as a waveform has whole hops of 160 samples."""
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "one"], ["samples"]),
        node("Div", ["samples", "hop"], ["frames"]),
        node("Range", ["zero", "frames", "one"], ["r"]),
        node("Cast", ["r"], ["f"], to=onnx.TensorProto.FLOAT),
        node("ReduceMean", ["f"], ["y"]),
    ]
    numbers = {"zero": 0, "one": 1, "hop": 160}
    weights = {name: np.array(number, np.int64) for name, number in numbers.items()}
    return onnx_files.model(nodes, {"x": (FLOAT, [1, "t"])}, ["y"], weights)


def mean_of_the_rest(start: int) -> onnx.ModelProto:
    """The mean of what is left of a row after `start` elements."""
    nodes = [
        node("Slice", ["x", "start", "end", "axis"], ["s"]),
        node("ReduceMean", ["s"], ["y"], axes=[1]),
    ]
    numbers = {"start": start, "end": 2**40, "axis": 1}
    weights = {name: np.array([number], np.int64) for name, number in numbers.items()}
    return onnx_files.model(nodes, {"x": (FLOAT, [1, "t"])}, ["y"], weights)


def step_with_cache() -> onnx.ModelProto:
    """Words after others in a cache, and a mask over both."""
    nodes = [node("Concat", ["past", "x"], ["all"], axis=1), node("Mul", ["all", "mask"], ["y"])]
    lengths = {"x": "new", "mask": "total", "past": "past"}
    inputs: onnx_files.Ports = {name: (FLOAT, [1, dim, 4]) for name, dim in lengths.items()}
    return onnx_files.model(nodes, inputs, ["y"], {})


def rows_that_data_choose(rows: int) -> onnx.ModelProto:
    """Rows of a table by an input, added to another."""
    nodes = [node("Gather", ["table", "ids"], ["r"]), node("Add", ["r", "x"], ["y"])]
    inputs: onnx_files.Ports = {"x": (FLOAT, [1, "t", 4]), "ids": (INT64, [1, "t"])}
    return onnx_files.model(nodes, inputs, ["y"], {"table": np.ones((rows, 4), np.float32)})


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (mean_of_frames(), "x:1,256"),
        (mean_of_the_rest(100), "x:1,128"),
        (step_with_cache(), "x:1,16,4;mask:1,32,4;past:1,16,4"),
        (rows_that_data_choose(2), "x:1,16,4;ids:1,16"),
    ],
)
def test_what_is_proposed_runs(model: onnx.ModelProto, shape: str, tmp_path: Path) -> None:
    path, om = onnx_files.save(model, tmp_path), tmp_path / "model.om"
    (check,) = api.check_models(path).models
    assert (check.shape_hint, check.hint_fits, check.hint_runs) == (shape, True, True)
    with pytest.raises(AtcError) as caught:
        api.convert(path, om)
    assert f'give --input-shape "{shape}"' in str(caught.value.diagnostics[0].help)
    api.convert(path, om, input_shape=check.shape_hint)
    with api.load(om) as loaded:
        feeds = {
            port.name: np.ones(closed_shape(port.shape), port.dtype.numpy) for port in loaded.inputs
        }
        assert all(np.isfinite(each).all() for each in loaded.run(feeds).values())


def counted_loop(trips: int) -> onnx.ModelProto:
    body = helper.make_graph(
        [node("Identity", ["going"], ["more"]), node("Add", ["state", "one"], ["next"])],
        "body",
        [
            helper.make_tensor_value_info("at", INT64, []),
            helper.make_tensor_value_info("going", onnx.TensorProto.BOOL, []),
            helper.make_tensor_value_info("state", FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("more", onnx.TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", FLOAT, None),
        ],
    )
    weights: dict[str, np.ndarray] = {
        "trips": np.array(trips, np.int64),
        "one": np.array(1, np.float32),
    }
    nodes = [node("Loop", ["trips", "", "x"], ["y"], body=body)]
    return onnx_files.model(nodes, {"x": (FLOAT, ["n", 3])}, ["y"], weights)


def mean_of_much() -> onnx.ModelProto:
    return onnx_files.model(
        [node("ReduceMean", ["x"], ["y"])], {"x": (FLOAT, ["n", 1 << 14, 1 << 20])}, ["y"], {}
    )


def words_beside() -> onnx.ModelProto:
    """A result that is a string of the file."""
    nodes = [node("Relu", ["x"], ["y"]), node("Identity", ["word"], ["z"])]
    model = onnx_files.model(nodes, {"x": (FLOAT, ["n", 3])}, ["y", "z"], {})
    words = helper.make_tensor("word", onnx.TensorProto.STRING, [1], ["a"])  # type: ignore[list-item]
    model.graph.initializer.append(words)
    return model


@pytest.mark.parametrize("model", [counted_loop(10**13), mean_of_much(), words_beside()])
def test_what_is_long_large_or_no_number_is_proposed_without_a_run(
    model: onnx.ModelProto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(padding_trial, "ENGINES", {})  # a run would stop
    (check,) = api.check_models(onnx_files.save(model, tmp_path)).models
    assert check.shape_hint.startswith("x:1,")
    assert check.hint_runs


def test_gears_that_are_proposed_keep_the_sum_in_a_mask(tmp_path: Path) -> None:
    path = onnx_files.save(step_with_cache(), tmp_path)
    (check,) = api.check_models(path).models
    assert check.gears_hint == "new=16;total=new+past;past=16~64"
    api.convert(path, tmp_path / "model.om", auto_gears=check.gears_hint)


def test_what_runs_with_no_dims_is_no_proposal(tmp_path: Path) -> None:
    path = onnx_files.save(mean_of_the_rest(10**6), tmp_path)
    (check,) = api.check_models(path).models
    assert (check.hint_fits, check.hint_runs, check.gears_hint) == (True, False, "")
    with pytest.raises(AtcError) as caught:
        api.convert(path, tmp_path / "model.om")
    assert "no run with them gave numbers" in str(caught.value.diagnostics[0].help)
