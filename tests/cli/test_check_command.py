"""`atc-py check`: options, files, exit statuses."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import onnx
import pytest

from atc_py.check.findings import Standing
from atc_py.cli import check as command
from atc_py.report.check.formats import FORMATS
from tests.cli.conftest import Result, small_model

Atc = Callable[..., Result]


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """Return a model with an operator that is not on the list, and with an open dim."""
    path = tmp_path / "bad.onnx"
    onnx.save(small_model(free=True, operator="Mish"), path)
    return path


def test_words_of_the_options_are_those_of_the_reports() -> None:
    assert command._FORMATS == FORMATS
    assert set(command._LEVELS) == {each.value for each in Standing} - {"supported"}


def test_help_shows_the_options(atc: Atc) -> None:
    done = atc("check", "--help")
    assert done.status == 0
    for option in ("--fail-on", "--baseline", "--check-report", "--op-specs", "--lang"):
        assert option in done.out


def test_supported_model_passes(atc: Atc, model: Path) -> None:
    done = atc("check", model)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"{model}: supported: all 2 nodes\n")


def test_unsupported_model_fails_with_its_reasons(atc: Atc, bad: Path) -> None:
    done = atc("check", bad)
    assert done.status == 1
    assert done.out.startswith(f"{bad}: not supported: 1 error in 1 of 2 nodes")
    assert "error[ATC3001 unknown-operator]: Mish" in done.out
    assert '--input-shape "x:1,3,8,8"' in done.out


def test_report_speaks_chinese(atc: Atc, bad: Path) -> None:
    done = atc("check", bad, "--lang", "zh")
    assert done.out.startswith(f"{bad}：不支持：2 个节点中有 1 个有错误，共 1 处")


@pytest.mark.parametrize(
    "options",
    [
        ("--precision-mode", "must_keep_origin_dtype", "--soc", "Ascend310P3"),
        ("--precision_mode=must_keep_origin_dtype", "--soc_version=Ascend310P3"),
    ],
)
def test_spellings_of_atc_are_taken(atc: Atc, bad: Path, options: tuple[str, ...]) -> None:
    done = atc("check", bad, "--json", "--input_shape=x:2,3,8,8", *options)
    assert done.json["precision_mode"] == "must_keep_origin_dtype"
    assert done.json["soc"] == "Ascend310P3"


def test_report_names_the_further_options_that_were_given(atc: Atc, bad: Path) -> None:
    assert atc("check", bad, "--json").json["options"] == {}
    specs = bad.with_name("mine.yaml")
    specs.write_text(
        "op: Mine\ncustom: true\nsummary: {en: a, zh: 甲}\ninputs: []\noutputs: []\n",
        encoding="utf-8",
    )
    done = atc("check", bad, "--json", "--input-shape", "x:2,3,8,8", "--op_specs", specs)
    assert done.json["options"] == {"input_shape": "x:2,3,8,8", "op_specs": str(specs)}


@pytest.mark.parametrize("form", FORMATS)
def test_file_holds_what_standard_output_would(atc: Atc, bad: Path, form: str) -> None:
    printed = atc("check", bad, "--format", form)
    written = atc("check", bad, "--format", form, "-o", "report.out")
    assert (printed.status, written.status) == (1, 1)
    assert written.out.splitlines()[-1] == "report: report.out"
    with open("report.out", encoding="utf-8", newline="") as file:  # noqa: PTH123
        assert file.read().replace("\r\n", "\n") == printed.out.replace("\r\n", "\n")


def test_formats_can_be_read_back(atc: Atc, bad: Path) -> None:
    assert atc("check", bad, "--json").json["verdict"] == "error"
    assert atc("check", bad, "--format=json").json["verdict"] == "error"
    assert atc("check", bad, "--format", "sarif").json["version"] == "2.1.0"
    junit = ET.fromstring(atc("check", bad, "--format", "junit").out.encode())  # noqa: S314
    assert junit.get("failures") == "1"
    assert atc("check", bad, "--format", "html").out.startswith("<!DOCTYPE html>")
    assert atc("check", bad, "--format", "csv").out.startswith("model,level,")


def test_formats_that_contradict_each_other_are_refused(atc: Atc, bad: Path) -> None:
    done = atc("check", bad, "--json", "--format", "csv")
    assert done.status == 2
    assert done.json["diagnostics"][0]["code"] == "ATC1001"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("m.onnx", "--fail-on", "supported"),
        ("m.onnx", "--format", "xml"),
        ("m.onnx", "--precision-mode", "fp16"),
        ("m.onnx", "--lang", "de"),
        ("m.onnx", "--soc", "Ascend9"),
        ("m.onnx", "--input-shape", "x"),
        ("m.onnx", "-o", ""),
        ("m.onnx", "-o", "folder/"),
        ("m.onnx", "-o", "a", "--check-report", "./a"),
    ],
)
def test_wrong_call_is_refused(atc: Atc, arguments: tuple[str, ...]) -> None:
    done = atc("check", *arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error[ATC10")


def test_undecided_rules_fail_only_where_asked(atc: Atc, tmp_path: Path) -> None:
    path = tmp_path / "open.onnx"
    proto = small_model()
    proto.graph.input[0].type.tensor_type.shape.dim[3].dim_param = "width"
    onnx.save(proto, path)
    assert atc("check", path).status == 0
    done = atc("check", path, "--fail-on", "unknown", "--strict-list")
    assert done.status == 1
    assert "not decided: " in done.out
    fixed = atc(
        "check", path, "--fail-on", "unknown", "--strict-list", "--input-shape", "x:1,3,8,8"
    )
    assert fixed.status == 0


def test_one_unreadable_file_does_not_keep_the_others_from_it(
    atc: Atc, model: Path, bad: Path
) -> None:
    done = atc("check", "gone.onnx", bad, model, "--json")
    assert done.status == 3
    assert [each["verdict"] for each in done.json["models"]] == ["error", "error", "supported"]
    assert done.json["models"][0]["faults"][0]["code"] == "ATC2001"


def test_file_that_is_not_a_model_is_reported(atc: Atc, tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("no model", encoding="utf-8")
    done = atc("check", "text.onnx")
    assert done.status == 3
    assert "ATC2003" in done.out


def test_known_findings_pass(atc: Atc, bad: Path) -> None:
    atc("check", bad, "--json", "-o", "old.json")
    done = atc("check", bad, "--baseline", "old.json")
    assert done.status == 0
    assert "compared with the baseline: 1 known, 0 new" in done.out
    assert "Mish is not" not in done.out
    again = atc("check", bad, "--baseline", "old.json", "--json", "-o", "old.json")
    assert again.status == 0
    report = json.loads((bad.parent / "old.json").read_text(encoding="utf-8"))
    assert report["baseline"] == {"known": 1, "new": 0, "gone": 0}


def test_new_finding_fails_beside_known_ones(atc: Atc, bad: Path) -> None:
    atc("check", bad, "--json", "-o", "old.json")
    proto = onnx.load(bad)
    proto.graph.node[1].output[0] = "m"
    proto.graph.node.append(onnx.helper.make_node("Mish", ["m"], ["y"], name="new"))
    onnx.save(proto, bad)
    done = atc("check", bad, "--baseline", "old.json")
    assert done.status == 1
    assert '"new"' in done.out
    assert "1 known, 1 new" in done.out


@pytest.mark.parametrize(
    ("content", "code"), [(None, "ATC2001"), (b"{}", "ATC2012"), (b"\0", "ATC2012")]
)
def test_broken_baseline_is_refused(
    atc: Atc, model: Path, content: bytes | None, code: str
) -> None:
    if content is not None:
        (model.parent / "old.json").write_bytes(content)
    done = atc("check", model, "--baseline", "old.json")
    assert (done.status, done.out) == (3, "")
    assert done.err.startswith(f"error[{code} ")


def test_endless_baseline_is_refused(atc: Atc, model: Path) -> None:
    done = atc("check", model, "--baseline", "/dev/zero")
    assert done.status == 3
    assert done.err.startswith("error[ATC2002 ")
    assert "a pipe, a device or a socket" in done.err


def test_result_in_the_structure_of_atc_is_written_beside_the_report(atc: Atc, bad: Path) -> None:
    done = atc("check", bad, "--check_report", "atc.json")
    assert done.status == 1
    assert "Mish is not on the operator list" in done.out
    value: Any = json.loads((bad.parent / "atc.json").read_text(encoding="utf-8"))
    assert (value["result"], value["total"], value["fail"]) == ("failed", 2, 1)
    assert value["op"][1]["type"] == "ai.onnx::13::Mish"
    assert value["op"][1]["cause"][0]["code"] == 1


@pytest.mark.parametrize("option", ["-o", "--check-report"])
def test_model_is_not_written_over(atc: Atc, model: Path, bad: Path, option: str) -> None:
    before = bad.read_bytes()
    (model.parent / "link.onnx").symlink_to(bad)
    for name in (bad, "link.onnx"):
        done = atc("check", model, bad, option, name)
        assert done.status == 2
        assert done.err.startswith("error[ATC1001 ")
    assert bad.read_bytes() == before


@pytest.mark.parametrize("option", ["-o", "--check-report"])
def test_file_that_cannot_be_written_leaves_nothing(atc: Atc, model: Path, option: str) -> None:
    (model.parent / "folder").mkdir()
    before = sorted(model.parent.iterdir())
    other = "--check-report" if option == "-o" else "-o"
    for name in ("folder", "gone/report.json"):
        done = atc("check", model, option, name, other, "fine.json")
        assert done.status == 3
        assert done.err.startswith("error[ATC2007 ")
        assert sorted(model.parent.iterdir()) == before


def test_own_specifications_count(atc: Atc, bad: Path) -> None:
    folder = bad.parent / "specs"
    folder.mkdir()
    (folder / "mish.yaml").write_text(
        "op: Mish\nopsets: [13]\nsummary: {en: mish, zh: mish}\n"
        "inputs:\n  - {name: X, dtypes: [float16, float32]}\n"
        "outputs:\n  - {name: Y, dtypes: same_as X}\n",
        encoding="utf-8",
    )
    done = atc("check", bad, "--op-specs", folder)
    assert "Mish is not on the operator list" not in done.out


def test_specifications_that_are_not_there_are_refused(atc: Atc, model: Path) -> None:
    done = atc("check", model, "--op-specs", "gone")
    assert done.status == 3
    assert done.err.startswith("error[ATC20")


def test_documents_are_utf_8_whatever_the_terminal_takes(bad: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "atc_py", "check", bad, "--lang", "zh", "--format", "json"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
    )
    assert done.returncode == 1
    assert json.loads(done.stdout.decode("utf-8"))["lang"] == "zh"


def test_json_and_its_format_ask_for_the_same(atc: Atc, model: Path) -> None:
    done = atc("check", model, "--json", "--format", "json")
    assert done.status == 0
    assert done.json["models"][0]["verdict"] == "supported"
