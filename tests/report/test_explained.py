"""`atc-py explain`: pages in both languages, with examples that print what they show."""

from __future__ import annotations

import json

import pytest

from atc_py.cli.main import main
from atc_py.diag.codes import all_codes
from atc_py.diag.language import speak
from atc_py.report.explained.page import code_list, code_page, examples
from tests.explained_examples import EXAMPLES, FILE, Example, run_example

MOST_WITHOUT_EXAMPLE = 115
"""Codes without an example; lower it as they get theirs, and never raise it."""

SAMPLE = {"ATC2001", "ATC3004"}


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(each, id=each.code, marks=[] if each.code in SAMPLE else pytest.mark.sweep)
        for each in EXAMPLES
    ],
)
def test_example_prints_what_the_page_shows(example: Example) -> None:
    kept = examples()[example.code]
    assert kept["commands"] == {"before": example.before, "after": example.after}
    assert kept["output"] == run_example(example), "run `make docs`"


def test_examples_show_their_code_and_what_ends_without_it() -> None:
    assert set(examples()) == {each.code for each in EXAMPLES}
    for code, example in examples().items():
        for printed in example["output"].values():
            assert f"[{code} " in printed["before"], code
            assert f"[{code} " not in printed["after"], code


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
    kept = json.loads(FILE.read_text(encoding="utf-8"))["ATC3004"]
    assert row["example"]["before"]["output"] == kept["output"]["en"]["before"]
