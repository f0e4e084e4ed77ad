"""What is quantized keeps the rules of CANN's parser about whole models."""

from pathlib import Path

import numpy as np
import onnx
from onnx import helper

import atc_py
from atc_py.check.parser_rules import model_findings
from atc_py.onnx_graph.reading.parser_breaks import broken_rules
from atc_py.onnx_graph.reading.read import read_model
from tests.parser_models import model, value


def test_both_forms_are_what_the_parser_takes(tmp_path: Path) -> None:
    weights = np.random.default_rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Constant", [], ["two"], value_float=2.0),
        helper.make_node("Conv", ["x", "w"], ["a"], "x", kernel_shape=[3, 3]),
        helper.make_node("Mul", ["a", "two"], ["y"], domain="ai.onnx"),
    ]
    imports = [("", 13), ("ai.onnx.ml", 2), ("com.microsoft", 1)]
    constants = [onnx.numpy_helper.from_array(weights, "w")]
    onnx.save(model(nodes, [value("x", (1, 3, 8, 8))], constants, imports), tmp_path / "m.onnx")
    assert len(model_findings(broken_rules(read_model(tmp_path / "m.onnx")), "", "9.1")) == 4
    np.save(tmp_path / "x.npy", np.random.default_rng(1).random((1, 3, 8, 8), np.float32))
    data = [f"x={tmp_path / 'x.npy'}"]
    atc_py.quantize(tmp_path / "m.onnx", tmp_path / "o.onnx", data=data, format="both", measure=0)
    for name in ("o.onnx", "o.qdq.onnx"):
        assert model_findings(broken_rules(read_model(tmp_path / name)), "", "9.1") == ()
