"""One node of each kind tells of all: the rules named are those that fixing the whole model names."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import onnx
import pytest
from onnx import compose, helper

import atc_py
from atc_py.check.findings import Finding
from atc_py.diag import Place
from atc_py.fix import by_kind, engine
from atc_py.fix.by_kind import OneOfEachKind
from atc_py.fix.context import RuleContext
from atc_py.fix.rule import Purpose, load_rules
from atc_py.onnx_graph.folding import folded as fold_module
from atc_py.onnx_graph.graph import OnnxNode
from tests.bench.growing_models import SHAPES
from tests.check.bound_nodes import tensor
from tests.fix.cases import write_case
from tests.onnx_graph import onnx_files

DEVIATING = {name: each for name, each in load_rules().items() if Purpose.CANN in each.purposes}


def twice(path: Path) -> Path:
    """Write a model that has another one twice, side by side."""
    model = onnx.load(path)
    both = [compose.add_prefix(model, prefix) for prefix in ("a/", "b/")]
    first, second = (each.graph for each in both)
    for parts in ("node", "input", "output", "initializer"):
        getattr(first, parts).extend(getattr(second, parts))
    onnx.save(both[0], path)
    return path


def both_ways(
    path: Path, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> tuple[list[tuple[Finding, ...]], bool]:
    """Return the findings on a model by kind and as a whole, and whether one of a kind was enough."""
    found: list[OneOfEachKind | None] = []
    by = by_kind.fix_one_of_each_kind

    def noted(*args: Any) -> OneOfEachKind | None:
        found.append(by(*args))
        return found[-1]

    monkeypatch.setattr(by_kind, "fix_one_of_each_kind", noted)
    kinds = atc_py.check_models(path, **options).models[0]
    monkeypatch.setattr(by_kind, "fix_one_of_each_kind", lambda *_: None)
    whole = atc_py.check_models(path, **options).models[0]
    monkeypatch.setattr(by_kind, "fix_one_of_each_kind", by)
    return [kinds.findings, whole.findings], any(found)


@pytest.mark.parametrize("name", DEVIATING)
def test_rules_named_are_those_that_fix_the_whole_model(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = DEVIATING[name]
    for at, case in enumerate(filter(None, (rule.example, rule.near_miss))):
        path = twice(write_case(case, tmp_path / f"{at}.onnx"))
        (kinds, whole), _ = both_ways(path, monkeypatch, cann=case.cann)
        assert kinds == whole


def convolutions(path: Path, *attributes: dict[str, Any], opset: int = 13) -> Path:
    """Write convolutions of one input, side by side, each with its attributes."""
    nodes = [
        helper.make_node("Conv", ["x", f"w{at}"], [f"y{at}"], f"c{at}", **each)
        for at, each in enumerate(attributes)
    ]
    names = [f"y{at}" for at in range(len(nodes))]
    weights = {f"w{at}": np.ones((2, 2, 1, 1), np.float32) for at in range(len(nodes))}
    inputs = {"x": (onnx_files.FLOAT, [1, 2, 4, 4])}
    onnx.save(onnx_files.model(nodes, inputs, names, weights, {"": opset}), path)
    return path


def test_one_node_of_each_kind_is_fixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folded: list[int] = []

    def fold(graph: Any, *args: Any) -> object:
        folded.append(len(graph.nodes))
        return fold_module.fold_with_branches(graph, *args)

    monkeypatch.setattr(engine, "fold_with_branches", fold)
    path = tmp_path / "m.onnx"
    onnx.save(SHAPES["convolutions"](90), path)
    (found,) = atc_py.check_models(path).models
    assert folded == [5]  # five filters of as many values
    rules = [each.fixed_by for each in found.findings]
    assert rules == [("conv-attributes",)] * 30


def test_each_kind_has_rules_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = convolutions(tmp_path / "m.onnx", {}, {"strides": [1, 1]}, {"group": 1}, {})
    (kinds, whole), one_of_each = both_ways(path, monkeypatch)
    assert one_of_each
    assert kinds == whole
    assert [each.place.node for each in kinds if each.fixed_by] == [0, 2, 3]


def test_a_refused_node_makes_it_the_whole_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = convolutions(tmp_path / "m.onnx", {}, {"dilations": [256, 1]})
    (kinds, whole), one_of_each = both_ways(path, monkeypatch)
    assert not one_of_each
    assert kinds == whole


def test_a_node_that_takes_two_rules_makes_it_the_whole_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rounds that it took may come near their bound in the whole model."""
    case = DEVIATING["pool-after-pad"].boundary[0]
    path = twice(write_case(case, tmp_path / "m.onnx"))
    (kinds, whole), one_of_each = both_ways(path, monkeypatch, cann=case.cann)
    assert not one_of_each
    assert kinds == whole


@pytest.mark.parametrize("opset", [9, 17])
def test_restated_nodes_are_fixed_alike(
    opset: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = convolutions(tmp_path / "m.onnx", {}, {}, opset=opset)
    kinds, whole = both_ways(path, monkeypatch)[0]
    assert kinds == whole


def test_a_site_notes_that_a_rule_looks_around() -> None:
    node = OnnxNode(
        index=0,
        name="n",
        op_type="Relu",
        domain="",
        opset=13,
        inputs=(tensor(2),),
        outputs=(tensor(2),),
        proto=onnx.helper.make_node("Relu", ["x"], ["y"]),
        input_names=("x",),
        output_names=("y",),
        captured=(),
        origin=Place(),
    )
    asked: dict[str, Callable[[Any], object]] = {
        "tensor": lambda ctx: (ctx.tensor(0), ctx.shape(0), ctx.element, ctx.output(0)),
        "around": lambda ctx: ctx.around,
        "maker": lambda ctx: ctx.maker(ctx.tensor(0)),
        "range": lambda ctx: ctx.range(0),
        "result": lambda ctx: ctx.result_range(),
        "wrap": lambda ctx: ctx.may_wrap(),
    }
    seen = {}
    for name, ask in asked.items():
        ctx = RuleContext(node, 13, str, MagicMock())
        ask(ctx)
        seen[name] = ctx.looked_around
    assert seen == {name: name != "tensor" for name in asked}
