"""`--json` on every command: standard output is exactly one JSON document, whatever happens."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import onnx
import pytest
from click.testing import CliRunner

from atc_py.cli.main import cli
from tests.board.returned import Returned
from tests.board.small_board import SOC, SmallBoard, small_network
from tests.cli.conftest import Result, small_model
from tests.cli.test_faults_of_files import CALIBRATION, quantized
from tests.json_documents import DOCUMENTS, WITHOUT
from tests.package.ge.om_files import small_model as small_huawei_model

Atc = Callable[..., Result]

Line = tuple[str, ...]

GOOD: dict[str, Line] = {
    "board compare": ("board", "compare", "packed", "back.zip"),
    "board pack": (
        "board",
        "pack",
        "small.onnx",
        "--soc",
        "Ascend310P3",
        "--no-unfused",
        "-o",
        "kit",
    ),
    "check": ("check", "small.onnx"),
    "compare": ("compare", "small.onnx"),
    "config": ("config", "convert"),
    "convert": ("convert", "small.onnx"),
    "convert --passes": ("convert", "--passes"),
    "fix": ("fix", "small.onnx"),
    "diff": ("diff", "old.om", "real.om"),
    "explain": ("explain",),
    "export": ("export", "small.onnx"),
    "info": ("info", "old.om"),
    "info (ONNX file)": ("info", "small.onnx"),
    "info (Huawei's model)": ("info", "real.om"),
    "info --precision": ("info", "--precision", "old.om"),
    "info --layout": ("info", "--layout", "old.om"),
    "kernels": ("kernels", "old.om"),
    "kernels --verify": ("kernels", "--verify", "small.onnx"),
    "ops diff": ("ops", "diff", "Softmax", "11", "13"),
    "ops lists": ("ops", "lists"),
    "ops diff --list": ("ops", "diff", "--list", "base", "--list", "cann-9.0"),
    "ops list": ("ops", "list", "--group", "nn"),
    "ops show": ("ops", "show", "Conv"),
    "ops validate": ("ops", "validate"),
    "plan": ("plan", "small.onnx", "--target", "cosine=0.9"),
    "profile": ("profile", "small.onnx"),
    "profile --calibrate": ("profile", "--calibrate", "cal.csv"),
    "quantize": ("quantize", "int8.onnx"),
    "quantize --random": ("quantize", "small.onnx", "--random", "2"),
    "report": ("report", "small.onnx", "--no-compare"),
    "aipp": ("aipp", "aipp.cfg", "picture.npy"),
    "socs": ("socs",),
    "sweep": ("sweep", "small.onnx", "-o", "results"),
    "run": ("run", "old.om", "--random", "0", "--profile"),
}
"""A command line that is done, for each document."""

FORMS = Path(__file__).parents[1] / "golden" / "documents.json"
"""Forms of documents, by the command line."""

FAILING: dict[str, tuple[tuple[int, Line], ...]] = {
    "check": ((1, ("bad.onnx",)), (3, ("gone.onnx",)), (3, ("small.onnx", "-o", "gone/report"))),
    "compare": (
        (1, ("bad.onnx",)),
        (3, ("gone.onnx",)),
        (4, ("small.onnx", "--fail-under", "snr=1000")),
    ),
    "config": ((2, ("nothing",)),),
    "convert": ((1, ("bad.onnx",)), (3, ("gone.onnx",)), (3, ("old.om", "-o", "new"))),
    "fix": ((1, ("bad.onnx",)), (3, ("gone.onnx",)), (2, ("small.onnx", "--only", "none"))),
    "diff": ((3, ("old.om", "gone.om")), (3, ("cut.om", "real.om"))),
    "explain": ((2, ("nothing",)),),
    "export": ((1, ("bad.onnx",)), (3, ("gone.onnx",)), (3, ("cut.om",))),
    "info": ((3, ("gone.om",)), (2, ("small.onnx", "--layout")), (3, ("cut.om",))),
    "kernels": ((1, ("bad.onnx",)), (3, ("gone.om",)), (2, ("old.om", "--verify"))),
    "ops diff": ((2, ("Softmax", "11", "x")), (2, ("Cnov", "11", "13"))),
    "ops list": ((2, ("--opset", "0")), (3, ("--op-specs", "gone"))),
    "ops lists": (),
    "ops show": ((2, ("Cnov",)),),
    "ops validate": ((3, ("bad.yaml",)), (3, ("gone",))),
    "plan": (
        (1, ("bad.onnx", "--target", "cosine=0.9")),
        (2, ("small.onnx",)),
        (3, ("gone.onnx", "--target", "cosine=0.9")),
    ),
    "profile": ((1, ("bad.onnx",)), (2, ()), (3, ("gone.onnx",))),
    "quantize": (
        (3, ("gone.onnx",)),
        (1, ("small.onnx",)),
        (1, ("int8.onnx", "--random", "1")),
        (2, ("small.onnx", "--data", "gone")),
    ),
    "report": ((3, ("gone.onnx",)), (3, ("small.onnx", "-o", "gone/x.html"))),
    "aipp": (
        (2, ("aipp.cfg", "picture.npy", "--size", "8")),
        (3, ("gone.cfg", "picture.npy")),
        (3, ("aipp.cfg", "gone.npy")),
        (3, ("aipp.cfg", "zeros.npy")),
    ),
    "socs": ((2, ("sim",)),),
    "board compare": (
        (2, ("packed",)),
        (3, ("gone", "cal.csv")),
        (3, ("packed", "cal.csv")),
    ),
    "board pack": (
        (2, ("small.onnx",)),
        (2, ("small.onnx", "--soc", "Ascend310P3", "-o", ".")),
        (3, ("gone.onnx", "--soc", "Ascend310P3", "-o", "kit")),
    ),
    "sweep": ((2, ("small.onnx",)), (3, (".", "-o", "small.onnx"))),
    "run": (
        (2, ("old.om",)),
        (3, ("gone.om",)),
        (4, ("old.om", "--random", "0", "--expect", "zeros.npy")),
    ),
}
"""Arguments with which each command fails, with its exit status."""


def commands(group: click.Group, *before: str) -> Iterator[str]:
    """Yield every command that is not a group."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, *before, name)
        else:
            yield " ".join((*before, name))


