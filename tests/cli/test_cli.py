"""The command line as a whole: help, look-ups, and the last nets."""

import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

import atc_py
from atc_py.cli.main import _SUMMARIES, cli, main
from atc_py.diag import all_codes
from tests.cli.conftest import Result

Atc = Callable[..., Result]


@pytest.mark.parametrize("command", [[], ["convert"], ["run"], ["info"], ["ops"], ["explain"]])
def test_help(atc: Atc, command: list[str]) -> None:
    done = atc(*command, "--help")
    assert (done.status, done.err) == (0, "")
    assert "Usage: atc-py" in done.out


def test_summaries_are_those_of_the_commands() -> None:
    context = click.Context(cli)
    assert cli.list_commands(context) == sorted(_SUMMARIES)
    for name, summary in _SUMMARIES.items():
        command = cli.get_command(context, name)
        assert command is not None
        assert (command.name, command.get_short_help_str(200)) == (name, summary)


@pytest.mark.parametrize("command", [[], ["ops"]])
def test_bare_group_prints_its_help_and_is_a_wrong_call(atc: Atc, command: list[str]) -> None:
    done = atc(*command)
    assert (done.status, done.err) == (2, "")
    assert done.out == atc(*command, "--help").out
    assert "\nCommands:\n" in done.out


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from atc_py.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({m.split('.')[0] for m in sys.modules} & "
        "{'numpy', 'onnx', 'google', 'jinja2', 'yaml', 'msgspec', 'rich', 'ml_dtypes'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_explain_knows_every_code_by_number_and_name(atc: Atc) -> None:
    for row in all_codes():
        for spelling in (row.id, row.id.lower(), row.id[3:], row.name):
            done = atc("explain", spelling)
            assert done.status == 0
            assert done.out.startswith(f"{row.id} {row.name}")
            assert row.remedy in done.out


def test_explain_without_code_lists_them(atc: Atc) -> None:
    assert len(atc("explain").out.splitlines()) == len(all_codes())
    assert len(atc("explain", "--json").json) == len(all_codes())


def test_unknown_names_are_refused(atc: Atc) -> None:
    for command in (("explain", "ATC0000"), ("ops", "show", "Cnov")):
        done = atc(*command)
        assert done.status == 2
        assert done.err.startswith("error[ATC1008 ")
    assert "Conv" in done.err


def test_operators_can_be_looked_up(atc: Atc) -> None:
    listed = atc("ops", "list").out
    assert re.search(r"^\s*Conv\b", listed, re.MULTILINE)
    shown = atc("ops", "show", "conv").out
    assert "strides" in shown
    assert atc("ops", "show", "Conv", "--json").json["op"] == "Conv"
    assert len(atc("ops", "list", "--json").json) >= 26


def test_wrong_call_names_the_help_of_its_command(atc: Atc) -> None:
    for arguments, name in (
        (("compare", "a.onnx", "--fail-under"), "compare"),
        (("ops", "list", "--none"), "ops list"),
        (("info", "a.om", "--precision", "--layout"), "info"),
    ):
        done = atc(*arguments)
        assert done.status == 2
        assert f"help: `atc-py {name} --help` shows the options" in done.err


def test_program_may_put_its_own_stream_in_place(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(SystemExit) as exit_:
        main(["check", str(model), "--json"])
    assert exit_.value.code == 0
    assert json.loads(stream.getvalue())["verdict"] == "supported"
    assert sys.stdout is stream


def test_errors_are_json_where_json_is_asked_for(atc: Atc) -> None:
    done = atc("convert", "gone.onnx", "--json")
    assert (done.status, done.err) == (3, "")
    (found,) = done.json["diagnostics"]
    assert (found["code"], found["name"]) == ("ATC2001", "file-not-found")


def test_bug_ends_with_a_code_and_a_log(
    atc: Atc, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_args: object, **_options: object) -> None:
        raise KeyError("state that nobody expected")

    monkeypatch.setattr("atc_py.pipeline.lowering.lower_model", broken)
    done = atc("convert", model)
    assert done.status == 70
    assert done.err.startswith("error[ATC9001 internal-error]")
    log = re.search(r"\S+\.log", done.err)
    assert log is not None
    path = Path(log.group())
    assert "state that nobody expected" in path.read_text(encoding="utf-8")
    path.unlink()


def test_interrupt_is_quiet(atc: Atc, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_args: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("atc_py.pipeline.lowering.lower_model", interrupted)
    done = atc("convert", model)
    assert (done.status, done.out) == (130, "")
    assert "interrupted" in done.err


def test_reader_that_goes_away_is_not_an_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m atc_py explain --json | head -n 1"
    done = subprocess.run(
        ["/bin/bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_names_with_control_characters_cannot_reach_the_terminal(atc: Atc) -> None:
    done = atc("convert", "evil\x1b[31m\nname.onnx")
    assert done.status == 3
    assert "\x1b" not in done.err
    assert "evil\\x1b" in done.err


def test_module_and_version() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "atc_py", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"atc-py, version {atc_py.__version__}")
