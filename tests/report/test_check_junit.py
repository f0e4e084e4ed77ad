"""A check's report as JUnit XML."""

from xml.etree import ElementTree as ET

import pytest

from atc_py.check.findings import ModelCheck, Standing
from atc_py.report.check.baseline import Baseline
from atc_py.report.check.json_document import check_document
from atc_py.report.check.junit_xml import check_junit
from atc_py.system.structs import replace
from tests.report.check_samples import (
    STRIDES,
    faulty,
    hostile,
    mixed,
    model_check,
    report,
    unreadable,
)


def xml_of(
    *models: ModelCheck, fail_on: Standing = Standing.ERROR, baseline: Baseline | None = None
) -> ET.Element:
    text = check_junit(check_document(report(*models), "en", baseline), fail_on)
    return ET.fromstring(text.encode("utf-8"))  # noqa: S314  (it was made here)


def kinds(root: ET.Element) -> dict[str, str | None]:
    """Return the kind of each case, by the beginning of its name."""
    cases = root.iter("testcase")
    return {case.get("name", "")[:9]: case[0].tag if len(case) else None for case in cases}


def test_case_is_an_operator_with_a_rule() -> None:
    assert kinds(xml_of(mixed())) == {
        "Conv: str": "failure",
        "Gelu: Gel": "failure",
        "Conv: W o": "skipped",
        "Relu: Rel": "system-out",
        "TopK: K o": "system-out",
        "Add": None,
    }


@pytest.mark.parametrize(
    ("limit", "failures"),
    [(Standing.ERROR, 2), (Standing.UNKNOWN, 3), (Standing.REWRITE, 4), (Standing.AICPU, 5)],
)
def test_failures_are_what_the_limit_counts(limit: Standing, failures: int) -> None:
    root = xml_of(mixed(), fail_on=limit)
    assert len(list(root.iter("failure"))) == failures
    assert root.get("failures") == str(failures)


def test_counts_are_those_of_the_cases() -> None:
    root = xml_of(mixed(), faulty(), unreadable(), model_check())
    for element in (root, *root.iter("testsuite")):
        for tag, name in (
            ("testcase", "tests"), ("failure", "failures"), ("error", "errors"),
            ("skipped", "skipped"),
        ):  # fmt: skip
            assert element.get(name) == str(len(list(element.iter(tag))))
    assert [suite.get("name") for suite in root] == [
        "nets/resnet.onnx", "bad.onnx", "gone.onnx", "nets/resnet.onnx",
    ]  # fmt: skip


def test_failure_names_every_node_with_its_value() -> None:
    failure = next(xml_of(mixed()).iter("failure"))
    assert failure.get("type") == "attr-out-of-range"
    assert (failure.text or "").splitlines() == [
        'error: node 17 "conv2": strides of Conv must be in [1, 63], found [1, 64]',
        'error: node 20 "conv5": strides of Conv must be in [1, 63], found [1, 64]',
        'error: node 31 "conv9": strides of Conv must be in [1, 63], found [70, 70]',
        "rule: op_specs/base/nn/conv.yaml:18",
        "help: split the stride into two convolutions",
    ]


def test_unreadable_file_is_an_error() -> None:
    root = xml_of(unreadable())
    assert (root.get("errors"), root.get("failures")) == ("1", "0")


def test_model_without_operators_still_has_a_case() -> None:
    root = xml_of(ModelCheck("e.onnx", "g", {}, 0, 0, ()))
    assert [case.get("name") for case in root.iter("testcase")] == ["model"]


def test_known_findings_do_not_fail() -> None:
    known = Baseline({("resnet.onnx", STRIDES.fingerprint): 1})
    root = xml_of(model_check(STRIDES), baseline=known)
    assert root.get("failures") == "0"
    assert "known: error" in (next(root.iter("system-out")).text or "")


def test_hostile_names_leave_valid_xml() -> None:
    check = replace(hostile(), path="\ufffe\uffff\x0b" + hostile().path)
    root = xml_of(check)
    text = "".join(root.itertext())
    assert "\\x1b[31m\\u202e<b>&" in text
    assert root[0].get("name", "").startswith("\\ufffe\\uffff\\x0b")
