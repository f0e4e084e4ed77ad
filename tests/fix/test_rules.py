"""Every rule: its example is fixed and proved, its near miss is left, its boundaries are fixed, too."""

import ast
import inspect
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import atc_py
from atc_py.diag import AtcError
from atc_py.diag.codes import REFERENCE_FAILED
from atc_py.fix.case import CaseGraph, CaseNode, Fed, RuleCase
from atc_py.fix.context import RuleContext
from atc_py.fix.rule import Exactness, FixRule, Purpose, load_rules
from atc_py.fix.rule import rule as declare
from atc_py.onnx_graph.reading.parser_breaks import broken_rules
from atc_py.onnx_graph.reading.read import read_model
from atc_py.results.fixing import Fixing
from atc_py.system.register import place_of
from atc_py.tensor.dtypes import DType
from tests import sampling
from tests.failures import in_one_item
from tests.fix.cases import write_case

RULES = tuple(load_rules().values())

FEW = 5
"""Operators of rules of one form; rules of more are for operators that share no inputs."""

SIMULATED = 4
"""Of the examples, one in so many is always proved on the device too, by as many runs as a user's."""

FIX = "atc_py.fix."
REQUIRING = {"require", "skip_unless"}
CLOSER = {
    "dynamic-lstm-as-lstm": ("dynamic-lstm-unroll",),
    "arg-max-of-reversed": ("integers-as-float32",),
    "max-pool-as-maxima": ("pool-long-row",),
}
"""Rules that are as close to a near miss of another one."""

UNLIKE = {"scatter-with-reduction"}
"""Rules of operators that give inputs of the same names another meaning."""


def fixed(rule: FixRule, case: RuleCase, path: Path, **options: Any) -> Fixing:
    """Fix a case of a rule; rules of other names may go on with what it writes."""
    try:
        return atc_py.fix_model(
            write_case(case, path / "case.onnx"),
            path / "fixed.onnx",
            approximate=rule.exactness is Exactness.APPROXIMATE,
            ranges=case.ranges,
            operator_list=case.operator_list,
            strict_list=True,
            for_cann=rule.purposes == {Purpose.CANN},
            cann=case.cann,
            **options,
        )
    except AtcError as error:
        why = f"{rule.name} ({place_of(rule.apply)}) does not prove a {case.op_type}: {error}"
        if REFERENCE_FAILED in {each.code for each in error.diagnostics}:
            why += (
                "\na rule is for operators that onnxruntime's CPU provider or onnx's evaluator runs"
            )
        pytest.fail(why, pytrace=False)


OF_CASES = {"no-inputs", "output-without-input", "element-type"}
"""Rules of CANN's parser that cases themselves break, and no rule of a node changes."""


def require_listed(rule: FixRule, done: Fixing) -> None:
    """Check that nothing of a case is refused any more."""
    __tracebackhide__ = True
    # Cases without inputs have none for CANN's parser either, which no rule of a node changes.
    left = [each for each in done.left if each.node is not None or done.rewrites == ()]
    if done.errors[1] or left:
        said = f"{done.errors[1]} errors; left: {done.left}"
        pytest.fail(f"{place_of(rule.apply)} writes a form that is refused: {said}", pytrace=False)
    if done.output is not None:
        broken = {each.rule for each in broken_rules(read_model(done.output, lenient=True))}
        assert broken <= OF_CASES, f"CANN's parser refuses what {place_of(rule.apply)} writes"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_examples_are_fixed_and_near_misses_are_not(rule: FixRule, tmp_path: Path) -> None:
    """The example becomes a listed form that computes the same; the near miss is not touched."""
    proof = {} if sampling.is_drawn(rule.name, SIMULATED) else {"seeds": 1, "simulate": False}
    done = fixed(rule, rule.example, tmp_path, **proof)
    refused = Purpose.LISTS in rule.purposes
    said = "is refused by" if refused else "stands in"
    assert (done.errors[0] > 0) is refused, f"give an example that {said} the list"
    require_listed(rule, done)
    used = ", ".join(done.rewrites[0].rules)
    assert rule.name in done.rewrites[0].rules, f"the example is rewritten by {used} instead"
    # Where nothing is left of a region, its results are outputs of others.
    assert done.rewrites[0].difference is not None or not done.rewrites[0].after
    assert done.outputs
    if rule.near_miss is None:
        return
    # In float32, which that rule would make of float64, many a near miss is none.
    others = {"double-as-float32"} - {rule.name}
    missed = fixed(
        rule,
        rule.near_miss,
        tmp_path,
        seeds=int(rule.measured),
        simulate=False,
        skip=sorted(others),
    )
    assert all(rule.name not in rewrite.rules for rewrite in missed.rewrites)
    for left in missed.left:
        unfit = [name for name, _ in left.unfit]
        closest = {rule.name, *CLOSER.get(rule.name, ())}
        assert rule.name not in unfit or unfit[0] in closest


def is_taken(operator: str, case: RuleCase) -> bool:
    """Return True if ONNX gives an operator as many inputs and outputs, and those attributes."""
    if case.domain or not onnx.defs.has(operator):
        return False
    schema = onnx.defs.get_schema(operator, case.opset)
    return (
        not schema.deprecated
        and schema.min_input <= len(case.inputs) <= schema.max_input
        and case.outputs <= schema.max_output
        and set(case.attributes) <= set(schema.attributes)
    )


def boundary_cases() -> Iterator[tuple[str, RuleCase]]:
    """Each boundary case; the whole sweep has it on every operator of its rule that takes it."""
    for rule in RULES:
        for case in rule.boundary:
            yield rule.name, case
            others = (name for name in sorted(rule.operators) if name != case.op_type)
            if len(rule.operators) <= FEW and rule.name not in UNLIKE:
                taken = (name for name in others if is_taken(name, case))
                more = [(rule.name, replace(case, op_type=name)) for name in taken]
                yield from more if sampling.WHOLE in os.environ else ()


