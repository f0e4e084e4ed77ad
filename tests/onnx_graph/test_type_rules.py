"""The registry of type rules: found by operator, about operators that exist, and easy to add to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from onnx.defs import has

from atc_py.diag.codes import BAD_MODEL, BAD_NODE
from atc_py.onnx_graph.graph import ValueType
from atc_py.onnx_graph.source import SourceTensor
from atc_py.onnx_graph.typing import infer, inference_model, rules
from atc_py.onnx_graph.typing.type_rules import (
    RULES,
    Contradiction,
    Negative,
    Override,
    Question,
    Refinement,
    Shown,
    TypeRule,
    Verdict,
    Withheld,
    type_rule,
)
from atc_py.tensor.dtypes import DType
from atc_py.text import Text
from tests.onnx_graph.onnx_files import FLOAT, Ports, fails, model, source, without_rules
from tests.spec.every_list import each_spec

RULED = sorted({operator for operator, _ in RULES.all()})
X: Ports = {"x": (FLOAT, [2, 3])}


def named(rule: TypeRule) -> str:
    """Return the module and the name of a rule's function."""
    return f"{rule.judge.__module__.removeprefix(rules.__name__ + '.')}.{rule.judge.__name__}"


@pytest.mark.parametrize(
    ("operator", "found"),
    [
        (
            "Expand",
            ["_expand_to_any_rank", "_to_negative_dims", "_by_count"],
        ),
        ("Resize", ["_to_open_sizes", "_by_scales"]),
        ("LSTM", ["_recurrent"]),
        ("Relu", []),
    ],
)
def test_all_rules_of_an_operator_are_found_by_its_name(operator: str, found: list[str]) -> None:
    assert [rule.judge.__name__ for rule in RULES.named(operator).values()] == found


@pytest.mark.parametrize("operator", RULED)
def test_rules_are_about_operators_that_exist(operator: str) -> None:
    if operator == "Attention" and onnx.defs.onnx_opset_version() < 23:
        pytest.skip("the installed onnx is too old")
    custom = {rule.custom for rule in RULES.named(operator).values()}
    assert len(custom) == 1
    own = {spec.op for spec in each_spec()}
    own |= {row.name for spec in each_spec() for row in spec.registered if row.name}
    assert operator in own if custom == {True} else has(operator)


@pytest.mark.parametrize("operator", RULED)
def test_rules_of_an_operator_are_in_one_module(operator: str) -> None:
    """Check it, but for layers on int8, whose rules are about the dtype and nothing else."""
    modules = {named(rule).partition(".")[0] for rule in RULES.named(operator).values()}
    assert len(modules - {"quantized"}) <= 1


# One function suffices ---------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _no_trace() -> Iterator[None]:
    """Take out again what a test registers for Sin, which has no rules of its own."""
    with without_rules("Sin"):
        yield


