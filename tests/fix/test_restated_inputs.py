"""Inputs that an older opset requires are there in what is written at it."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import atc_py
from tests.end_to_end import one_node_model, run_with_onnxruntime


def test_means_that_onnxruntime_runs_in_a_new_form_alone_stay_in_it(tmp_path: Path) -> None:
    x = np.ones((1, 2, 3, 3), np.float32)
    apart: dict[str, Any] = {"kernel_shape": [2, 2], "auto_pad": "SAME_UPPER"}
    for strides, opset in (([5, 3], 19), ([2, 2], 13)):
        onnx.save(
            one_node_model("AveragePool", {"x": x}, 19, strides=strides, **apart),
            tmp_path / "m.onnx",
        )
        done = atc_py.fix_model(tmp_path / "m.onnx", tmp_path / "fixed.onnx")
        assert done.opset == (19, opset)


def test_attribute_of_a_function_outside_of_one_is_no_input(tmp_path: Path) -> None:
    model = one_node_model(
        "Pad", {"x": np.ones((2, 3), np.float32)}, 6, pads=[0, 0, 1, 1], value=2.0
    )
    (pads,) = (each for each in model.graph.node[0].attribute if each.name == "pads")
    pads.ref_attr_name = "outer"
    del pads.ints[:]
    onnx.save(model, tmp_path / "m.onnx")
    (check,) = atc_py.check_models(tmp_path / "m.onnx").models
    assert {each.code.id for each in check.findings} >= {"ATC4012"}


@pytest.mark.parametrize("by", ["scales", "sizes"])
def test_resize_gets_what_was_optional(by: str, tmp_path: Path) -> None:
    x = np.random.default_rng(1).normal(size=(1, 2, 4, 4)).astype(np.float32)
    constants: dict[str, Any] = {
        "scales": np.array([1, 1, 2, 2], np.float32),
        "sizes": np.array([1, 2, 8, 8], np.int64),
    }
    order = ["x", "", "scales"] if by == "scales" else ["x", "", "", "sizes"]
    model = one_node_model(
        "Resize", {"x": x}, 17, constants={by: constants[by]}, order=order, mode="nearest"
    )
    path, fixed = tmp_path / "model.onnx", tmp_path / "fixed.onnx"
    onnx.save(model, path)
    done = atc_py.fix_model(path, fixed, operator_list="base")
    assert done.opset == (17, 12)
    onnx.checker.check_model(fixed)
    (found,), (wanted,) = (
        run_with_onnxruntime(onnx.load(each), {"x": x}).values() for each in (fixed, path)
    )
    np.testing.assert_array_equal(found, wanted)
