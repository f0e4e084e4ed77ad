"""Forms that a list refuses and that no rule can write otherwise: findings, never a traceback."""

from pathlib import Path

import numpy as np
import onnx
import pytest

import atc_py
from atc_py.check.findings import Standing
from tests.end_to_end import one_node_model

LIST = "cann-9.0"
ROWS = np.ones((3, 7), np.float32)
INTEGERS = np.ones((2, 3), np.int64)
IMAGES = np.ones((1, 2, 4, 4), np.float32)
BOUND = np.array(5)


@pytest.mark.parametrize(
    "model",
    [
        one_node_model(
            "Clip", {"x": INTEGERS}, 13, constants={"most": BOUND}, order=["x", "", "most"]
        ),
        one_node_model("Clip", {"x": INTEGERS}, 13),
        one_node_model(
            "InstanceNormalization", {"x": ROWS}, 13, constants={"s": ROWS[0], "b": ROWS[0]}
        ),
    ],
    ids=["absent-bound", "no-bounds", "no-axes"],
)
def test_form_that_no_rule_fits_is_a_finding(model: onnx.ModelProto, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    (checked,) = atc_py.check_models(path, operator_list=LIST).models
    assert checked.standing is Standing.ERROR
    assert all(each.source for each in checked.findings if each.standing is Standing.ERROR)


@pytest.mark.parametrize(
    ("place", "padding", "fits"),
    [(np.inf, "zeros", False), (np.nan, "border", False), (1e19, "zeros", False),
     (1e12, "reflection", False), (1e12, "zeros", True), (1e6, "border", True)],
)  # fmt: skip
def test_grid_whose_places_no_engine_agrees_on_is_left(
    place: float, padding: str, fits: bool, tmp_path: Path
) -> None:
    grid = np.array([[[[place, 0.5], [0, 0]]]], np.float32)
    model = one_node_model(
        "GridSample", {"x": IMAGES}, 16, constants={"grid": grid}, padding_mode=padding
    )
    onnx.save(model, tmp_path / "model.onnx")
    fixed = atc_py.fix_model(tmp_path / "model.onnx", tmp_path / "f.onnx", operator_list="base")
    assert fixed.is_sound is fits
    reasons = [reason for each in fixed.left for _, reason in each.unfit]
    assert reasons == [] if fits else reasons == ["places of a constant grid are finite and near"]


def test_convolution_with_a_constant_offset_of_nan_is_left(tmp_path: Path) -> None:
    offset = np.zeros((1, 2, 4, 4), np.float32)
    offset[0, 0, 0, 0] = np.nan
    constants = {"w": np.ones((1, 2, 1, 1), np.float32), "offset": offset}
    onnx.save(one_node_model("DeformConv", {"x": IMAGES}, 19, constants=constants), tmp_path / "m")
    fixed = atc_py.fix_model(tmp_path / "m", tmp_path / "f.onnx", operator_list="base")
    assert [reason for each in fixed.left for _, reason in each.unfit] == [
        "constant offsets have no NaN"
    ]
