"""`atc-py explain`: pages in both languages, with examples that print what they show."""

import json
import re
from typing import Any

import pytest

from atc_py.cli.main import main
from atc_py.diag import all_codes
from atc_py.report.explained.page import FOLDER, SIDES, code_list, code_page, example_of, examples
from atc_py.text.language import speak
from tests.example_faults import FAULTS
from tests.explained_examples import run_example, stored_text
from tests.failures import in_one_item
from tests.sampling import some

CODES = [each.id for each in all_codes()]

STARTING = re.compile(r"atc-py (exec|sweep|kernels \S+\.onnx --verify)|python tasks")
"""Commands that start other programs, each for a second: Python, or a C++ compiler."""


def marked(code: str) -> Any:
    """Return a code as a case; of those that start programs `make test` tries none."""
    example = example_of(code)
    lines = [] if example is None else [*example.lines("before"), *example.lines("after")]
    slow = any(STARTING.search(line) for line in lines)
    return pytest.param(code, marks=pytest.mark.sweep if slow else [])


@pytest.mark.parametrize("code", [marked(each) for each in some(CODES, 3)])
def test_example_prints_what_the_page_shows(code: str) -> None:
    kept = examples()[code]
    assert kept.prints == run_example(kept), "run `make docs`"


@in_one_item("code", CODES)
def test_example_shows_its_code_and_what_ends_without_it(code: str) -> None:
    prints = examples()[code].prints
    assert list(prints) == list(SIDES)
    for printed in prints["before"].values():
        assert code in printed
    for printed in prints["after"].values():
        assert code not in printed


def test_every_code_has_an_example_and_every_fault_is_used() -> None:
    assert list(examples()) == CODES
    assert {each.fault for each in examples().values()} == {None, *FAULTS}


def test_notes_are_in_both_languages() -> None:
    notes = {code: list(each.note) for code, each in examples().items() if each.note}
    assert {code: found for code, found in notes.items() if found != ["en", "zh"]} == {}


def test_file_keeps_what_its_author_wrote() -> None:
    text = (FOLDER / "ATC1001.yaml").read_text(encoding="utf-8")
    assert stored_text("ATC1001") == text


@pytest.mark.parametrize(("language", "most"), [("en", 100), ("zh", 65)])
def test_list_has_a_short_line_for_each_code(language: str, most: int) -> None:
    lines = code_list(all_codes(), language)
    assert len(lines) == len(all_codes())
    texts = [line.split(maxsplit=2)[2] for line in lines]
    assert [text for text in texts if len(text) > most] == []


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