@pytest.fixture(scope="session")
def board_kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a kit and what a board brought back of it."""
    folder = tmp_path_factory.mktemp("kit")
    feeds = {"x": small_network(folder / "net.onnx")}
    np.save(folder / "x.npy", feeds["x"])
    words = [
        "--soc",
        SOC,
        "--no-unfused",
        "-i",
        f"x={folder / 'x.npy'}",
        "-o",
        str(folder / "packed"),
    ]
    done = CliRunner().invoke(cli, ["board", "pack", str(folder / "net.onnx"), *words])
    assert not done.exit_code, done.output
    board = SmallBoard(folder / "net.onnx", folder, feeds)
    Returned(folder / "packed", folder / "back", board).packed()
    return folder


@pytest.fixture
def workshop(atc: Atc, board_kit: Path, tmp_path: Path) -> Atc:
    """Make a folder with what GOOD and FAILING name; return the command."""
    for name in ("packed", "back.zip"):
        (tmp_path / name).symlink_to(board_kit / name)
    onnx.save(small_model(), tmp_path / "small.onnx")
    onnx.save(small_model(operator="Strange"), tmp_path / "bad.onnx")
    quantized(tmp_path / "int8.onnx")
    np.save(tmp_path / "zeros.npy", np.zeros((1, 4, 8, 8), np.float32))
    (tmp_path / "aipp.cfg").write_text("aipp_op { aipp_mode: static input_format: RGB888_U8 }")
    np.save(tmp_path / "picture.npy", np.zeros((4, 6, 3), np.uint8))
    (tmp_path / "cal.csv").write_text(CALIBRATION)
    (tmp_path / "bad.yaml").write_text("op: 3\n")
    assert atc("convert", "small.onnx", "-o", "old.om").status == 0
    (tmp_path / "real.om").write_bytes(small_huawei_model())
    (tmp_path / "cut.om").write_bytes(Path("old.om").read_bytes()[:1000])
    return atc


def document(done: Result) -> Any:
    """Parse standard output as strict JSON; nothing is on standard error."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert done.err == ""
    return json.loads(done.out, parse_constant=refuse)


def test_tables_name_every_command() -> None:
    walked = set(commands(cli)) - WITHOUT
    assert {re.split(r" --| \(", line)[0] for line in GOOD} == walked
    assert set(FAILING) == walked
    assert list(GOOD) == list(DOCUMENTS)


