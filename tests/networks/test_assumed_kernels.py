"""Where CANN publishes no operator information, `convert` warns and `check` says so."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import atc_py
from atc_py.diag.codes import ASSUMED_KERNELS
from atc_py.report.check.json_document import check_document
from atc_py.report.check.text import check_text


@pytest.mark.parametrize(
    ("soc", "assumed"),
    [("Ascend910_95", True), ("sim", False), ("Ascend910B3", False), ("Ascend310", False)],
)
def test_kernels_of_a_soc_without_operator_information_are_assumed(
    soc: str, *, assumed: bool, tmp_path: Path
) -> None:
    weights = numpy_helper.from_array(np.ones((4, 4), np.float32), "w")
    x, y = (helper.make_tensor_value_info(name, 1, [2, 4]) for name in "xy")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")]
    graph = helper.make_graph(nodes, "one", [x], [y], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path = tmp_path / "one.onnx"
    onnx.save(model, path)
    done = atc_py.convert(path, tmp_path / "one.om", soc=soc)
    assert [each.code is ASSUMED_KERNELS for each in done.warnings] == [True] * assumed
    report = atc_py.check_models(path, soc=soc)
    for language, words in {"en": "are assumed", "zh": "推定"}.items():
        document = check_document(report, language)
        assert (words in document.soc_note) is assumed
        assert (words in check_text(document)) is assumed
