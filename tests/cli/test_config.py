"""The configuration file: found upward, options by command, below the command line, faults coded."""

import os
from collections.abc import Callable
from pathlib import Path

import click
import onnx
import pytest

from atc_py.cli.config_file import Config, configured
from atc_py.cli.main import cli
from tests.cli.conftest import Result, small_model

Atc = Callable[..., Result]

OWN = """
[convert]
soc = "Ascend310P3"
quiet = true
disable-pass = ["fuse-gelu", "fuse-swish"]

[ops.list]
group = "nn"
"""
SHARED = """
[project]
name = "mine"

[tool.atc-py.convert]
soc = "Ascend910B1"
precision_mode = "must_keep_origin_dtype"
"""


@pytest.fixture
def project(atc: Atc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Atc:
    """Make a folder with a model, go to a folder in it, and return the command."""
    onnx.save(small_model(), tmp_path / "small.onnx")
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    return atc


def written(text: str, name: str = "atc-py.toml") -> None:
    """Write a configuration file above the working folder."""
    (Path("..") / name).write_text(text, encoding="utf-8")


def test_values_of_the_file_hold_for_their_command(project: Atc) -> None:
    written(OWN)
    done = project("convert", "../small.onnx", "-o", "a.om")
    assert (done.status, done.out) == (0, "")
    assert project("info", "a.om", "--json").json["soc"] == "Ascend310P3"
    assert "Relu" not in project("ops", "list").out


def test_command_line_comes_first_and_overrides_rivals(project: Atc) -> None:
    written(OWN)
    done = project("convert", "../small.onnx", "-o", "a.om", "--soc", "sim", "-v")
    assert "SoC               sim" in done.out


def test_precision_mode_of_the_file_yields_to_its_second_name(project: Atc) -> None:
    written(SHARED, "pyproject.toml")
    done = project("convert", "../small.onnx", "-o", "a.om")
    assert "(Ascend910B1, must_keep_origin_dtype)" in done.out
    done = project("convert", "../small.onnx", "-o", "a.om", "--precision-mode-v2", "fp16")
    assert "(Ascend910B1, force_fp16)" in done.out


def test_environment_comes_before_the_file(project: Atc, monkeypatch: pytest.MonkeyPatch) -> None:
    written('[check]\nlist = "base"\n')
    monkeypatch.setenv("ATC_PY_LIST", "cann-9.0")
    assert project("check", "../small.onnx", "--json").json["operator_list"] == "cann-9.0"


def test_nearest_file_holds_and_own_file_before_the_shared_one(project: Atc) -> None:
    written(SHARED, "pyproject.toml")
    written(OWN)
    assert project("config", "--json").json["file"].endswith("atc-py.toml")
    Path("pyproject.toml").write_text('[project]\nname = "x"\n', encoding="utf-8")
    assert project("config", "--json").json["file"].endswith("atc-py.toml")
    Path("pyproject.toml").write_text("[tool.atc-py]\n", encoding="utf-8")
    assert project("config", "--json").json == {
        "file": str(Path.cwd() / "pyproject.toml"), "settings": [],
    }  # fmt: skip


def test_paths_are_relative_to_the_file(project: Atc) -> None:
    written('[convert]\nkeep-dtype = "keep.cfg"\n')
    Path("../keep.cfg").write_text("conv\n", encoding="utf-8")
    done = project("convert", "../small.onnx", "-o", "a.om", "--json")
    rules = [each["rule"] for each in done.json["precision"]["nodes"]]
    assert any("keep-dtype" in rule for rule in rules), rules


def test_flag_that_switches_off_does_so_in_the_file(project: Atc) -> None:
    command = cli.get_command(click.Context(cli), "fix")
    assert command is not None
    for value in (True, False):
        found = Config(Path("atc-py.toml"), {"fix": {"no-simulator": value}})
        assert configured(found, command, ("fix",)) == {"simulate": not value}
    written("[plan]\nno-bfloat16 = true\n")
    for name, option, value in (("plan", "no-bfloat16", True), ("fix", "no-simulator", False)):
        shown = project("config", name, "--json").json["settings"]
        assert {each["option"]: each["value"] for each in shown}[option] is value


def test_config_shows_what_the_file_sets(project: Atc) -> None:
    written(OWN)
    lines = project("config").out.splitlines()
    file = str(Path.cwd().parent / "atc-py.toml")
    assert lines[0] == f"configuration file: {file}"
    assert [line.split() for line in lines[3:]] == [
        ["convert", "--soc", "Ascend310P3", file],
        ["convert", "--disable-pass", "fuse-gelu,", "fuse-swish", file],
        ["convert", "--quiet", "true", file],
        ["ops", "list", "--group", "nn", file],
    ]


def test_config_of_a_command_shows_all_of_its_options_with_their_sources(
    project: Atc, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(OWN)
    monkeypatch.setenv("ATC_PY_LIST", "cann-9.0")
    found = project("config", "convert", "--json").json["settings"]
    rows = {each["option"]: (each["value"], each["source"]) for each in found}
    assert rows["soc"] == ("Ascend310P3", str(Path.cwd().parent / "atc-py.toml"))
    assert rows["list"] == ("cann-9.0", "ATC_PY_LIST")
    assert rows["cann"] == ("9.1", "default")
    assert rows["output"] == (None, "not set")
    assert "json" not in rows
    assert project("config", "ops", "list").status == 0


def test_config_without_a_file_says_so(project: Atc) -> None:
    assert project("config").out.startswith("no configuration file: ")
    assert project("config", "--json").json == {"file": None, "settings": []}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[convert\n", "this is not TOML"),
        ("[convrt]\n", "did you mean convert?"),
        ("[atc]\n", "no command 'atc' takes a configuration"),
        ('soc = "sim"\n', "no command 'soc'"),
        ('convert = "sim"\n', "write [convert] and options below it"),
        ('[convert]\nsco = "sim"\n', "did you mean soc?"),
        ("[convert]\njson = true\n", "convert has no option --json"),
        ('[convert]\nmodel = "x"\n', "convert has no option --model"),
        ("[convert]\nverbose = 1\n", "the value must be true or false, found 1"),
        ('[convert]\nsoc = ["a"]\n', "the value must be one value"),
        ("[convert]\nsoc = 2020-01-01\n", "the value must be text or a number"),
        ("[convert.soc]\n", "the value must be text or a number"),
        ('[convert]\ncann = "4"\n', "'4' is not one of '5'"),
    ],
)
def test_fault_of_the_file_is_coded_with_place_and_hint(
    project: Atc, text: str, words: str
) -> None:
    written(text)
    for line in (("convert", "../small.onnx"), ("config",)):
        done = project(*line)
        assert (done.status, done.out) == (2, "")
        assert done.err.startswith("error[ATC1080 bad-config-file]: ")
        assert "atc-py.toml" in done.err
        assert "help: " in done.err
        assert words in done.err
    assert not list(Path("..").glob("*.om"))


def test_fault_does_not_stop_help_or_what_no_file_configures(project: Atc) -> None:
    written("[convert\n")
    assert project("convert", "--help").status == 0
    assert project("explain", "ATC1080").status == 0
    assert project("--version").status == 0


def test_fault_is_a_json_document_where_that_is_asked_for(project: Atc) -> None:
    written("[convrt]\n")
    (found,) = project("convert", "../small.onnx", "--json").json["diagnostics"]
    assert found["name"] == "bad-config-file"


def test_values_of_other_commands_are_not_looked_at(project: Atc) -> None:
    written('[convert]\nsco = "sim"\n')
    assert project("check", "../small.onnx").status == 0


def test_shared_file_of_others_is_left_alone(project: Atc) -> None:
    Path("../pyproject.toml").write_bytes(b"\xff\xfe not text")
    assert project("config").out.startswith("no configuration file")
    written("[broken\n", "pyproject.toml")
    assert project("check", "../small.onnx").status == 0


def test_value_of_ops_list_of_an_unknown_subcommand_is_refused(project: Atc) -> None:
    written('[ops.lst]\ngroup = "nn"\n')
    done = project("ops", "list")
    assert (done.status, "did you mean list?" in done.err) == (2, True)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read anything")
def test_own_file_that_cannot_be_read_is_named(project: Atc) -> None:
    written("")
    Path("../atc-py.toml").chmod(0)
    assert project("config").status == 3
