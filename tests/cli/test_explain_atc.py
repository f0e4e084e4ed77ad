"""`atc-py explain` knows the codes that Huawei's atc prints."""

from collections.abc import Callable

from atc_py.adapters.atc.faults import NO_CODE, TEXTS, find_fault
from tests.cli.conftest import Result
from tests.failures import in_one_item


@in_one_item("code", [*TEXTS, NO_CODE, "E69999", "E89999"])
def test_every_code_has_a_meaning_and_a_remedy(code: str) -> None:
    found = find_fault(code.lower())
    assert found is not None
    name, meaning, remedy = found
    assert name == code
    assert "{" not in meaning
    assert remedy.in_language("zh") != remedy


def test_code_is_explained(atc: Callable[..., Result]) -> None:
    lines = atc("explain", "E13009").out.splitlines()
    assert lines[0] == "E13009 (a code of Huawei's atc)"
    assert "Cause: two operators are called ..." in lines
    assert lines[-1].endswith("`atc-py fix MODEL --for cann` does")
    (document,) = atc("explain", "e13009", "--json").json
    assert document["id"] == "E13009"
    assert document["tool"] == "atc"
    assert "E13009 (华为 atc 的错误码)" in atc("--lang", "zh", "explain", "E13009").out


def test_unknown_code_of_atc_is_refused(atc: Callable[..., Result]) -> None:
    done = atc("explain", "E77777")
    assert done.status == 2
    assert "there is no diagnostic 'E77777'" in done.err
