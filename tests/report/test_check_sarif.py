"""A check's report as SARIF: every property is one that SARIF has, and says what it should."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError
from sarif_pydantic import Sarif

from atc_py.check.findings import ModelCheck
from atc_py.report.check.baseline import Baseline
from atc_py.report.check.json_document import check_document
from atc_py.report.check.sarif_log import check_sarif
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

BEYOND = {"baselineState"}
"""What SARIF 2.1.0 has and the validating model lacks."""


def run_of(*models: ModelCheck, baseline: Baseline | None = None, language: str = "en") -> Any:
    return json.loads(check_sarif(check_document(report(*models), language, baseline)))["runs"][0]


def unknown_properties(part: object) -> set[str]:
    """Return names that SARIF's model does not have, anywhere below `part`."""
    if isinstance(part, list):
        return set().union(*(unknown_properties(each) for each in part))
    if not isinstance(part, BaseModel):
        return set()
    found = set(part.model_extra or {})
    for name in type(part).model_fields:
        found |= unknown_properties(getattr(part, name))
    return found


@pytest.mark.parametrize("language", ["en", "zh"])
def test_report_is_sarif(language: str) -> None:
    checks = (mixed(), faulty(), unreadable(), hostile(), mixed())
    document = check_document(report(*checks), language, Baseline({}))
    log = Sarif.model_validate_json(check_sarif(document))
    assert unknown_properties(log) <= BEYOND
    assert log.version == "2.1.0"


def test_text_that_is_not_sarif_is_noticed() -> None:
    text = check_sarif(check_document(report()))
    with pytest.raises(ValidationError):
        Sarif.model_validate_json(text.replace('"level": "note"', '"level": "hint"'))
    wrong = Sarif.model_validate_json(text.replace('"ruleIndex"', '"ruleIndices"'))
    assert "ruleIndices" in unknown_properties(wrong)


def test_levels_follow_the_findings() -> None:
    results = run_of()["results"]
    levels = {each["properties"]["level"]: each["level"] for each in results}
    assert levels == {"error": "error", "unknown": "warning", "rewrite": "note", "aicpu": "warning"}


def test_result_points_to_file_node_and_rule() -> None:
    result = next(each for each in run_of()["results"] if "conv2" in each["message"]["text"])
    assert result["message"]["text"] == (
        'node 17 "conv2": strides of Conv must be in [1, 63], found [1, 64]'
    )
    location = result["locations"][0]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "nets/resnet.onnx"
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "main_graph/17:Conv:conv2"
    related = result["relatedLocations"][0]["physicalLocation"]
    assert related == {
        "artifactLocation": {"uri": "op_specs/base/nn/conv.yaml"},
        "region": {"startLine": 18},
    }
    assert list(result["partialFingerprints"].values()) == [STRIDES.fingerprint]


def test_rule_index_leads_to_the_rule() -> None:
    run = run_of(mixed(), faulty())
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert {"ATC4012": "AttrOutOfRange"}.items() <= {r["id"]: r["name"] for r in rules}.items()


def test_file_named_twice_is_one_artifact() -> None:
    run = run_of(mixed(), mixed())
    assert len(run["artifacts"]) == 1
    assert all(
        each["locations"][0]["physicalLocation"]["artifactLocation"]["index"] == 0
        for each in run["results"]
    )


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("a b.onnx", "a%20b.onnx"),
        ("./nets/../x.onnx", "x.onnx"),
        ("50%#?.onnx", "50%25%23%3F.onnx"),
        ("c:x.onnx", "c%3Ax.onnx"),
        ("网络.onnx", "%E7%BD%91%E7%BB%9C.onnx"),
    ],
)
def test_paths_are_relative_and_encoded(path: str, uri: str) -> None:
    run = run_of(model_check(STRIDES, path=path))
    assert run["artifacts"][0]["location"]["uri"] == uri


def test_absolute_path_is_relative_below_the_folder_and_a_file_uri_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    inside, outside = tmp_path / "nets" / "x.onnx", tmp_path.parent / "x.onnx"
    found = [
        run_of(model_check(path=str(path)))["artifacts"][0]["location"]["uri"]
        for path in (inside, outside)
    ]
    assert found == ["nets/x.onnx", outside.as_uri()]


def test_unreadable_file_is_an_execution_that_failed() -> None:
    assert run_of(unreadable())["invocations"] == [{"executionSuccessful": False}]
    assert run_of(mixed())["invocations"] == [{"executionSuccessful": True}]


def test_message_makes_no_links_and_no_placeholders() -> None:
    for result in run_of(hostile())["results"]:
        assert "](" not in result["message"]["text"]
        assert "{{0}}" in result["message"]["text"]


def test_baseline_state_is_reported_only_with_a_baseline() -> None:
    assert "baselineState" not in run_of()["results"][0]
    known = Baseline({("resnet.onnx", STRIDES.fingerprint): 1})
    states = [each["baselineState"] for each in run_of(baseline=known)["results"]]
    assert sorted(set(states)) == ["new", "unchanged"]
    assert states.count("unchanged") == 1


def test_place_of_a_rule_without_line_has_no_region() -> None:
    run = run_of(model_check(replace(STRIDES, source="my specs/conv.yaml")))
    related = run["results"][0]["relatedLocations"][0]["physicalLocation"]
    assert related == {"artifactLocation": {"uri": "my%20specs/conv.yaml"}}
