"""Both implementations of vector operators, bit for bit against steps of ONNX's evaluator.

The oracle does an operator as a chain of smaller ones of ONNX, each in float32. After each of them
it rounds to float16 for high_performance, and after the last alone for high_precision.
"""

import itertools
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import atc_py
from atc_py.compare.kernels.verify import as_written
from atc_py.package.reader import open_model
from atc_py.results.comparison import default_tolerance

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
    return rounded_after(op, x, {output for _, _, output in STEPS[op]} if each_step else set())


def rounded_after(op: str, x: Array, steps: Collection[str]) -> Array:
    """Return the operator on float16 data, rounded after some steps and at the end."""
    values = {"x": float16(x), "one": np.ones(1, np.float32)}
    for step, inputs, output in STEPS[op]:
        made = one_step(step, [values[name] for name in inputs])
        values[output] = float16(made) if output in steps else made
    return float16(values["y"])


def converted(op: str, text: str, folder: Path, **options: Any) -> Path:
    """Return a model of one operator, called `it`, compiled with an --op-precision-mode file."""
    file = folder / "modes.ini"
    file.write_text(text, encoding="utf-8")
    return compiled(op, folder, op_precision_mode=file, **options)


def compiled(op: str, folder: Path, **options: Any) -> Path:
    """Return a model of one operator, called `it`."""
    node = helper.make_node(op, ["x"], ["y"], name="it")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, SHAPE)
    graph = helper.make_graph([node], "one", [x], [y])
    opset = helper.make_opsetid("", 13)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), folder / "net.onnx")
    om = folder / "net.om"
    atc_py.convert(folder / "net.onnx", om, verify=True, **options)
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


ALL = "n e d a l s t m y"
DEFAULTS = [
    ("Softmax", "Ascend910B3", "s"),
    ("Softmax", "Ascend310P3", "s"),
    ("Softmax", "Ascend310", "s e"),
    ("Softmax", "Hi3796CV300CS", ALL),
    ("Softmax", "Ascend950PR_9599", ""),
    ("LogSoftmax", "Ascend910B3", ""),
    ("LogSoftmax", "Ascend310", ALL),
    ("Sigmoid", "Ascend310P3", ""),
    ("Sigmoid", "Ascend910B3", ""),
    ("Sigmoid", "Ascend910A", ALL),
    ("Sigmoid", "Ascend310B1", ALL),
    ("Softplus", "Ascend310P3", ""),
    ("Softplus", "Ascend310", ALL),
    ("Softsign", "Ascend310", ""),
    ("Softsign", "Hi3796CV300CS", ALL),
]
"""Operator, SoC, and the steps that its kernel in CANN 8.1 rounds to float16 in the default mode."""


@pytest.mark.parametrize(("op", "soc", "steps"), DEFAULTS)
def test_default_of_a_soc_is_its_steps_rounded(
    op: str, soc: str, steps: str, tmp_path: Path
) -> None:
    with atc_py.load(compiled(op, tmp_path, soc=soc)) as model:
        found = model.run({"x": data()})["y"]
    expected = rounded_after(op, data(), steps.split())
    np.testing.assert_array_equal(found.view(np.uint32), expected.view(np.uint32))


def test_default_modes_tell_softmaxes_apart() -> None:
    """The oracle sees the difference between SoCs in every twentieth result at least."""
    made = [rounded_after("Softmax", data(), steps.split()) for steps in ("", "s", "s e", ALL)]
    for one, other in itertools.pairwise(made):
        assert (one != other).mean() > 0.05


def test_stub_is_compared_with_what_it_computes(tmp_path: Path) -> None:
    """The kernel of Ascend910A rounds each step of Sigmoid to float16, its stub none."""
    path = compiled("Sigmoid", tmp_path, soc="Ascend910A")
    with open_model(path) as model:
        written = as_written(model).description
        assert [node.attributes for node in model.description.nodes if node.op == "Sigmoid"] == [
            {"impl_mode": "high_performance"}
        ]
        assert [node.attributes for node in written.nodes if node.op == "Sigmoid"] == [{}]


def test_rounded_steps_count_in_the_bound_of_results(tmp_path: Path) -> None:
    """Four roundings of float16 for Sigmoid on Ascend910A, one on Ascend910B3."""
    shares = {}
    for soc in ("Ascend910A", "Ascend910B3"):
        with atc_py.load(compiled("Sigmoid", tmp_path, soc=soc)) as model:
            shares[soc] = default_tolerance(model.description)
    cast = 1  # of the model's float32 input
    assert shares["Ascend910A"] == pytest.approx(2 * 2.0**-11 * (4 + cast) ** 0.5)
    assert shares["Ascend910B3"] == pytest.approx(2 * 2.0**-11 * (1 + cast) ** 0.5)
