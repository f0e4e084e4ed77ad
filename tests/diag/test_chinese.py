"""Messages in Chinese: every code, every template, every help and table, and how texts match."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from atc_py.atc.options import GROUPS
from atc_py.diag import chinese as catalogs
from atc_py.diag.chinese import catalog, chinese
from atc_py.diag.codes import all_codes
from atc_py.passes.manager import PIPELINE
from tests.failures import in_one_item
from tests.message_templates import message_parts, message_templates
from tests.shown_texts import commands, help_texts, table_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

PLACE = re.compile(r"\{\d+\}")
SEVERAL_WORDS = re.compile(r"(?<![\w.:/\-_{])[A-Za-z]?[a-z]+'?[a-z]* [a-z]{2,}(?![\w./:_=-])")
"""English in a part of a message; a single word in it may be a name."""


@pytest.fixture
def one_template(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Give a catalog of one's own."""
    found: dict[str, str] = {}
    monkeypatch.setattr(catalogs, "catalog", lambda: found)
    catalogs._templates.cache_clear()
    yield found
    catalogs._templates.cache_clear()


def test_every_code_has_its_page_in_chinese() -> None:
    texts = [text for row in all_codes() for text in (row.meaning, row.remedy)]
    assert [text for text in texts if text not in catalog()] == []


def test_no_message_lacks_its_chinese() -> None:
    templates = message_templates()
    assert len(templates) > 950  # the search finds them
    lacking = {text: path for text, path in templates.items() if text not in catalog()}
    listed = "\n".join(f"{path}: {text}" for text, path in lacking.items())
    assert not lacking, f"add their Chinese to atc_py/diag/chinese/*.po:\n{listed}"


def test_no_part_of_a_message_lacks_its_chinese() -> None:
    parts = {text: path for text, path in message_parts().items() if SEVERAL_WORDS.search(text)}
    assert len(parts) > 150
    assert {text: path for text, path in parts.items() if text not in catalog()} == {}


def test_no_help_lacks_its_chinese() -> None:
    texts = {text for _, command in commands() for text in help_texts(command)}
    assert len(texts) > 200
    assert sorted(texts - set(catalog())) == []


def test_no_table_lacks_its_chinese() -> None:
    texts = table_texts()
    assert len(texts) > 130  # titles and headings
    assert sorted(text for text in texts if chinese(text) == text and text not in catalog()) == []


def test_no_option_of_atc_lacks_its_chinese() -> None:
    texts = {text for rows in GROUPS.values() for row in rows if row.shown for text in [row.words]}
    assert sorted({*texts, *GROUPS} - set(catalog())) == []


def test_no_pass_lacks_its_chinese() -> None:
    assert [row.summary for row in PIPELINE if row.summary not in catalog()] == []


def test_translations_are_chinese_and_keep_what_is_put_in() -> None:
    for english, translation in catalog().items():
        assert sorted(PLACE.findall(english)) == sorted(PLACE.findall(translation)), english
        plain = PLACE.sub("", english)
        if len(re.findall(r"\b[a-z]{3,}", plain)) > 4:  # names of operators stay
            assert re.search(r"[\u4e00-\u9fff]", translation), english


@in_one_item(
    ("text", "expected"),
    [
        ("cannot read a.onnx: gone", "无法读取 a.onnx：gone"),
        ("there is no diagnostic 'x'", "没有诊断码 'x'"),
        ("nothing like a message", "nothing like a message"),
        ("", ""),
        # A reason inside a message is a message, too.
        (
            "--input-shape \"x\" cannot be read: 'x' is not of the form `name:dims`",
            "--input-shape \"x\" 无法读取：'x' 不是 `name:dims` 的形式",
        ),
    ],
)
def test_text_of_a_template_is_chinese(text: str, expected: str) -> None:
    assert chinese(text) == expected


def test_reasons_joined_by_semicolons_are_chinese_where_each_is(
    one_template: dict[str, str],
) -> None:
    one_template.update(
        {"error {0} found": "发现错误 {0}", "gone": "没有", "low: {0}; high": "范围 {0}"}
    )
    assert chinese("error 3 found; gone") == "发现错误 3；没有"
    assert chinese("gone; no such text") == "gone; no such text"
    assert chinese("low: 1; high") == "范围 1"


@in_one_item(
    ("template", "translation", "text", "expected"),
    [
        ("{0} of {1}", "{1} 的 {0}", "a of b", "b 的 a"),
        ("{0} of {1}", "{1} 的 {0}", "a in b", "a in b"),
        ("{0}{1} end", "{1}|{0}", "x end", "x|"),
        ("aba{0}aba", "甲{0}", "aba", "aba"),
        ("aba{0}aba", "甲{0}", "abaaba", "甲"),
        ("say {0}", "说 {0}", "say {0} and \\1", "说 {0} and \\1"),
    ],
)
def test_places_take_what_stands_there(
    one_template: dict[str, str], template: str, translation: str, text: str, expected: str
) -> None:
    one_template.clear()
    one_template[template] = translation
    catalogs._templates.cache_clear()
    assert chinese(text) == expected


def test_template_with_most_text_of_its_own_counts(one_template: dict[str, str]) -> None:
    one_template.update({"{0} is {1}": "短", "{0} is not {1}": "长"})
    assert chinese("a is not b") == "长"


def test_long_names_take_linear_time(one_template: dict[str, str]) -> None:
    one_template["{0} a{1} a{2} a{3} a{4}!"] = "{0}"
    text = " a" * 200_000
    assert chinese(text) == text
