"""Node cases of operators that only rules of `fix` cover: none is wrong, and the page is current."""

import os

import onnx
import pytest

from atc_py.spec.lists import operator_lists
from tests.conformance.cases import MODES, Outcome, Verdict
from tests.conformance.fixed_cases import covered_cases, fixed_outcome
from tests.conformance.fixed_page import PAGE, fixed_section
from tests.sampling import WHOLE

LISTS = [each.name for each in operator_lists()]
SHARE = 36
"""Of one operator in eight, one case in so many is tried always, by one of the lists in one mode."""


@pytest.mark.parametrize("operator_list", LISTS)
def test_fixed_cases_are_right_or_refused(operator_list: str) -> None:
    found: dict[str, Outcome] = {}
    at = LISTS.index(operator_list)
    for number, names in enumerate(covered_cases().values()):
        if WHOLE not in os.environ and number % (8 * len(LISTS)) != 8 * at:
            continue
        tried = names if WHOLE in os.environ else names[::SHARE]
        modes = MODES if WHOLE in os.environ else [MODES[at % len(MODES)]]
        found |= {
            f"{n} {mode}": fixed_outcome(n, mode, operator_list) for n in tried for mode in modes
        }
    settled = {Verdict.RIGHT, Verdict.REFUSED}
    assert {name: each for name, each in found.items() if each.verdict not in settled} == {}
    assert sum(each.verdict is Verdict.RIGHT for each in found.values()) > len(found) // 2


@pytest.mark.sweep
@pytest.mark.parametrize("operator_list", LISTS)
def test_page_has_the_outcomes_of_fixed_cases(operator_list: str) -> None:
    if not PAGE.exists():
        pytest.skip("`make conformance` writes the page")
    text = PAGE.read_text(encoding="utf-8")
    if f"onnx {onnx.__version__}" not in text:
        pytest.skip("the page was made with another onnx")
    assert fixed_section(operator_list) in text, "run `make conformance`"
