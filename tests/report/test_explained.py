"""`atc-py explain`: pages in both languages, with examples that print what they show."""

from __future__ import annotations

import json

import pytest

from atc_py.cli.main import main
from atc_py.diag.codes import all_codes
from atc_py.diag.language import speak
from atc_py.report.explained.examples import FOLDER, SIDES, example_of, examples
from atc_py.report.explained.page import code_list, code_page
from tests.example_faults import FAULTS
from tests.explained_examples import run_example, stored_text

MOST_WITHOUT_EXAMPLE = 34
"""Codes without an example; lower it as they get theirs, and never raise it."""

CODES = sorted(examples())


@pytest.mark.parametrize("code", CODES)
def test_example_prints_what_the_page_shows(code: str) -> None:
    kept = examples()[code]
    assert kept.prints == run_example(kept), "run `make docs`"


@pytest.mark.parametrize("code", CODES)
def test_example_shows_its_code_and_what_ends_without_it(code: str) -> None:
    prints = examples()[code].prints
    assert list(prints) == list(SIDES)
    for printed in prints["before"].values():
        assert code in printed
    for printed in prints["after"].values():
        assert code not in printed


def test_examples_are_of_codes_and_use_all_faults() -> None:
    assert {each.id for each in all_codes()} >= set(examples())
    assert {each.fault for each in examples().values()} == {None, *FAULTS}


def test_notes_are_in_both_languages() -> None:
    notes = {code: list(each.note) for code, each in examples().items() if each.note}
    assert {code: found for code, found in notes.items() if found != ["en", "zh"]} == {}


def test_file_keeps_what_its_author_wrote() -> None:
    text = (FOLDER / "ATC1001.yaml").read_text(encoding="utf-8")
    assert stored_text("ATC1001") == text


def test_codes_without_an_example_become_fewer() -> None:
    assert len(all_codes()) - len(examples()) <= MOST_WITHOUT_EXAMPLE


def test_list_has_one_line_for_each_code_in_both_languages() -> None:
    for language in ("en", "zh"):
        lines = code_list(all_codes(), language)
        assert len(lines) == len(all_codes())
        assert all(len(line.split(maxsplit=2)) == 3 for line in lines)


def test_page_is_in_the_language_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["explain", "ATC3004", "--lang", "zh"])
    speak("en")
    printed = capsys.readouterr().out
    (row,) = (each for each in all_codes() if each.id == "ATC3004")
    assert printed.splitlines() == code_page(row, "zh")
    assert "原因：" in printed
    assert "之后：" in printed


def test_json_has_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["explain", "ATC3004", "--json"])
    (row,) = json.loads(capsys.readouterr().out)
    kept = example_of("ATC3004")
    assert kept is not None
    assert row["example"]["before"]["output"] == kept.prints["before"]["en"]
    assert row["example"]["before"]["command"] == "atc-py convert net.onnx"
    assert row["example"]["files"] == kept.files
