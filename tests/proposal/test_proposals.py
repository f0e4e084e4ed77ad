"""Shapes that are proposed: what the model's strides, reshapes and weights take."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper, numpy_helper

from atc_py import api
from atc_py.check.bound_node import Conditions
from atc_py.check.findings import Standing
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_INPUT_SHAPE, FREE_DIMENSION
from atc_py.onnx_graph.reading.read import read_model
from atc_py.options.compile_options import PrecisionMode
from atc_py.pipeline.judging import Judge
from atc_py.pipeline.proposal import search
from atc_py.pipeline.proposal.search import Search
from atc_py.spec import library
from atc_py.target import find_soc
from tests.networks.builders.open_detector import build_open_detector
from tests.onnx_graph import onnx_files

Weights = dict[str, npt.NDArray[np.generic]]

node = helper.make_node
FLOAT, INT64 = onnx_files.FLOAT, onnx_files.INT64


def halved(times: int) -> list[onnx.NodeProto]:
    """Return chain windows of stride 2, and add a skip around them that must fit again."""
    names = ["x", *(f"h{at}" for at in range(times))]
    window: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}
    pools = [node("MaxPool", [one], [two], **window) for one, two in pairwise(names)]
    scales = 2**times
    grown = node("Resize", [names[-1], "", f"by{scales}"], ["g"], mode="nearest")
    return [*pools, grown, node("Add", ["g", "x"], ["y"])]


def flattened(dim: int) -> onnx.ModelProto:
    """Make a layer on all pixels of an image, whose weights are for one size alone."""
    nodes = [node("Flatten", ["x"], ["f"]), node("Gemm", ["f", "w"], ["y"])]
    weights: Weights = {"w": np.zeros((3 * dim * dim, 4), np.float32)}
    inputs: onnx_files.Ports = {"x": (FLOAT, ["batch", 3, "height", "width"])}
    return onnx_files.model(nodes, inputs, ["y"], weights)


SCALES: Weights = {
    f"by{2**times}": np.array([1, 1, 2**times, 2**times], np.float32) for times in (3, 5)
}
IMAGE: onnx_files.Ports = {"x": (FLOAT, ["n", 3, "", ""])}
LINE: onnx_files.Ports = {"ids": (FLOAT, ["b", "l"]), "mask": (FLOAT, ["b", "l"])}
TABLE: Weights = {"w": np.zeros((12, 5), np.float32)}

MODELS = {
    "strides of 8": onnx_files.model(halved(3), IMAGE, ["y"], SCALES),
    "strides of 32": onnx_files.model(halved(5), IMAGE, ["y"], SCALES),
    "weights for 28 pixels": flattened(28),
    "weights for 224 pixels": flattened(224),
    "one name, two inputs": onnx_files.model([node("Add", ["ids", "mask"], ["y"])], LINE, ["y"]),
    "columns that weights tell": onnx_files.model(
        [node("MatMul", ["x", "w"], ["y"])], {"x": (FLOAT, ["", ""])}, ["y"], TABLE
    ),
    "channels that weights tell": onnx_files.model(
        [node("Conv", ["x", "w"], ["y"])],
        {"x": (FLOAT, ["", "", 9, 9])},
        ["y"],
        {"w": np.zeros((2, 7, 3, 3), np.float32)},
    ),
    "unknown rank": onnx_files.model(
        [node("Conv", ["x", "w"], ["y"])],
        {"x": (FLOAT, None)},
        ["y"],
        {"w": np.zeros((2, 3, 3, 3), np.float32)},
    ),
    "fixed batch inside": onnx_files.model(
        [node("Reshape", ["x", "s"], ["y"])],
        {"x": (FLOAT, ["n", 6])},
        ["y"],
        {"s": np.array([4, 6], np.int64)},
    ),
    "detector": build_open_detector(("batch", 3, "height", "width")),
}


@pytest.mark.parametrize("what", MODELS)
def test_shape_that_is_proposed_can_be_pasted(what: str, tmp_path: Path) -> None:
    path = onnx_files.save(MODELS[what], tmp_path)
    (open_,) = api.check_models(path).models
    assert open_.hint_fits
    (fixed,) = api.check_models(path, input_shape=open_.shape_hint).models
    assert fixed.faults == ()
    assert fixed.standing not in {Standing.ERROR, Standing.UNKNOWN}
    with pytest.raises(AtcError) as caught:
        api.convert(path, tmp_path / "model.om")
    assert {each.code for each in caught.value.diagnostics} == {FREE_DIMENSION}
    assert f'give --input-shape "{open_.shape_hint}"' in str(caught.value.diagnostics[0].help)
    api.convert(path, tmp_path / "model.om", input_shape=open_.shape_hint)


def test_names_that_are_numbers_are_taken_at_their_word(tmp_path: Path) -> None:
    inputs = {"x": (FLOAT, ["batch", "7"]), "k": (FLOAT, ["007"])}
    model = onnx_files.model([node("Relu", ["x"], ["y"]), node("Neg", ["k"], ["z"])], inputs, "yz")
    (check,) = api.check_models(onnx_files.save(model, tmp_path)).models
    assert check.shape_hint == "x:1,7;k:16"
    assert "7=7" in check.gears_hint


def test_proposal_is_called_one_once(tmp_path: Path) -> None:
    path = onnx_files.save(MODELS["one name, two inputs"], tmp_path)
    with pytest.raises(AtcError) as caught:
        api.convert(path, tmp_path / "model.om")
    helps = [str(each.help) for each in caught.value.diagnostics]
    assert ["proposal" in each for each in helps] == [True, False]


def test_given_shapes_are_kept_in_the_proposal(tmp_path: Path) -> None:
    inputs: onnx_files.Ports = {"a": (FLOAT, ["n", 3]), "b": (FLOAT, ["n", 3])}
    path = onnx_files.save(
        onnx_files.model([node("Add", ["a", "b"], ["y"])], inputs, ["y"]), tmp_path
    )
    (check,) = api.check_models(path, input_shape="a:5,3").models
    assert (check.shape_hint, check.hint_fits) == ("a:5,3;b:1,3", True)


def test_shape_that_contradicts_the_model_is_refused_with_one_that_fits(tmp_path: Path) -> None:
    path = onnx_files.save(MODELS["strides of 32"], tmp_path)
    for call in (
        lambda: api.check_models(path, input_shape="x:1,4,64,64"),
        lambda: api.convert(path, tmp_path / "model.om", input_shape="x:1,4,64,64"),
    ):
        with pytest.raises(AtcError) as caught:
            call()
        (found,) = caught.value.diagnostics
        assert found.code is BAD_INPUT_SHAPE
        assert found.help == 'for example --input-shape "x:1,3,64,64"'


def judged(path: Path) -> tuple[Search, list[str]]:
    """Start a search in a file, and note what it judges as it goes on."""
    judge = Judge(Conditions(PrecisionMode.FORCE_FP16, find_soc("sim")), library())
    file, seen = read_model(path), list[str]()

    def noted(each: Any) -> Any:
        seen.append(str([declared.dims for declared in each.inputs]))
        return judge(each)

    return Search(file, noted, judge(file)), seen


def test_search_ends_where_nothing_fits(tmp_path: Path) -> None:
    shape: Weights = {"s": np.array([5, 7, 11], np.int64)}
    proto = onnx_files.model([node("Reshape", ["x", "s"], ["y"])], IMAGE, ["y"], shape)
    found, seen = judged(onnx_files.save(proto, tmp_path))
    proposal = found.propose()
    assert not proposal.best.fits
    assert proposal.count == len(seen) == len(set(seen)) <= 32


def test_large_models_are_tried_with_fewer_choices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_MOST_NODES", 5)
    found, seen = judged(onnx_files.save(flattened(7), tmp_path))
    assert not found.propose().best.fits
    assert len(seen) == 4


def test_what_is_proposed_compiles(tmp_path: Path) -> None:
    pads = numpy_helper.from_array(np.array([0, 0, 70, 0, 0, 0, 70, 0]), "pads")
    value = helper.make_tensor_value_info
    ends = [value("x", FLOAT, [1, 2, "n", 8]), value("y", FLOAT, None)]
    mirror = helper.make_node("Pad", ["x", "pads"], ["y"], mode="reflect")
    graph = helper.make_graph([mirror], "mirrored", ends[:1], ends[1:], [pads])
    path = tmp_path / "m.onnx"
    opset = helper.make_opsetid("", 13)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)
    (checked,) = api.check_models(path).models
    assert (checked.shape_hint, checked.hint_fits) == ("x:1,2,128,8", True)
    api.convert(path, tmp_path / "m.om", input_shape=checked.shape_hint)
    with pytest.raises(AtcError, match="n") as caught:
        api.convert(path, tmp_path / "m.om")
    assert checked.shape_hint in str(caught.value.diagnostics[0].help)
