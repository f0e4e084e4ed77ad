"""ONNX's own test runner on its node cases, restamped to opset 13: right, or refused by a rule."""

import os
from typing import Any

import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper

from atc_py.backend import AtcBackendRep
from atc_py.spec import library
from tests.conformance.cases import Verdict
from tests.conformance.restamped import (
    LISTED,
    OPSET,
    RestampedBackend,
    outcome,
    restamped,
    runner_tests,
    selection,
)
from tests.sampling import WHOLE

SETTLED = {Verdict.RIGHT, Verdict.REFUSED}
"""What a case may come to."""

SHARE = 8
"""Of an operator, one case in so many is tried always, and its first."""

LEAST_RESTAMPED = 600
LEAST_RIGHT = 450
"""Of the 1884 cases of onnx 1.23, 676 are restamped; 504 of those are right, 172 refused."""


@pytest.mark.parametrize("op", sorted(LISTED))
def test_runner_finds_cases_of_operator_right_or_refused_by_a_rule(op: str) -> None:
    names = selection().by_operator.get(op, ())
    found = {name: outcome(name) for name in names[:: 1 if WHOLE in os.environ else SHARE]}
    assert {name: each for name, each in found.items() if each.verdict not in SETTLED} == {}


# How many there are -----------------------------------------------------------------------------


def test_restamping_covers_most_of_what_is_listed() -> None:
    chosen = selection()
    out = {reason: len(names) for reason, names in chosen.left_out.items()}
    assert len(chosen.names) + sum(out.values()) == chosen.collected
    assert len(chosen.names) >= LEAST_RESTAMPED
    of_listed = chosen.collected - out["it has an operator that is not listed"]
    assert len(chosen.names) > 0.6 * of_listed
    assert chosen.by_operator.keys() <= LISTED
    without = LISTED - chosen.by_operator.keys()
    assert len(chosen.by_operator) > 0.9 * len(LISTED), sorted(without)


@pytest.mark.sweep
def test_many_cases_are_right() -> None:
    found = [outcome(name).verdict for name in selection().names]
    assert found.count(Verdict.RIGHT) >= LEAST_RIGHT


def test_runner_has_a_test_for_every_restamped_case() -> None:
    tests = runner_tests(RestampedBackend)
    assert [name for name in selection().names if not hasattr(tests, f"{name}_cpu")] == []


def test_listed_operators_are_those_of_onnx() -> None:
    assert {spec.op for spec in library().all()} >= LISTED
    assert all(onnx.defs.has(op) for op in LISTED)


# What is restamped ------------------------------------------------------------------------------


def one_node(op: str, opset: int, inputs: int = 1, **attributes: Any) -> onnx.ModelProto:
    """Return a model of one node with inputs of 2 x 3 floats."""
    names = [f"x{number}" for number in range(inputs)]
    graph = helper.make_graph(
        [helper.make_node(op, names, ["y"], **attributes)],
        "one",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in names],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


@pytest.mark.parametrize(
    "model",
    [
        one_node("Abs", 18),  # of version 13 ever since
        one_node("Add", 17, 2),  # version 14 admits more dtypes
        one_node("Softmax", 13, axis=1),
    ],
)
def test_model_is_restamped_and_left_as_it_was(model: onnx.ModelProto) -> None:
    before = model.SerializeToString()
    found = restamped(model)
    assert isinstance(found, onnx.ModelProto)
    assert [(each.domain, each.version) for each in found.opset_import] == [("", OPSET)]
    assert found.graph == model.graph
    assert model.SerializeToString() == before


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (None, "no node"),
        (one_node("Mish", 18), "not listed"),
        (one_node("AveragePool", 19, dilations=[2], kernel_shape=[2]), "defined differently"),
        (one_node("ReduceMean", 18, 2), "defined differently"),
        (one_node("Softmax", 11), "defined differently"),
        (one_node("Neg", 13, domain="other"), "another domain"),
        (one_node("Not", 13), "checker refuses"),
    ],
)
def test_model_without_a_form_at_13_is_left_out(model: onnx.ModelProto | None, reason: str) -> None:
    found = restamped(model)
    assert isinstance(found, str)
    assert reason in found


# The comparison can fail ------------------------------------------------------------------------


class _Spoilt:
    """A compiled model whose outputs another function spoils."""

    def __init__(self, inner: AtcBackendRep, spoil: Any) -> None:
        self._inner = inner
        self._spoil = spoil

    def run(self, inputs: Any, **options: Any) -> tuple[npt.NDArray[Any], ...]:
        """Return the outputs, spoilt."""
        return tuple(self._spoil(array) for array in self._inner.run(inputs, **options))


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("test_matmul_2d", lambda y: y * y.dtype.type(1.02)),
        ("test_matmul_2d", lambda y: y.astype("float64")),
        ("test_matmul_2d", lambda y: y[None]),
        ("test_relu", lambda y: y + y.dtype.type(0.02)),
        ("test_argmax_keepdims_example", lambda y: y + 1),
        ("test_not_2d", lambda y: ~y),
    ],
)
def test_wrong_output_fails(name: str, spoil: Any) -> None:
    class SpoiltBackend(RestampedBackend):
        @classmethod
        def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **options: Any) -> Any:
            return _Spoilt(super().prepare(model, device, **options), spoil)

    assert outcome(name).verdict is Verdict.RIGHT
    with pytest.raises(AssertionError):
        runner_tests(SpoiltBackend)(f"{name}_cpu").debug()
