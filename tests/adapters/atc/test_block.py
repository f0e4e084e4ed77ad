"""atc's block of an error, its codes and texts."""

import re

from atc_py.adapters.atc.faults import TEXTS, fault_text
from atc_py.adapters.atc.run import error_block
from atc_py.diag import AtcError, AtcFault, Place
from atc_py.diag.codes import BAD_OPTION, UNKNOWN_OPERATOR
from atc_py.text import Text
from tests.failures import in_one_item

ARGUMENTS = {
    "E10001": 3, "E10002": 3, "E10003": 3, "E10004": 1, "E10005": 2, "E10006": 2, "E10007": 2,
    "E10008": 0, "E10009": 0, "E10011": 2, "E10012": 0, "E10013": 2, "E10014": 2, "E10016": 2,
    "E10017": 2, "E10018": 2, "E10019": 0, "E10020": 1, "E10021": 2, "E10022": 2, "E10023": 1,
    "E10024": 1, "E10025": 2, "E10026": 0, "E10027": 4, "E10029": 1, "E10030": 2, "E10031": 0,
    "E10032": 1, "E10034": 1, "E10035": 2, "E10036": 2, "E10037": 2, "E10038": 1, "E10039": 0,
    "E10040": 0, "E10041": 1, "E10045": 2, "E10046": 2, "E10047": 2, "E10048": 3, "E10049": 2,
    "E10050": 3, "E10052": 1, "E10054": 1, "E10055": 1, "E10056": 2, "E10057": 2, "E10058": 1,
    "E10059": 2, "E10410": 1, "E13001": 2, "E13005": 1, "E13014": 4, "E13015": 3,
}  # fmt: skip
"""Number of arguments of atc's codes."""


@in_one_item("code", ARGUMENTS)
def test_text_has_every_argument_once(code: str) -> None:
    found = sorted(re.findall(r"\{(\w)\}", TEXTS[code]))
    assert found == list("abcd"[: ARGUMENTS[code]])


def test_arguments_stand_at_their_places_as_they_are() -> None:
    assert fault_text(AtcFault("E10005", ("{1}", "x"))) == "--x must be true or false, found {1}"
    assert "?" in fault_text(AtcFault("E10005", ("a",)))
    assert fault_text(AtcFault("E99999", ("a", "b"))) == "a, b"


def test_others_of_several_findings_are_the_trace() -> None:
    error = AtcError(
        BAD_OPTION.diagnostic(Text("first"), atc=AtcFault("E10004", ("om",)), help=Text("do")),
        UNKNOWN_OPERATOR.diagnostic(
            Text("Odd is not listed"), place=Place("m.onnx", node=3, node_name="n", op_type="Odd")
        ),
    )
    assert list(error_block(error)) == [
        "E10004: --om has no value",
        "        Solution: do",
        "        TraceBack (most recent call last):",
        (
            "        E13010: the operator n of type Odd has no parser: Odd is not listed "
            '--> m.onnx: node 3 "n" (Odd)'
        ),
    ]


def test_code_of_a_finding_without_one_is_that_of_its_kind() -> None:
    assert next(error_block(BAD_OPTION.error(Text("no")))) == "E10001: no"
    assert next(error_block(AtcError())) == "E19999: Internal Error!"
