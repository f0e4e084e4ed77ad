"""--lang, ATC_PY_LANG and the locale choose the language of every command."""

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from atc_py.cli.main import cli, main
from atc_py.text.language import speak, wanted_language
from tests.failures import in_one_item

VARIABLES = ("ATC_PY_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
ABSENT = "无法读取 absent"


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    yield
    speak("en")


def called(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """Return what a command line prints, on either stream."""
    with pytest.raises(SystemExit):
        main(args)
    return "".join(capsys.readouterr())


@in_one_item(
    ("args", "environment", "expected"),
    [
        ((), {}, "en"),
        ((), {"LANG": "zh_CN.UTF-8"}, "zh"),
        ((), {"LANG": "de_DE.UTF-8"}, "en"),
        ((), {"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ((), {"LC_MESSAGES": "zh_TW", "LANG": "C"}, "zh"),
        ((), {"LANG": "zh_CN.UTF-8", "ATC_PY_LANG": "en"}, "en"),
        ((), {"ATC_PY_LANG": "zh"}, "zh"),
        (("check", "--lang", "zh"), {}, "zh"),
        (("check", "--lang=zh"), {}, "zh"),
        (("check", "--lang", "en"), {"ATC_PY_LANG": "zh"}, "en"),
        (("check", "--lang", "xx"), {"ATC_PY_LANG": "zh"}, "zh"),
        (("exec", "--", "program", "--lang", "zh"), {}, "en"),
        (("atc", "--lang", "zh"), {}, "zh"),
        (("atc", "--lang=zh", "--model=x"), {}, "zh"),
        (("--lang", "zh", "atc", "--model=x"), {}, "zh"),
    ],
)
def test_line_counts_before_variable_before_locale(
    args: tuple[str, ...], environment: dict[str, str], expected: str
) -> None:
    assert wanted_language(args, environment) == expected


COMMANDS = (
    ("check", "absent"),
    ("compare", "absent"),
    ("convert", "absent"),
    ("export", "absent"),
    ("fix", "absent"),
    ("info", "absent"),
    ("kernels", "absent"),
    ("profile", "absent"),
    ("quantize", "absent"),
    ("run", "absent"),
)


@in_one_item("command", COMMANDS)
def test_command_speaks_chinese(
    capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    printed = called(capsys, *command, "--lang", "zh")
    assert ABSENT in printed
    assert "建议：" in printed
    assert ABSENT not in called(capsys, *command)


def test_variable_and_locale_choose_the_language(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert ABSENT in called(capsys, "convert", "absent")
    assert "未检查" in called(capsys, "check", "absent")
    monkeypatch.setenv("ATC_PY_LANG", "en")
    assert ABSENT not in called(capsys, "convert", "absent")


def test_diagnostics_as_json_speak_chinese(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(called(capsys, "run", "absent", "--json", "--lang", "zh"))
    assert document["diagnostics"][0]["message"].startswith(ABSENT)


def test_line_that_click_refuses_is_answered_in_chinese(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "没有选项：--nope" in called(capsys, "run", "absent", "--nope", "--lang", "zh")
    assert "没有命令 'nope'" in called(capsys, "nope", "--lang", "zh")


def test_atc_gets_its_line_without_the_language(capsys: pytest.CaptureFixture[str]) -> None:
    for line in (("atc", "--lang", "zh", "--help"), ("atc", "--help", "--lang=zh")):
        printed = called(capsys, *line)
        assert "生成离线模型的示例" in printed
        assert "--model\n      ONNX 文件" in printed
    printed = called(capsys, "atc", "--lang=zh", "--model=absent", "--framework=5", "--output=x")
    assert "ATC start working now, please wait for a moment." in printed  # scripts read it
    assert "错误[" in printed


def test_configuration_chooses_the_language(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "atc-py.toml").write_text('[convert]\nlang = "zh"\n[fix]\nlang = "zh"\n')
    assert ABSENT in called(capsys, "convert", "absent")
    assert ABSENT in called(capsys, "fix", "absent")
    assert ABSENT not in called(capsys, "convert", "absent", "--lang", "en")
    assert ABSENT not in called(capsys, "profile", "absent")


def test_language_may_stand_before_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert ABSENT in called(capsys, "--lang", "zh", "convert", "absent")


def test_every_command_but_atc_has_the_option() -> None:
    context = click.Context(cli)

    def leaves(command: click.Command) -> Iterator[click.Command]:
        if isinstance(command, click.Group):
            for below in command.commands.values():
                yield from leaves(below)
        else:
            yield command

    for name in cli.list_commands(context):
        found = cli.get_command(context, name)
        assert found
        for each in leaves(found):
            assert any(p.name == "lang" for p in each.params) == (name != "atc"), each.name
