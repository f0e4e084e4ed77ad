"""Deviations that depend on values of a run: reported as not decided, refused only where certain."""

from pathlib import Path

import numpy as np
import onnx
import pytest

import atc_py
from tests.deviations.case import DeviatingNode
from tests.end_to_end import run_with_atc_py

DATA = np.arange(12, dtype=np.float32).reshape(3, 4)
PICKED = np.array([[2], [0]])
UNDECIDED = [
    ("GatherND/cann/negative-indices", DeviatingNode("GatherND", 13, (DATA, PICKED))),
    ("ThresholdedRelu/cann/infinity-by-zero", DeviatingNode("ThresholdedRelu", 13, (DATA,))),
    ("LpNormalization/cann/zero-by-zero", DeviatingNode("LpNormalization", 13, (DATA + 1,))),
    (
        "OneHot/cann/indices-wrap",
        DeviatingNode(
            "OneHot",
            13,
            (np.array([-3, 0, 2]),),
            {},
            {"depth": np.array(3), "values": np.array([0, 1], np.float32)},
        ),
    ),
]


@pytest.mark.parametrize(("rule", "node"), UNDECIDED)
def test_values_of_a_run_leave_it_undecided(rule: str, node: DeviatingNode, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(node.model(), path)
    (model,) = atc_py.check_models(path, precision_mode="allow_fp32_to_fp16").models
    (finding,) = [each for each in model.findings if each.rule == rule]
    assert "(not decided: " in finding.allowed.en
    assert "无法判定" in finding.allowed.zh


@pytest.mark.parametrize(("rule", "node"), UNDECIDED)
def test_values_without_a_deviation_give_what_onnx_gives(
    rule: str, node: DeviatingNode, tmp_path: Path
) -> None:
    options = {"precision_mode": "allow_fp32_to_fp16", "semantics": "cann", "cann": 9}
    found = run_with_atc_py(node.model(), node.feeds, tmp_path, **options)["y0"]
    np.testing.assert_allclose(found, node.onnx_result(), rtol=4e-3, err_msg=rule)
