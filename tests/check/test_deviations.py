"""Where CANN departs from ONNX: reported for the nodes whose result it changes, and of no others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from atc_py.check.findings import Standing
from atc_py.report.operators.rules import rule_words
from atc_py.spec import Level, all_specs
from tests.check.checks import checked
from tests.end_to_end import one_node_model, run_with_atc_py, run_with_onnxruntime

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import numpy.typing as npt
    import onnx

    Array = npt.NDArray[Any]

RANDOM = np.random.default_rng(3)


def floats(*shape: int) -> Array:
    """Return random numbers."""
    return RANDOM.standard_normal(shape).astype(np.float32)


@dataclass(frozen=True)
class Case:
    """A node, and what CANN makes of it.

    Attributes:
        op: its operator.
        opset: the version of ONNX.
        inputs: what is fed, by position.
        attributes: of the node.
        cann: CANN's result as a formula of the inputs, or attributes that give it in ONNX.
        constants: further inputs.
    """

    op: str
    opset: int
    inputs: tuple[Array, ...]
    attributes: Mapping[str, Any]
    cann: Callable[..., Array] | Mapping[str, Any]
    constants: Mapping[str, Array] = field(default_factory=dict)

    @property
    def feeds(self) -> dict[str, Array]:
        """The inputs by name."""
        return {f"x{position}": array for position, array in enumerate(self.inputs)}

    def model(self, **others: Any) -> onnx.ModelProto:
        """Return the node as a model, perhaps with other attributes."""
        attributes = {**self.attributes, **others}
        return one_node_model(
            self.op, self.feeds, self.opset, constants=self.constants, **attributes
        )

    def onnx_result(self) -> Array:
        """Return the result that ONNX has."""
        return run_with_onnxruntime(self.model(), self.feeds)["y0"]

    def cann_result(self) -> Array:
        """Return the result that CANN has."""
        if callable(self.cann):
            found: Array = self.cann(*self.inputs)
            return found
        return run_with_onnxruntime(self.model(**self.cann), self.feeds)["y0"]


def softmax(axis: int) -> Callable[[Array], Array]:
    """Return over one axis."""
    return lambda x: np.exp(x) / np.exp(x).sum(axis, keepdims=True)


def log_softmax(axis: int) -> Callable[[Array], Array]:
    """Return over one axis."""
    return lambda x: np.log(softmax(axis)(x))


def hardmax(axis: int) -> Callable[[Array], Array]:
    """Return over one axis."""

    def formula(x: Array) -> Array:
        ones = np.zeros_like(x)
        np.put_along_axis(ones, x.argmax(axis, keepdims=True), 1, axis)
        return ones

    return formula


def arg_max(axis: int) -> Callable[[Array], Array]:
    """Return the axis restored at position 1."""
    return lambda x: np.expand_dims(x.argmax(axis), 1)


def sum_square(x: Array) -> Array:
    """Return over axis 1, kept."""
    return np.asarray(np.square(x).sum(1, keepdims=True))


A, B, C = floats(2, 3), floats(3, 4), floats(4)
INTEGERS = np.array([7, -7, 7, -7]), np.array([3, 3, -3, -3])
UNSIGNED = tuple(np.abs(each).astype(np.uint8) for each in INTEGERS)
SCALES = {"roi": np.empty(0, np.float32), "scales": np.array([1, 1, 2, 2], np.float32)}
LINEAR = {"mode": "linear"}
ODD = {"auto_pad": "SAME_LOWER", "kernel_shape": [2, 2]}
EVEN = {"auto_pad": "SAME_LOWER", "kernel_shape": [3, 3]}
UPPER = {"auto_pad": "SAME_UPPER"}
ASYMMETRIC = {"coordinate_transformation_mode": "asymmetric"}
IMAGE = floats(1, 2, 6, 6)


def resize(mode: str, cann: Mapping[str, Any]) -> Case:
    """Return a Resize by two in the plane."""
    how = {**LINEAR, "coordinate_transformation_mode": mode}
    return Case("Resize", 11, (IMAGE,), how, cann, SCALES)


HIT = [
    Case("Gemm", 13, (A, B, C), {"alpha": 0.5}, lambda a, b, c: a @ b + c),
    Case("Gemm", 13, (A, B, C), {"beta": 0.5}, lambda a, b, c: a @ b + c),
    Case("ArgMax", 13, (floats(2, 3),), {"axis": 0}, arg_max(0)),
    Case("ArgMax", 13, (floats(2, 3),), {}, arg_max(0)),
    Case("ArgMax", 13, (floats(2, 3, 4),), {"axis": -1}, arg_max(-1)),
    Case("ArgMax", 13, (floats(1, 3, 1, 4),), {"axis": 3}, arg_max(3)),
    Case("Softmax", 11, (floats(2, 3, 4),), {}, softmax(1)),
    Case("Softmax", 11, (floats(2, 3),), {"axis": 0}, softmax(0)),
    Case("LogSoftmax", 12, (floats(2, 3, 4),), {"axis": 1}, log_softmax(1)),
    Case("Hardmax", 11, (floats(2, 3),), {"axis": 0}, hardmax(0)),
    Case("Mod", 13, INTEGERS, {}, np.fmod),
    Case("ReduceSumSquare", 11, (floats(2, 3),), {"axes": [1], "keepdims": 0}, sum_square),
    resize("half_pixel", ASYMMETRIC),
    Case("AveragePool", 11, (IMAGE,), ODD, UPPER),
    Case("MaxPool", 11, (IMAGE,), ODD, UPPER),
]
"""Nodes whose result CANN changes."""

MISSED = [
    Case("Gemm", 13, (A, B, C), {"alpha": 1.0, "beta": 1.0}, lambda a, b, c: a @ b + c),
    Case("Gemm", 13, (A, B), {"beta": 0.5}, lambda a, b: a @ b),
    Case("ArgMax", 13, (floats(2, 3),), {"axis": 1}, arg_max(1)),
    Case("ArgMax", 13, (floats(2, 3),), {"axis": -1}, arg_max(-1)),
    Case("ArgMax", 13, (floats(2, 1, 4),), {"axis": 2}, arg_max(2)),
    Case("ArgMax", 13, (floats(2, 1, 4),), {"axis": 0}, arg_max(0)),
    Case("ArgMax", 13, (floats(2, 3),), {"axis": 0, "keepdims": 0}, lambda x: x.argmax(0)),
    Case("Softmax", 11, (floats(2, 3),), {}, softmax(1)),
    Case("Softmax", 11, (floats(2, 3, 1, 1),), {"axis": 1}, softmax(1)),
    Case("Softmax", 13, (floats(2, 3, 4),), {"axis": 1}, softmax(1)),
    Case("LogSoftmax", 12, (floats(2, 3, 4),), {"axis": 2}, log_softmax(2)),
    Case("Hardmax", 11, (floats(2, 3),), {"axis": 1}, hardmax(1)),
    Case("Hardmax", 13, (floats(2, 3),), {"axis": 0}, hardmax(0)),
    Case("Mod", 13, UNSIGNED, {}, np.fmod),
    Case("Mod", 13, INTEGERS, {"fmod": 1}, np.fmod),
    Case("ReduceSumSquare", 11, (floats(2, 3),), {"axes": [1]}, sum_square),
    resize("asymmetric", ASYMMETRIC),
    Case("AveragePool", 11, (IMAGE,), EVEN, UPPER),
    Case("MaxPool", 11, (IMAGE,), {**ODD, **UPPER}, UPPER),
    Case("MaxPool", 11, (IMAGE,), {**ODD, "strides": [2, 2]}, UPPER),
]
"""Nodes that CANN computes as ONNX does."""

DEVIATIONS = [(spec, rule) for spec in all_specs() for rule in spec.constraints if rule.deviation]


def named(case: Case) -> str:
    return f"{case.op}-{case.opset}-{dict(case.attributes)}"


def agree(found: Array, expected: Array) -> bool:
    """Return True if two results are one but for rounding to float16."""
    return found.shape == expected.shape and np.allclose(found, expected, rtol=4e-3, atol=4e-3)


def reported(case: Case, folder: Path) -> int:
    """Return the number of findings that tell that CANN departs from ONNX."""
    found = checked(case.model(), folder).findings
    assert all(each.standing is not Standing.ERROR for each in found)
    return sum(each.standing is Standing.ACCURACY for each in found)


@pytest.mark.parametrize("case", HIT, ids=named)
def test_node_whose_result_cann_changes_is_reported_and_follows_onnx(
    case: Case, tmp_path: Path
) -> None:
    expected = case.onnx_result()
    assert not agree(case.cann_result(), expected)
    assert reported(case, tmp_path) == 1
    options = {"precision_mode": "allow_fp32_to_fp16"}
    assert agree(run_with_atc_py(case.model(), case.feeds, tmp_path, **options)["y0"], expected)


@pytest.mark.parametrize("case", MISSED, ids=named)
def test_node_that_cann_computes_as_onnx_does_is_not_reported(case: Case, tmp_path: Path) -> None:
    assert agree(case.cann_result(), case.onnx_result())
    assert reported(case, tmp_path) == 0


def test_every_deviation_is_hit_by_a_case() -> None:
    assert {case.op for case in HIT} == {spec.op for spec, _ in DEVIATIONS}
    assert all(rule.level is Level.ACCURACY for _, rule in DEVIATIONS)


@pytest.mark.parametrize(("spec", "rule"), DEVIATIONS, ids=lambda each: getattr(each, "op", ""))
def test_deviation_names_the_toolkit_and_its_year(spec: Any, rule: Any) -> None:
    for text in (rule.deviation.en, rule.deviation.zh):
        assert "CANN" in text
        assert "2022" in text
        assert text in rule_words(spec, rule).in_language("zh" if "年" in text else "en")


def test_finding_says_what_cann_does_and_that_atc_py_follows_onnx(tmp_path: Path) -> None:
    findings = checked(HIT[0].model(), tmp_path).findings
    (found,) = [each for each in findings if each.standing is Standing.ACCURACY]
    assert found.message.en == (
        "alpha of Gemm must be 1.0 for CANN to give what ONNX gives, found 0.5"
    )
    assert found.help.en == (
        "CANN of 2022 leaves alpha out, that of 2026 multiplies by it; atc-py follows ONNX"
    )
    assert "CANN 的结果才与 ONNX 一致" in found.message.zh
