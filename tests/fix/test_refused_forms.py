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
