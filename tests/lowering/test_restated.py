"""Nodes of opsets that are not listed compile in the form of one that is, with the same numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import atc_py
from atc_py.diag.codes import OPERATOR_RESTATED
from tests.check.checks import residual_network
from tests.end_to_end import one_node_model, run_with_atc_py, run_with_onnxruntime

if TYPE_CHECKING:
    from pathlib import Path

KEEP = "must_keep_origin_dtype"


@pytest.mark.parametrize("opset", [13, 14, 17, 21])
def test_residual_network_of_a_newer_opset_computes_the_same(opset: int, tmp_path: Path) -> None:
    model = residual_network(opset)
    image = np.random.default_rng(1).standard_normal((1, 3, 8, 8), dtype=np.float32)
    expected = run_with_onnxruntime(model, {"x": image})["y"]
    found = run_with_atc_py(model, {"x": image}, tmp_path, precision_mode=KEEP)["y"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * np.abs(expected).max())
    done = atc_py.convert(tmp_path / "model.onnx", tmp_path / "again.om")
    codes = {finding.code for finding in done.check.findings}
    assert (OPERATOR_RESTATED in codes) is (opset > 13)


@pytest.mark.parametrize(
    ("op_type", "opset", "constants", "attributes"),
    [
        ("Unsqueeze", 13, {"axes": np.array([0, -1])}, {}),
        ("Reshape", 14, {"shape": np.array([0, -1])}, {"allowzero": 0}),
        ("Reshape", 14, {"shape": np.array([4, 6])}, {"allowzero": 1}),
        ("Pad", 18, {"pads": np.array([0, 1, 0, 0, 2, 0])}, {}),
        ("Relu", 14, {}, {}),
        ("Softmax", 13, {}, {}),
    ],
)
def test_node_in_a_newer_form_computes_the_same(
    op_type: str,
    opset: int,
    constants: dict[str, Any],
    attributes: dict[str, Any],
    tmp_path: Path,
) -> None:
    x = np.random.default_rng(2).standard_normal((2, 3, 4), dtype=np.float32)
    model = one_node_model(op_type, {"x": x}, opset, constants=constants, **attributes)
    expected = run_with_onnxruntime(model, {"x": x})["y0"]
    found = run_with_atc_py(model, {"x": x}, tmp_path, precision_mode=KEEP)["y0"]
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
