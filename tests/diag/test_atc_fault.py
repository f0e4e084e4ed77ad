"""ATC's own code of a fault travels with the diagnostic."""

import copy

from atc_py.diag import AtcFault
from atc_py.diag.codes import BAD_OPTION
from atc_py.text import Text


def test_code_of_atc_stays_with_the_error() -> None:
    error = BAD_OPTION.error(
        Text("bad"), atc=AtcFault("E10001", ("7", "--mode", "not in the list"))
    )
    (found,) = copy.copy(error).diagnostics
    assert found.as_json()["atc"] == {
        "code": "E10001",
        "arguments": ("7", "--mode", "not in the list"),
    }


def test_faults_unknown_to_atc_have_no_code() -> None:
    assert "atc" not in BAD_OPTION.diagnostic(Text("bad")).as_json()
