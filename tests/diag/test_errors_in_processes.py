"""Errors that go from one process to another."""

import multiprocessing
import pickle

import pytest

from atc_py.check.findings import ModelCheck
from atc_py.check.findings_builder import RulesBrokenError
from atc_py.diag import AtcError, Place
from atc_py.diag.codes import BAD_MODEL, BAD_OPTION
from atc_py.text import Text

FIRST = BAD_MODEL.diagnostic(
    Text("the graph has no outputs"), place=Place("m.onnx", node=3), help=Text("h")
)
SECOND = BAD_OPTION.diagnostic(Text("no such thing"))


@pytest.mark.parametrize(
    "error",
    [
        AtcError(FIRST, SECOND),
        RulesBrokenError(ModelCheck("m.onnx", "g", {}, 0, 0, (), (FIRST, SECOND))),
    ],
    ids=lambda error: type(error).__name__,
)
def test_error_keeps_its_diagnostics(error: AtcError) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  (it is this test's own)
    assert isinstance(again, AtcError)
    assert again.diagnostics == (FIRST, SECOND)
    assert str(again) == str(error)
    assert again.exit_code is error.exit_code


def fail() -> None:
    raise AtcError(FIRST)


def test_error_of_a_worker_is_raised_in_its_pool() -> None:
    with (
        multiprocessing.get_context("spawn").Pool(1) as pool,
        pytest.raises(AtcError, match="the graph has no outputs"),
    ):
        pool.apply_async(fail).get(60)
