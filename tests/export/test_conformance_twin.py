"""ONNX's conformance cases on both devices; `make twin` tries all of them in every mode.

The verdict on a case is `tests/conformance`'s; here every run of the simulator is repeated in
onnxruntime, in both forms of the exported model, and must agree.
"""

from __future__ import annotations

import os

import pytest

from tests.conformance.cases import MODES, SUITE, Verdict, cases, outcome_of
from tests.conformance.node_cases import listed_cases, node_outcome
from tests.export.twin import REFUSED, twinned
from tests.sampling import WHOLE

SHARE = 12
"""One case in so many is tried always, in one of the modes."""

NO_FORM = {"Multinomial", "RandomStandardNormal", "RandomUniform", "Resize"}
"""Operators of ONNX's cases that have no ONNX form in all or some of them."""


@pytest.mark.skipif(not SUITE.exists(), reason="the conformance cases are not there")
@pytest.mark.parametrize("mode", MODES)
def test_stored_cases_agree_on_both_devices(mode: str) -> None:
    share = 1 if WHOLE in os.environ else 2 * SHARE
    with twinned():
        for case in cases()[MODES.index(mode) :: share]:
            assert outcome_of(case, mode).verdict is not Verdict.WRONG, case.name
    assert REFUSED.keys() <= NO_FORM


@pytest.mark.parametrize("operator_list", ["base", "cann-9.0"])
def test_node_cases_agree_on_both_devices(operator_list: str) -> None:
    whole = WHOLE in os.environ
    with twinned():
        for number, names in enumerate(listed_cases(operator_list).values()):
            modes = MODES if whole else [MODES[number % len(MODES)]]
            chosen = names if whole else names[number % SHARE :: SHARE]
            for mode in modes:
                for name in chosen:
                    found = node_outcome.__wrapped__(name, mode, operator_list)
                    assert found.verdict is not Verdict.WRONG, name
    assert REFUSED.keys() <= NO_FORM
