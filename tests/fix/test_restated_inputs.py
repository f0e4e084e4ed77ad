"""Inputs that an older opset requires are there in what is written at it."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import atc_py
from tests.end_to_end import one_node_model, run_with_onnxruntime


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
