"""The page on planning: its commands run, and its example prints what it shows."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from atc_py.cli.main import main
from tests.quantizing.plan.test_plan import chain
from tests.test_int8_page import BLOCK
from tests.test_readme import commands

PAGE = Path(__file__).resolve().parent.parent / "docs" / "planning.md"
TEXT = PAGE.read_text(encoding="utf-8")


def blocks(kind: str) -> Iterator[str]:
    return (block["text"] for block in BLOCK.finditer(TEXT) if block["kind"] == kind)


def test_command_writes_files_that_convert_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    chain(tmp_path, 4096)
    ((line, _),) = commands(next(text for text in blocks("console") if "html" in text))
    program, *arguments = shlex.split(line)
    assert program == "atc-py"
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 0
    assert "target snr >= 40: reached" in capsys.readouterr().out
    assert "Error against time" in Path("plan.html").read_text(encoding="utf-8")


def test_example_prints_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    chain(tmp_path, 4_194_304)
    names: dict[str, Any] = {}
    exec(compile(next(blocks("python")), str(PAGE), "exec"), names)  # noqa: S102  (our own page)
    assert capsys.readouterr().out == next(blocks("text"))
