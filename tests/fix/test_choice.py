"""The engine's choice among forms, and the bounds of what rules write."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import atc_py
from atc_py.diag import AtcError
from atc_py.diag.codes import FIX_NOT_SETTLED
from atc_py.fix import fixed
from atc_py.fix.context import RuleContext
from atc_py.fix.rule import Exactness, FixRule, load_rules
from tests.fix.draws import all_draws

Apply = Callable[[RuleContext], Sequence[str]]

pytestmark = pytest.mark.usefixtures("base_list")


@pytest.fixture
def add_rule(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, Apply], None]:
    """Return a function that registers a rule for one test."""

    def add(name: str, operator: str, apply: Apply) -> None:
        words = load_rules()["window-1d"].words
        case = all_draws()["window-1d"](np.random.default_rng(0))
        rule = FixRule(name, frozenset({operator}), Exactness.EQUAL, words, case, None, (), apply)
        monkeypatch.setitem(load_rules(), name, rule)

    return add


def model_of(operator: str, path: Path, *dims: int, **attributes: Any) -> Path:
    """Write a model with one node of an operator that the list does not have."""
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)]
    one = helper.make_node(operator, ["x"], ["y"], "node", **attributes)
    graph = helper.make_graph([one], "m", inputs, [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.save(onnx.shape_inference.infer_shapes(model), path / "m.onnx")
    return path / "m.onnx"


def repeated(ctx: RuleContext) -> Sequence[str]:
    """Write |x| in three launches, whose work grows with the square of the width."""
    size = ctx.shape(0)[-1]
    wide = ctx.op("Tile", ctx.name(0), ctx.const([1, size]))
    return [ctx.slice(ctx.op("Abs", wide), 1, 0, size)]


def row_by_row(ctx: RuleContext) -> Sequence[str]:
    """Write |x| in four parts, which takes nine launches."""
    size = ctx.shape(0)[-1] // 4
    parts = [ctx.slice(ctx.name(0), 1, at * size, (at + 1) * size) for at in range(4)]
    return [ctx.op("Concat", *(ctx.op("Abs", each) for each in parts), axis=1)]


@pytest.mark.parametrize(("width", "wanted"), [(16, "a-repeated"), (32768, "b-parts")])
def test_the_cheaper_form_depends_on_dims(
    width: int, wanted: str, tmp_path: Path, add_rule: Callable[[str, str, Apply], None]
) -> None:
    add_rule("a-repeated", "Mish", repeated)
    add_rule("b-parts", "Mish", row_by_row)
    done = atc_py.fix_model(model_of("Mish", tmp_path, 4, width), dry_run=True, seeds=0)
    assert [each.rules for each in done.rewrites] == [(wanted,)]


def test_another_form_is_tried_where_the_first_is_refused(
    tmp_path: Path, add_rule: Callable[[str, str, Apply], None]
) -> None:
    def short(ctx: RuleContext) -> Sequence[str]:
        return [ctx.op("RandomNormalLike", ctx.name(0))]

    add_rule("a-short", "Mish", short)
    add_rule("b-parts", "Mish", row_by_row)
    done = atc_py.fix_model(model_of("Mish", tmp_path, 4, 16), dry_run=True, seeds=0)
    assert [each.rules for each in done.rewrites] == [("b-parts",)]
    assert not done.left


def undo(other: str) -> Apply:
    """Return a rule that writes another operator that the list does not have."""
    return lambda ctx: [ctx.op(other, ctx.name(0))]


def test_rules_that_undo_each_other_end_and_nothing_is_written(
    tmp_path: Path, add_rule: Callable[[str, str, Apply], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(load_rules(), "function-body")
    add_rule("there", "Mish", undo("HardSwish"))
    add_rule("back", "HardSwish", undo("Mish"))
    model = model_of("Mish", tmp_path, 4, 16)
    for act in (
        lambda: atc_py.fix_model(model),
        lambda: atc_py.convert(model, tmp_path / "m.om", fix={}),
    ):
        with pytest.raises(AtcError) as caught:
            act()
        assert [each.code.id for each in caught.value.diagnostics] == [FIX_NOT_SETTLED.id]
        assert "there" in str(caught.value)
    assert [*tmp_path.iterdir()] == [model]


@pytest.mark.parametrize("most", [fixed.MOST_NEW_NODES, 100])
def test_a_rule_that_doubles_the_model_is_stopped_early(
    most: int,
    tmp_path: Path,
    add_rule: Callable[[str, str, Apply], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = 0

    def double(ctx: RuleContext) -> Sequence[str]:
        nonlocal written
        written += 1
        return [ctx.op("Add", *(ctx.op("Mish", ctx.name(0)) for _ in range(2)))]

    monkeypatch.setattr(fixed, "MOST_NEW_NODES", most)
    add_rule("double", "Mish", double)
    with pytest.raises(AtcError, match="double"):
        atc_py.fix_model(model_of("Mish", tmp_path, 4, 16))
    assert written <= min(2 * most, 2**10)