@in_one_item(("name", "case"), [*boundary_cases()])
def test_boundaries_are_fixed(name: str, case: RuleCase, tmp_path: Path) -> None:
    """A case at the end of what the rule requires becomes a listed form that computes the same.

    Another of its operators may be listed in that form, or have a cheaper rule.
    """
    rule = load_rules()[name]
    done = fixed(rule, case, tmp_path, seeds=1, simulate=False)
    require_listed(rule, done)
    used = [step for rewrite in done.rewrites[:1] for step in rewrite.rules]
    assert case not in rule.boundary or name in used, f"{used or 'no rule'} rewrites it"


def with_square(scan: RuleCase) -> RuleCase:
    """A Scan of a layer one of whose gates has the square of the state besides."""
    body = scan.attributes["body"]
    first = next(place for place, made in enumerate(body.nodes) if made[0] == "Sigmoid")
    (gate,), (result,) = body.nodes[first][1:3]
    inner: tuple[CaseNode, ...] = (
        ("Mul", ("h", "h"), ("square",), {}),
        ("Add", (gate, "square"), ("sum",), {}),
        ("Sigmoid", ("sum",), (result,), {}),
    )
    nodes = (*body.nodes[:first], *inner, *body.nodes[first + 1 :])
    return replace(scan, attributes={**scan.attributes, "body": replace(body, nodes=nodes)})


def beside_small(rule: str, op_type: str) -> RuleCase:
    """The example of a rule for float16 with another operator before its last node."""
    example = load_rules()[rule].example
    assert example.before is not None
    *others, (_, inputs, outputs, attributes) = example.before.nodes
    last = (op_type, inputs, outputs, attributes)
    return replace(example, before=replace(example.before, nodes=(*others, last)))


BEYOND = (
    ("log-of-shifted", beside_small("log-of-shifted", "Sub")),
    ("log-of-shifted", RuleCase("Log", (Fed((3, 64)),))),
    ("loop-as-lstm", with_square(load_rules()["loop-as-lstm"].example)),
    (
        "where-as-gather",
        RuleCase("Where", (Fed((0,), DType.BOOL), *(Fed((1,), DType.UINT16),) * 2)),
    ),
    (
        "log-of-clipped",
        replace(
            load_rules()["log-of-clipped"].example,
            before=CaseGraph(
                {"x0": Fed((3, 64))},
                (),
                (
                    ("Constant", (), ("x1",), {"value": np.array(2.0**-14, np.float32)}),
                    ("Max", ("x0", "x1"), ("a",), {}),
                ),
            ),
        ),
    ),
)
"""Cases just beyond what a rule requires, besides its near miss."""


@in_one_item(("name", "case"), BEYOND)
def test_cases_beyond_a_requirement_are_left(name: str, case: RuleCase, tmp_path: Path) -> None:
    done = fixed(load_rules()[name], case, tmp_path, seeds=1, simulate=False)
    assert all(name not in rewrite.rules for rewrite in done.rewrites)


def test_codes_of_16_bits_are_exact_in_float16(tmp_path: Path) -> None:
    """Sums of them are not exact in float16: the target's results are off where they are taken in it."""
    rule = load_rules()["quantize-as-steps"]
    for case in rule.boundary:
        done = fixed(rule, case, tmp_path, precision_mode="force_fp16")
        assert done.target is not None
        assert done.target.outputs["y0"].error < 0.1


def is_bound(call: ast.AST) -> bool:
    """A requirement that compares sizes, numbers or opsets."""
    if not isinstance(call, ast.Call) or getattr(call.func, "id", "") not in REQUIRING:
        return False
    orders = (operator for node in ast.walk(call) for operator in getattr(node, "ops", ()))
    return any(isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for operator in orders)


@cache
def functions_of(module: str) -> dict[str, ast.FunctionDef]:
    page = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node for node in page.body if isinstance(node, ast.FunctionDef)}


@cache
def states_bounds(module: str, function: str) -> bool:
    """A rule, or what it calls on its page or in `fix/parts`, has such a requirement."""
    todo, seen = [(module, function)], set[tuple[str, str]]()
    while todo:
        place = todo.pop()
        seen.add(place)
        nodes = [*ast.walk(functions_of(place[0])[place[1]])]
        if any(map(is_bound, nodes)):
            return True
        names = (node.id for node in nodes if isinstance(node, ast.Name))
        values = (getattr(sys.modules[place[0]], name, None) for name in names)
        called = {
            (value.__module__, value.__name__)
            for value in values
            if inspect.isfunction(value) and value.__module__.startswith(FIX)
        }
        todo += called - seen
    return False


def test_rules_with_bounds_state_boundary_cases() -> None:
    places = {rule.name: (rule.apply.__module__, rule.apply.__name__) for rule in RULES}
    bounded = {name for name, place in places.items() if states_bounds(*place)}
    lacking = sorted(rule.name for rule in RULES if rule.name in bounded and not rule.boundary)
    assert not lacking, f"give these rules a `boundary=` at the end of what they require: {lacking}"
    assert len(bounded) >= 60


def test_two_rules_of_one_name_clash(monkeypatch: pytest.MonkeyPatch) -> None:
    known = load_rules()
    example = known["window-1d"].example

    def window_1d(_: RuleContext) -> str:
        return ""

    register = declare(Exactness.EQUAL, example)
    with pytest.raises(ValueError, match="two rules are called 'window-1d'"):
        register(window_1d)
    monkeypatch.delitem(known, "window-1d")
    assert register(window_1d) is window_1d