@pytest.fixture(params=["whole", "alone"])
def asked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Infer graphs as a whole, or node by node, as past the bound of runs."""
    if request.param == "alone":
        monkeypatch.setattr("atc_py.onnx_graph.graph._FEWEST_RUNS", 0)
        monkeypatch.setattr("atc_py.onnx_graph.graph.VISITS", -1)
    return str(request.param)


def sine(folder: Path) -> list[SourceTensor]:
    """Return the results of Sin and of the Relu after it."""
    nodes = [helper.make_node("Sin", ["x"], ["s"]), helper.make_node("Relu", ["s"], ["y"])]
    found = source(model(nodes, X, ["y"]), folder)
    return [each for node in found.nodes for each in node.outputs if each is not None]


@pytest.mark.parametrize("kind", [Override, Refinement])
@pytest.mark.usefixtures("asked")
def test_rule_that_returns_types_takes_one_function(
    kind: Callable[[dict[str, ValueType]], Verdict], tmp_path: Path
) -> None:
    assert [each.dims for each in sine(tmp_path)] == [(2, 3), (2, 3)]

    @type_rule("Sin")
    def _transposed(asked: Question) -> Verdict | None:
        x = asked.type(0)
        turned = None if x is None or x.dims is None else ValueType(x.element, x.dims[::-1])
        return turned and kind(asked.outputs(turned))

    assert [each.dims for each in sine(tmp_path)] == [(3, 2), (3, 2)]


def test_rule_concerns_the_nodes_that_it_names(tmp_path: Path) -> None:
    @type_rule("Sin", when=lambda asked: "turned" in asked.node.plain_attributes)
    def _scalar(asked: Question) -> Override:
        return Override(asked.outputs(ValueType(FLOAT, ())))

    assert [each.dims for each in sine(tmp_path)] == [(2, 3), (2, 3)]


def test_rule_that_shows_another_node_takes_one_function(tmp_path: Path) -> None:
    @type_rule("Sin", before=True)
    def _turned(asked: Question) -> Shown:
        return Shown(
            (helper.make_node("Transpose", asked.node.input_names, asked.node.output_names),)
        )

    assert [each.dims for each in sine(tmp_path)] == [(3, 2), (3, 2)]


@pytest.mark.parametrize("asked", ["alone"], indirect=True)
@pytest.mark.usefixtures("asked")
def test_rule_may_show_other_dtypes_about_a_node_alone(tmp_path: Path) -> None:
    @type_rule("Sin", before=True)
    def _halved(asked: Question) -> Shown:
        reads, gives = TensorProto.DOUBLE, TensorProto.FLOAT16
        return Shown((asked.node.proto,), reads=reads, gives=gives)

    assert [each.dtype for each in sine(tmp_path)] == [DType.FLOAT16, DType.FLOAT16]


def test_rule_that_withholds_takes_one_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    original = inference_model.infer_shapes

    def noted(data: bytes, **options: bool) -> onnx.ModelProto:
        proto = onnx.ModelProto.FromString(data)
        seen.append([node.op_type for node in proto.graph.node])
        inferred: onnx.ModelProto = original(data, **options)
        return inferred

    @type_rule("Sin", before=True)
    def _unknown(asked: Question) -> Withheld | None:
        return None if asked.is_closed(0) else Withheld()

    monkeypatch.setattr(infer, "infer_shapes", noted)
    assert [each.dims for each in sine(tmp_path)] == [(2, 3), (2, 3)]
    assert seen == [["Relu"], ["Sin", "Relu"]]


@pytest.mark.usefixtures("asked")
def test_rule_that_contradicts_takes_one_function(tmp_path: Path) -> None:
    @type_rule("Sin")
    def _never(_asked: Question) -> Contradiction:
        return Contradiction(Text("nobody knows sines"))

    assert "nobody knows sines" in str(fails(lambda: sine(tmp_path), BAD_MODEL))


def test_rule_that_finds_negative_dims_takes_one_function(tmp_path: Path) -> None:
    @type_rule("Sin", before=True)
    def _never(_asked: Question) -> Negative:
        return Negative((2, -3))

    assert "would have the dims [2, -3]" in str(fails(lambda: sine(tmp_path), BAD_NODE))


@pytest.mark.parametrize(
    ("before", "verdict"),
    [
        (True, Refinement({})),
        (True, Contradiction(Text("no"))),
        (False, Withheld()),
        (False, Shown(())),
    ],
)
def test_verdict_that_would_not_count_is_refused(
    before: bool, verdict: Verdict, tmp_path: Path
) -> None:
    @type_rule("Sin", before=before)
    def _late(_asked: Question) -> Verdict:
        return verdict

    with pytest.raises(AssertionError, match=r"_late: a rule does not return"):
        sine(tmp_path)


def test_modules_of_rules_register_themselves() -> None:
    modules = {named(rule).partition(".")[0] for rule in RULES.all().values()}
    assert modules == {"quantized", "shaping", "windows"}
