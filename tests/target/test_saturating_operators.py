"""Operators that are said to saturate are those whose formulas do."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import atc_py
from atc_py.target import find_operator, operators

UNARY = (
    "Abs", "Acosh", "Asinh", "Atan", "Celu", "Ceil", "Cos", "Cosh", "Elu", "Erf", "Exp", "HardSigmoid",
    "LeakyRelu", "Log", "Neg", "Reciprocal", "Relu", "Selu", "Sigmoid", "Sign", "Sin", "Sinh",
    "Softplus", "Softsign", "Sqrt", "Tanh",
)  # fmt: skip
"""ONNX's functions of one float, but for those of a bounded domain."""

NORMALIZED = {"LogSoftmaxV2", "ScaledMaskedSoftmax", "SoftmaxCrossEntropyLoss", "SoftmaxV2"}
"""Those of whole rows: the largest result approaches 1, of LogSoftmax the logarithm of 1."""

FAR = 2.0**20


def made(op: str) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"], name="n")], op, [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def approaches_a_limit(op: str) -> bool:
    """Tell whether a function settles at a number other than 0 toward either end."""
    x = np.array([-2 * FAR, -FAR, FAR, 2 * FAR], np.float32)
    with np.errstate(all="ignore"):
        y: Any = ReferenceEvaluator(made(op)).run(None, {"x": x})
    values = np.asarray(y[0], np.float64)
    return any(
        np.isfinite(a) and a != 0 and bool(np.isclose(a, b, rtol=1e-5))
        for a, b in (values[:2], values[2:])
    )


@pytest.mark.parametrize("op", UNARY)
def test_function_saturates_where_its_formula_settles_at_a_limit(op: str, tmp_path: Path) -> None:
    onnx.save(made(op), tmp_path / "model.onnx")
    atc_py.convert(tmp_path / "model.onnx", tmp_path / "model.om")
    with atc_py.load(tmp_path / "model.om") as model:
        names = {node.op for node in model.description.nodes} - {"Cast", "TransData"}
    (name,) = names
    row = find_operator(name)
    assert row is not None
    if row.rounds and op not in {"Cos", "Sin"}:
        assert row.saturates is approaches_a_limit(op)
    else:
        assert not row.saturates


def test_every_saturating_operator_is_looked_at() -> None:
    known = {"Atan", "Celu", "Elu", "Erf", "HardSigmoid", "Selu", "Sigmoid", "Softsign", "Tanh"}
    assert {row.name for row in operators() if row.saturates} == known | NORMALIZED
    assert known <= set(UNARY)
