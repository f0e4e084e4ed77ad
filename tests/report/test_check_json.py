"""A check's report as JSON, its schema, baselines, and what both mean for the exit status."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from atc_py.check.findings import ModelCheck, Standing
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_BASELINE, FILE_NOT_FOUND
from atc_py.report.check.baseline import Baseline, read_baseline
from atc_py.report.check.document import BaselineCount
from atc_py.report.check.formats import exit_status
from atc_py.report.check.json_document import check_document
from atc_py.system.json_text import format_json
from tests.check_schema import SCHEMA, schema_text
from tests.report.check_samples import (
    RESTATED,
    SLOW,
    STRIDES,
    UNDECIDED,
    at,
    faulty,
    hostile,
    mixed,
    model_check,
    report,
    unreadable,
)


def whole(*models: ModelCheck, language: str = "en") -> Any:
    return json.loads(format_json(check_document(report(*models), language)))


def test_schema_in_docs_is_current() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == schema_text(SCHEMA)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_report_keeps_the_schema(language: str) -> None:
    schema = json.loads(schema_text(SCHEMA))
    jsonschema.Draft202012Validator.check_schema(schema)
    value = whole(mixed(), faulty(), unreadable(), hostile(), language=language)
    jsonschema.validate(value, schema)


@pytest.mark.parametrize(
    ("key", "value"), [("version", 2), ("lang", "de"), ("verdict", "good"), ("models", None)]
)
def test_schema_refuses_other_values(key: str, value: object) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**whole(), key: value}, json.loads(schema_text(SCHEMA)))


def test_finding_carries_everything() -> None:
    found = next(each for each in whole()["models"][0]["findings"] if each["node"] == 17)
    assert found == {
        "fingerprint": STRIDES.fingerprint,
        "code": "ATC4012",
        "name": "attr-out-of-range",
        "level": "error",
        "rule": "Conv/attr_each_in_range/strides",
        "source": "op_specs/base/nn/conv.yaml:18",
        "node": 17,
        "node_name": "conv2",
        "op": "Conv",
        "field": "attribute strides",
        "scope": "",
        "observed": "[1, 64]",
        "allowed": "strides of Conv must be in [1, 63]",
        "when": "",
        "message": "strides of Conv must be in [1, 63], found [1, 64]",
        "help": "split the stride into two convolutions",
        "known": False,
        "taken_by": [],
        "fixed_by": [],
        "certainty": "",
        "effect": "",
        "cann_code": "",
    }


def test_sentences_are_in_the_language_asked() -> None:
    value = whole(language="zh")
    assert value["lang"] == "zh"
    assert value["models"][0]["findings"][0]["allowed"] == "Conv 的 X 的 W 须在 [1, 4096] 内"


def test_counts_and_verdicts_add_up() -> None:
    value = whole(mixed(), faulty())
    assert value["verdict"] == "error"
    assert value["counts"] == {"error": 6, "unknown": 1, "rewrite": 1, "aicpu": 1}
    first = value["models"][0]
    assert first["node_counts"]["supported"] == 64
    assert sum(row["nodes"] for row in first["operators"]) == first["nodes"] == 71
    assert [row["verdict"] for row in first["network"]][:2] == ["unknown", "rewrite"]


def test_fault_is_a_finding_without_rule() -> None:
    fault = whole(faulty())["models"][0]["faults"][0]
    assert (fault["code"], fault["level"], fault["rule"]) == ("ATC3003", "error", "")
    assert (fault["node"], fault["node_name"], fault["op"]) == (2, "cat", "Concat")


def test_bytes_that_are_not_text_are_escaped() -> None:
    assert whole(hostile())["models"][0]["path"].endswith("\\udcff.onnx")


def write(path: Path, *models: ModelCheck) -> Path:
    path.write_text(format_json(check_document(report(*models))), encoding="utf-8")
    return path


def test_baseline_knows_its_own_findings(tmp_path: Path) -> None:
    path = write(tmp_path / "old.json", mixed(), faulty())
    document = check_document(report(mixed(), faulty()), "en", read_baseline(path))
    assert document.baseline == BaselineCount(known=9, new=0, gone=0)
    assert all(found.known for model in document.models for found in model.all_findings)


def test_baseline_holds_in_the_other_language_and_folder(tmp_path: Path) -> None:
    path = write(tmp_path / "old.json", model_check(STRIDES, path="elsewhere/resnet.onnx"))
    document = check_document(report(model_check(STRIDES)), "zh", read_baseline(path))
    assert document.baseline == BaselineCount(known=1, new=0, gone=0)


def test_baseline_of_another_model_knows_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "old.json", model_check(STRIDES, path="vgg.onnx"))
    document = check_document(report(model_check(STRIDES)), "en", read_baseline(path))
    assert document.baseline == BaselineCount(known=0, new=1, gone=1)


def test_baseline_knows_a_finding_as_often_as_it_has_it(tmp_path: Path) -> None:
    twins = [at(STRIDES, 4, "twin"), at(STRIDES, 9, "twin")]
    assert twins[0].fingerprint == twins[1].fingerprint
    path = write(tmp_path / "old.json", model_check(twins[0]))
    document = check_document(report(model_check(*twins)), "en", read_baseline(path))
    assert [found.known for found in document.models[0].findings] == [True, False]


def test_finding_with_another_value_is_known_and_with_another_level_is_not() -> None:
    known = {("resnet.onnx", STRIDES.fingerprint): 1}
    other = model_check(at(STRIDES, 17, "conv2", "[1, 70]"))
    assert check_document(report(other), "en", Baseline(known)).models[0].findings[0].known
    assert UNDECIDED.fingerprint != at(UNDECIDED, 4, "conv1x").fingerprint


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x08\x07 an onnx file",
        b"[]",
        b'{"version": 1}',
        b'{"version": 2, "models": []}',
        b'{"version": 1, "models": [{"path": 3, "findings": [], "faults": []}]}',
        b'{"version": 1, "models": ' + b"[" * 100_000,
        b'{"version": 1, "models": [], "more": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'\xff\xfe{"version": 1, "models": []}',
    ],
    ids=range(9),
)
def test_file_that_is_not_a_report_is_refused_as_baseline(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "old.json"
    path.write_bytes(content)
    with pytest.raises(AtcError) as error:
        read_baseline(path)
    assert error.value.diagnostics[0].code is BAD_BASELINE


def test_baseline_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AtcError) as gone:
        read_baseline(tmp_path / "gone.json")
    assert gone.value.diagnostics[0].code is FILE_NOT_FOUND
    with pytest.raises(AtcError) as folder:
        read_baseline(tmp_path)
    assert folder.value.diagnostics[0].code is FILE_NOT_FOUND


@pytest.mark.parametrize(
    ("check", "statuses"),
    [
        (model_check(), (0, 0, 0, 0, 0)),
        (model_check(SLOW), (0, 0, 0, 1, 1)),
        (model_check(RESTATED), (0, 0, 1, 1, 1)),
        (model_check(UNDECIDED), (0, 1, 1, 1, 1)),
        (model_check(STRIDES), (1, 1, 1, 1, 1)),
        (faulty(), (1, 1, 1, 1, 1)),
        (unreadable(), (3, 3, 3, 3, 3)),
    ],
)
def test_exit_status_follows_the_limit(check: ModelCheck, statuses: tuple[int, ...]) -> None:
    limits = (
        Standing.ERROR, Standing.UNKNOWN, Standing.REWRITE, Standing.AICPU, Standing.ACCURACY,
    )  # fmt: skip
    document = check_document(report(check))
    assert tuple(exit_status(document, limit) for limit in limits) == statuses


def test_exit_status_of_several_models_is_the_worst() -> None:
    document = check_document(report(model_check(STRIDES), unreadable(), model_check()))
    assert exit_status(document, Standing.ERROR) == 3


def test_known_findings_do_not_fail_but_unreadable_files_do(tmp_path: Path) -> None:
    path = write(tmp_path / "old.json", mixed(), unreadable())
    known = check_document(report(mixed()), "en", read_baseline(path))
    assert exit_status(known, Standing.ACCURACY) == 0
    gone = check_document(report(unreadable()), "en", read_baseline(path))
    assert exit_status(gone, Standing.ERROR) == 3


def test_baseline_tells_models_of_one_name_apart_by_their_folders() -> None:
    known = Baseline({("models/bert/model.onnx", "a"): 1, ("models/vit/model.onnx", "b"): 1})
    assert not known.recognizes("/ci/models/vit/model.onnx", "a")
    assert known.recognizes("/ci/models/vit/model.onnx", "b")
    assert known.recognizes("bert/model.onnx", "a")
    assert not known.recognizes("bert/model.onnx", "a")
    assert not known.recognizes("other.onnx", "a")
