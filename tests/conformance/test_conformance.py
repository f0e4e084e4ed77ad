"""ONNX's conformance cases: none is wrong, none crashes, and the page says what becomes of them."""

import numpy as np
import pytest

from tests.conformance.cases import MODES, SUITE, Verdict, agrees
from tests.conformance.page import (
    PAGE,
    hidden_outcomes,
    hidden_section,
    outcomes,
    section,
)

OF_CASES = 8
"""One case in so many is tried always: each mode has others."""

OF_HIDDEN = 20
"""One case in so many is tried always with hidden shapes."""

SETTLED = {Verdict.RIGHT, Verdict.REFUSED}


@pytest.mark.skipif(not SUITE.exists(), reason="the conformance cases are not there")
@pytest.mark.parametrize("mode", MODES)
def test_one_in_eight_cases_is_right_or_refused_by_the_list(mode: str) -> None:
    found = outcomes(mode, first=MODES.index(mode), share=OF_CASES)
    assert len(found) >= 698 // OF_CASES
    assert {name: o.reasons for name, o in found.items() if o.verdict not in SETTLED} == {}


@pytest.mark.sweep
@pytest.mark.skipif(not SUITE.exists(), reason="the conformance cases are not there")
@pytest.mark.parametrize("mode", MODES)
def test_every_case_is_right_or_refused_by_the_list_and_the_page_is_current(mode: str) -> None:
    found = outcomes(mode)
    assert len(found) >= 698
    assert {name: o.reasons for name, o in found.items() if o.verdict not in SETTLED} == {}
    assert section(mode, found) in PAGE.read_text(encoding="utf-8"), "run `make conformance`"


@pytest.mark.skipif(not SUITE.exists(), reason="the conformance cases are not there")
def test_one_in_twenty_cases_with_hidden_shapes_is_right_or_refused() -> None:
    found = hidden_outcomes(outcomes(MODES[0], share=OF_HIDDEN))
    assert len(found) >= 15
    assert {name: o.reasons for name, o in found.items() if o.verdict is Verdict.WRONG} == {}


@pytest.mark.sweep
@pytest.mark.skipif(not SUITE.exists(), reason="the conformance cases are not there")
def test_cases_with_hidden_shapes_are_right_or_refused_and_the_page_is_current() -> None:
    found = hidden_outcomes(outcomes(MODES[0]))
    assert {name: o.reasons for name, o in found.items() if o.verdict is Verdict.WRONG} == {}
    assert hidden_section(found) in PAGE.read_text(encoding="utf-8"), "run `make conformance`"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_two_percent_off_does_not_agree(dtype: type[np.floating]) -> None:
    expected = np.linspace(-3, 3, 50).astype(dtype)
    assert agrees(expected, expected, narrow=False)
    for narrow in (False, True):
        assert not agrees((expected * dtype(1.02)).astype(dtype), expected, narrow=narrow)
        assert not agrees((expected + dtype(0.06)).astype(dtype), expected, narrow=narrow)
    assert not agrees(expected.astype(np.float16), expected, narrow=True)
    assert not agrees(expected[:-1], expected, narrow=True)


def test_integers_agree_to_the_bit_and_infinities_by_sign() -> None:
    numbers = np.array([1, 2, 3], np.int32)
    assert agrees(numbers, numbers.copy(), narrow=True)
    assert not agrees(numbers + np.int32(1), numbers, narrow=True)
    odd = np.array([np.inf, -np.inf, np.nan, 1.0], np.float32)
    assert agrees(odd, odd.copy(), narrow=False)
    for position, value in ((0, -np.inf), (2, 0.0), (3, np.nan)):
        other = odd.copy()
        other[position] = value
        assert not agrees(other, odd, narrow=True)
