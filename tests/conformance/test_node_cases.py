"""ONNX's node cases by each operator list: right, refused by a rule, or of an operator to come."""

import os
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import onnx
import pytest

import atc_py
from atc_py.lowering.lower import can_lower
from atc_py.options.compile_options import ANY_LIST
from atc_py.spec.library import library
from atc_py.spec.lists import operator_lists
from tests.conformance.cases import MODES, Outcome, Verdict
from tests.conformance.node_cases import (
    listed_cases,
    node_cases,
    node_outcome,
    nodes_of,
    with_constants,
)
from tests.conformance.page import PAGE, WAYS, list_sections
from tests.sampling import WHOLE, sampled

Array = npt.NDArray[np.generic]

LISTS = [each.name for each in operator_lists()]
SHARE = 20
"""One case in so many is tried always, in one of the modes."""


def unsettled(name: str, mode: str, operator_list: str) -> Outcome | None:
    """Return the outcome of a case that is wrong, or does not compile though its operators do."""
    found = node_outcome(name, mode, operator_list)
    model = node_cases()[name].model
    assert model is not None
    specs = library(operator_list)
    operators = {node.op_type for node in nodes_of(model.graph)}
    to_come = {
        spec.op
        for spec in specs.all()
        if spec.op in operators and not can_lower(spec.op, "", specs)
    }
    settled = {Verdict.RIGHT, Verdict.REFUSED, *([Verdict.NOT_YET] if to_come else [])}
    return None if found.verdict in settled else found


# Of the base list, the restamped cases are tried in every run (test_onnx_backend_runner.py).
@pytest.mark.parametrize("operator_list", sampled([ANY_LIST], LISTS))
def test_node_cases_are_right_or_refused_by_a_rule(operator_list: str) -> None:
    found: dict[str, Outcome] = {}
    for number, names in enumerate(listed_cases(operator_list).values()):
        modes = MODES if WHOLE in os.environ else [MODES[number % len(MODES)]]
        share = 1 if WHOLE in os.environ else SHARE
        for mode in modes:
            tried = {name: unsettled(name, mode, operator_list) for name in names[::share]}
            found |= {f"{name} {mode}": each for name, each in tried.items() if each}
    assert found == {}


@pytest.mark.sweep
@pytest.mark.parametrize("operator_list", WAYS)
def test_page_has_the_outcomes_of_node_cases(operator_list: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    if f"onnx {onnx.__version__}" not in text:
        pytest.skip("the page was made with another onnx")
    for part in list_sections(operator_list):
        assert part in text, "run `make conformance`"


def test_new_list_has_cases_that_base_has_not() -> None:
    base, newest = (
        {name for names in listed_cases(each).values() for name in names}
        for each in (LISTS[0], LISTS[-1])
    )
    assert len(base) > 800
    assert not {name for name in newest if "bernoulli" in name}
    assert newest > base


# Constants --------------------------------------------------------------------------------------


def test_case_that_needs_a_constant_is_tried_with_one() -> None:
    name = "test_expand_dim_changed"
    case = node_cases()[name]
    assert case.model is not None
    sets = [tuple(map(list, arrays)) for arrays in case.data_sets or ()]
    found = with_constants(case.model, sets)
    assert found is not None
    model, ((inputs, _),) = found
    assert [value.name for value in model.graph.input] == ["data"]
    assert [tensor.name for tensor in model.graph.initializer] == ["new_shape"]
    assert len(inputs) == 1
    assert node_outcome(name, MODES[0], LISTS[0]) == Outcome(Verdict.RIGHT)


def test_wrong_output_of_a_constant_form_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    run = atc_py.Model.run

    def scaled(model: atc_py.Model, feeds: Mapping[str, Array]) -> dict[str, Array]:
        return {name: array * array.dtype.type(1.02) for name, array in run(model, feeds).items()}

    monkeypatch.setattr(atc_py.Model, "run", scaled)
    found = node_outcome.__wrapped__("test_expand_dim_changed", MODES[0], LISTS[0])
    assert found.verdict is Verdict.WRONG
