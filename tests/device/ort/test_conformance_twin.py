"""ONNX's conformance cases on both devices: what the simulator gives, onnxruntime must give."""

import os
from collections.abc import Callable, Iterator, Sequence

import pytest

from atc_py.spec.lists import operator_lists
from tests.conformance.cases import MODES, SUITE, cases, outcome_of
from tests.conformance.node_cases import listed_cases, node_outcome
from tests.device.ort.twin import REFUSED, twinned
from tests.sampling import WHOLE, sampled

SHARE = 40
"""One stored case in so many is tried always, in one of the modes."""

OF_NODES = 160
"""One node case in so many."""

WITHOUT_FORM = {
    "Multinomial": "draws random numbers",
    "RandomStandardNormal": "draws random numbers",
    "RandomUniform": "draws random numbers",
    "Resize": "input 'roi' is computed at run time",
}
"""Reasons for which cases have no ONNX form, by operator."""


@pytest.fixture(autouse=True)
def _both_devices() -> Iterator[None]:
    """Repeat each simulated run in onnxruntime; what has no ONNX form must be known."""
    before = {op: set(reasons) for op, reasons in REFUSED.items()}
    REFUSED.clear()
    with twinned():
        yield
    found = dict(REFUSED)
    REFUSED.update(before)
    unknown = {
        op: reason
        for op, reasons in found.items()
        for reason in reasons
        if WITHOUT_FORM.get(op, reason + "!") not in reason
    }
    assert unknown == {}


def chosen(names: Sequence[str], mode: str, share: int = SHARE) -> Sequence[str]:
    """Return the cases that are tried in a mode: all, or some, of which each mode has others."""
    if WHOLE in os.environ:
        return names
    return names[MODES.index(mode) * share // len(MODES) :: share]


def failing(names: Sequence[str], run: Callable[[str], object]) -> dict[str, str]:
    """Return the cases in which the devices differ, or one of them fails."""
    outcomes = {name: reason_of(run, name) for name in names}
    return {name: reason for name, reason in outcomes.items() if reason}


def reason_of(run: Callable[[str], object], name: str) -> str:
    """Return why a case fails, whatever it raised; an empty text where it does not."""
    try:
        run(name)
    except Exception as error:  # noqa: BLE001  (each case is reported)
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.skipif(not SUITE.exists(), reason="the conformance cases are not there")
@pytest.mark.parametrize("mode", MODES)
def test_stored_cases_are_the_same_on_both_devices(mode: str) -> None:
    folders = {f"{case.parent.name}/{case.name}": case for case in cases()}
    names = chosen([*folders], mode)
    assert len(names) >= len(folders) // SHARE
    assert failing(names, lambda name: outcome_of(folders[name], mode)) == {}


LISTS = [each.name for each in operator_lists()]


@pytest.mark.parametrize(
    ("operator_list", "mode"),
    sampled(
        [(LISTS[-1], MODES[0])],
        [(each, mode) for each in LISTS for mode in MODES if (each, mode) != (LISTS[-1], MODES[0])],
    ),
)
def test_node_cases_are_the_same_on_both_devices(operator_list: str, mode: str) -> None:
    names = [name for found in listed_cases(operator_list).values() for name in found]
    run = node_outcome.__wrapped__
    assert failing(chosen(names, mode, OF_NODES), lambda name: run(name, mode, operator_list)) == {}