@pytest.mark.parametrize("command", GOOD)
def test_result_is_one_document_with_the_names_that_are_documented(
    workshop: Atc, command: str
) -> None:
    done = workshop(*GOOD[command], "--json")
    assert done.status == 0
    found = document(done)
    text = DOCUMENTS[command]
    names = set(text.strip("[]").split(", "))
    each = found if text.startswith("[") else [found]
    assert isinstance(found, list) == text.startswith("[")
    assert each
    assert all(set(one) == names for one in each)


def form(value: object) -> object:
    """Return the names in a document and the kinds of its values; of a list that of its first.

    More than eight values of one kind are by names that the model or the list of passes has.
    """
    if isinstance(value, list):
        return [form(value[0])] if value else []
    if not isinstance(value, dict):
        return {bool: "bool", str: "text", type(None): "null"}.get(type(value), "number")
    forms = {name: form(inner) for name, inner in value.items()}
    first = next(iter(forms.values()), None)
    alike = len(forms) > 8 and all(inner == first for inner in forms.values())
    return {"*": first} if alike else forms


def test_documents_have_the_form_that_is_stored(workshop: Atc) -> None:
    onnx.save(small_model(operator="Tan"), "hard.onnx")
    for line, stored in json.loads(FORMS.read_text(encoding="utf-8")).items():
        done = workshop(*line.split(), "--json")
        # The order of names counts, too.
        assert json.dumps(form(document(done))) == json.dumps(stored), line


@pytest.mark.parametrize("command", FAILING)
def test_failure_is_one_document_with_codes(workshop: Atc, command: str) -> None:
    for status, arguments in ((2, ("--no-such-option",)), *FAILING[command]):
        done = workshop(*command.split(), *arguments, "--json")
        plain = workshop(*command.split(), *arguments)
        assert (done.status, plain.status) == (status, status), arguments
        found = document(done)
        if command == "check" and "models" in found:
            (model,) = found["models"]
            assert [each["code"][:3] for each in (*model["faults"], *model["findings"])] == ["ATC"]
            continue
        assert found["diagnostics"]
        for each in found["diagnostics"]:
            assert each["code"].startswith("ATC")
            if command == "fix" and status == 1:  # its table has the findings that are left
                assert each["message"][:20] in " ".join(plain.out.split())
                continue
            assert f"help: {each['help']}" in plain.err
            assert f"{each['severity']}[{each['code']} {each['name']}]" in plain.err


@pytest.mark.parametrize("command", ["check", "compare", "profile"])
def test_report_in_a_file_leaves_one_document_on_standard_output(
    workshop: Atc, command: str
) -> None:
    done = workshop(command, "small.onnx", "--json", "-o", "report.json")
    assert (done.status, done.out) == (0, Path("report.json").read_text(encoding="utf-8"))
    done = workshop(command, "small.onnx", "--format", "json", "-o", "report.json")
    assert done.status == 0
    assert "report: report.json" in done.out


@pytest.mark.parametrize("command", ["check", "compare", "kernels", "profile"])
def test_two_formats_are_refused(workshop: Atc, command: str) -> None:
    done = workshop(command, "small.onnx", "--json", "--format", "text")
    assert (done.status, document(done)["diagnostics"][0]["code"]) == (2, "ATC1001")
    assert workshop(command, "small.onnx", "--json", "--format", "json").status == 0


def test_numbers_that_json_cannot_name_are_null(workshop: Atc) -> None:
    np.save("nan.npy", np.full((1, 4, 8, 8), np.nan, np.float32))
    done = workshop("run", "old.om", "--random", "0", "--expect", "nan.npy", "--json")
    assert done.status == 4
    assert document(done)["comparisons"][0]["range_error"] is None


@pytest.mark.parametrize("arguments", [(), ("ops",), ("no-such-command",), ("ops", "nothing")])
def test_call_without_a_command_is_one_document_too(atc: Atc, arguments: Line) -> None:
    done = atc(*arguments, "--json")
    assert done.status == 2
    assert [each["code"] for each in document(done)["diagnostics"]] == ["ATC1001"]


def test_bug_is_one_document_too(
    workshop: Atc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("state that nobody expected")

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("atc_py.pipeline.lowering.lower_model", broken)
    for command in ("convert", "compare", "kernels", "profile"):
        done = workshop(command, "small.onnx", "--json")
        assert done.status == 70
        assert [each["code"] for each in document(done)["diagnostics"]] == ["ATC9001"]
