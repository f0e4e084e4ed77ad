"""Both implementations of vector operators, bit for bit against steps of ONNX's evaluator.

The oracle does an operator as a chain of smaller ones of ONNX, each in float32. After each of them
it rounds to float16 for high_performance, and after the last alone for high_precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import atc_py

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    Array = npt.NDArray[Any]

SHAPE = [16, 40]

STEPS: dict[str, list[tuple[str, list[str], str]]] = {
    "Sigmoid": [
        ("Neg", ["x"], "n"),
        ("Exp", ["n"], "e"),
        ("Add", ["e", "one"], "d"),
        ("Reciprocal", ["d"], "y"),
    ],
    "Softplus": [
        ("Abs", ["x"], "a"),
        ("Neg", ["a"], "n"),
        ("Exp", ["n"], "e"),
        ("Log1p", ["e"], "l"),
        ("Relu", ["x"], "r"),
        ("Add", ["r", "l"], "y"),
    ],
    "Softsign": [
        ("Abs", ["x"], "a"),
        ("Add", ["a", "one"], "d"),
        ("Div", ["x", "d"], "y"),
    ],
    "Softmax": [
        ("ReduceMax", ["x"], "m"),
        ("Sub", ["x", "m"], "s"),
        ("Exp", ["s"], "e"),
        ("ReduceSum", ["e"], "t"),
        ("Div", ["e", "t"], "y"),
    ],
    "LogSoftmax": [
        ("ReduceMax", ["x"], "m"),
        ("Sub", ["x", "m"], "s"),
        ("Exp", ["s"], "e"),
        ("ReduceSum", ["e"], "t"),
        ("Log", ["t"], "l"),
        ("Sub", ["s", "l"], "y"),
    ],
}
"""Operators in ONNX's own steps; Log1p, which ONNX lacks, is numpy's."""


def float16(array: Array) -> Array:
    """Return float32 values on float16's grid."""
    return array.astype(np.float16).astype(np.float32)


def one_step(op: str, operands: list[Array]) -> Array:
    """Return one operator on float32; reductions go along the last axis."""
    if op == "Log1p":
        found: Array = np.log1p(operands[0])
        return found
    names = [f"x{n}" for n in range(len(operands))]
    extra: dict[str, Any] = {"axes": [-1]} if op.startswith("Reduce") else {}
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in names]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node(op, names, ["y"], **extra)], "s", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)
    (result,) = ReferenceEvaluator(model).run(None, dict(zip(names, operands, strict=True)))
    return np.asarray(result, np.float32)


def emulated(op: str, x: Array, *, each_step: bool) -> Array:
    """Return the operator on float16 data, rounded after each step or once at the end."""
    values = {"x": float16(x), "one": np.ones(1, np.float32)}
    for step, inputs, output in STEPS[op]:
        made = one_step(step, [values[name] for name in inputs])
        values[output] = float16(made) if each_step else made
    return float16(values["y"])


def converted(op: str, text: str, folder: Path, **options: Any) -> Path:
    """Return a model of one operator, called `it`, compiled with an --op-precision-mode file."""
    node = helper.make_node(op, ["x"], ["y"], name="it")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, SHAPE)
    graph = helper.make_graph([node], "one", [x], [y])
    opset = helper.make_opsetid("", 13)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), folder / "net.onnx")
    file = folder / "modes.ini"
    file.write_text(text, encoding="utf-8")
    om = folder / "net.om"
    atc_py.convert(folder / "net.onnx", om, op_precision_mode=file, verify=True, **options)
    return om


def data() -> Array:
    """Return values between -9 and 9."""
    return np.random.default_rng(2).uniform(-9, 9, SHAPE).astype(np.float32)


@pytest.mark.parametrize("mode", ["high_precision", "high_performance", "keep_fp16"])
@pytest.mark.parametrize("op", STEPS)
def test_implementation_is_its_steps_rounded(op: str, mode: str, tmp_path: Path) -> None:
    om = converted(op, f"[ByOpType]\n{op}={mode}\n", tmp_path)
    with atc_py.load(om) as model:
        found = model.run({"x": data()})["y"]
    expected = emulated(op, data(), each_step=mode != "high_precision")
    np.testing.assert_array_equal(found.view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize("op", STEPS)
def test_oracle_tells_the_implementations_apart(op: str) -> None:
    once, each = (emulated(op, data(), each_step=flag) for flag in (False, True))
    assert (once != each).mean() > 0.02


def test_without_a_file_steps_are_precise(tmp_path: Path) -> None:
    with atc_py.load(converted("Softmax", "", tmp_path)) as model:
        found = model.run({"x": data()})["y"]
    np.testing.assert_array_equal(found, emulated("Softmax", data(), each_step=False))


def test_float32_is_computed_alike_in_both(tmp_path: Path) -> None:
    results: list[Array] = []
    for mode in ("high_precision", "high_performance"):
        keep = {"precision_mode": "must_keep_origin_dtype"}
        with atc_py.load(converted("Softmax", f"Softmax={mode}", tmp_path, **keep)) as model:
            results.append(model.run({"x": data()})["y"])
    np.testing.assert_array_equal(results[0], results[1])
