"""Implementation modes: which nodes get which, and what is said of those that change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from atc_py.diag.codes import NO_SUCH_IMPLEMENTATION
from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import PassContext
from atc_py.passes.precision.assign_precision import AssignPrecisionPass
from atc_py.passes.precision.controls import Controls
from atc_py.passes.precision.implementations import IMPLEMENTATIONS
from atc_py.target import find_soc, operators
from atc_py.target.rows.parts import IMPL_MODE

if TYPE_CHECKING:
    from collections.abc import Mapping

NET = """
graph @g phase lowered {
  input %x : float32[2,2] ND
  %a = Sigmoid(%x) : float32[2,2] ND from [0 "first" Sigmoid]
  %b = Sigmoid(%a) : float32[2,2] ND from [1 "second" Sigmoid]
  %c = Relu(%b) : float32[2,2] ND from [2 "relu" Relu]
  %d = MatMulV2(%c, %c) : float32[2,2] ND from [3 "product" MatMul]
  output %d
}
"""
TWO = {"Sigmoid", "Softplus", "Softsign", "SoftmaxV2", "LogSoftmaxV2"}


def compiled(
    types: Mapping[str, str], nodes: Mapping[str, str] | None = None, mode: str = "force_fp16"
) -> tuple[dict[str, object], PassContext]:
    """Return the implementations of NET's nodes by their names, None where none is set."""
    controls = Controls(implementation_types=types, implementation_nodes=nodes or {})
    graph = parse_graph(NET)
    context = PassContext(find_soc("sim"), PrecisionMode(mode), "model.onnx", controls=controls)
    AssignPrecisionPass().run(graph, context)
    made = {n.origins[0].name: n for n in graph.nodes if n.op != "Cast" and n.origins}
    return {name: node.attributes.get("impl_mode") for name, node in made.items()}, context


def said(context: PassContext) -> list[str]:
    """Return the warnings on implementations."""
    assert {each.code for each in context.sink.diagnostics} <= {NO_SUCH_IMPLEMENTATION}
    return [each.message for each in context.sink.diagnostics]


@pytest.mark.parametrize(
    ("mode", "implementation"),
    [
        ("high_precision", "high_precision"),
        ("high_performance", "high_performance"),
        ("super_performance", "high_performance"),
        ("keep_fp16", "high_performance"),
    ],
)
def test_mode_chooses_an_implementation(mode: str, implementation: str) -> None:
    found, context = compiled({"Sigmoid": mode})
    assert found["first"] == found["second"] == implementation
    assert found["relu"] is None
    assert said(context) == []
    rules = [each.rule for each in context.decisions.nodes.values()]
    assert sum(rule.endswith(f"op-precision-mode: {implementation}") for rule in rules) == 2


def test_nodes_own_mode_comes_before_its_operators() -> None:
    found, _ = compiled({"Sigmoid": "high_performance"}, {"second": "high_precision"})
    assert (found["first"], found["second"]) == ("high_performance", "high_precision")


def test_nobody_asks_and_nothing_is_set() -> None:
    found, context = compiled({})
    assert set(found.values()) == {None}
    assert said(context) == []


def test_float32_has_one_implementation() -> None:
    found, context = compiled({"Sigmoid": "high_performance"}, mode="must_keep_origin_dtype")
    assert set(found.values()) == {None}
    (message,) = said(context)
    assert "it computes float32 on aicore; 2 nodes" in message
    assert context.sink.diagnostics[0].place is not None
    assert context.sink.diagnostics[0].place.node_name == "first"


def test_operator_with_one_implementation_is_named() -> None:
    found, context = compiled({"Relu": "high_precision"})
    assert set(found.values()) == {None}
    assert said(context) == ["high_precision changes nothing for Relu: it has one implementation"]


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("enable_float_32_execution", "multiplied as float32 here"),
        ("enable_hi_float_32_execution", "not simulated"),
        ("support_out_of_bound_index", "always checked"),
    ],
)
def test_mode_about_something_else_says_why_it_changes_nothing(mode: str, reason: str) -> None:
    found, context = compiled({"MatMulV2": mode, "Sigmoid": mode})
    assert set(found.values()) == {None}
    assert len(said(context)) == 2
    assert all(reason in message for message in said(context))


def test_operators_with_two_implementations_are_those_with_the_attribute() -> None:
    assert {row.name for row in operators() if row.attribute("impl_mode") is IMPL_MODE} == TWO


def test_modes_are_those_of_atc() -> None:
    assert set(IMPLEMENTATIONS) == {
        "high_precision",
        "high_performance",
        "super_performance",
        "enable_float_32_execution",
        "enable_hi_float_32_execution",
        "support_out_of_bound_index",
        "keep_fp16",
    }
