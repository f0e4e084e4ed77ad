"""The catalogs: every text of the code is in them, nothing else is, and how a text is said."""

import ast
import copy
import json
import os
import re
from pathlib import Path

import click
import numpy as np
import pytest

from atc_py.adapters.atc.options import GROUPS
from atc_py.check.condition_words import predicates
from atc_py.diag import all_codes
from atc_py.fix.rule import load_rules
from atc_py.passes.pipeline import PIPELINE
from atc_py.spec.lists import operator_lists
from atc_py.text import (
    COLON,
    COMMA,
    CONTEXT,
    ENGLISH,
    LANGUAGES,
    Text,
    Words,
    all_of,
    catalog,
    error_text,
    one_of,
    plural,
    verbatim,
)
from atc_py.text.packed import packed, unpacked
from tests.failures import in_one_item
from tests.shown_texts import commands, help_texts, page_texts, table_texts
from tests.text_templates import (
    SOURCES,
    all_strings,
    composed_templates,
    english_values,
    keys_of_texts,
)

PLACE = re.compile(r"\{ ?([a-z]\w*)\}")
OTHERS = [language for language in LANGUAGES if language != ENGLISH]
BESIDE = {"cann", "count"}
"""Values that some texts have beside those of their English."""

WRITTEN = {"bold", "false", "scalar", " scale_w and "}
"""Values that are no words of ours: as files and shapes are written, and as `rich` is told."""

ADD = "add `msgid` and `msgstr` to atc_py/text/<language>.po"


def lacking(texts: dict[str, str] | set[str]) -> list[str]:
    """Return the texts with words that a catalog lacks, each with its module if that is known."""
    modules = texts if isinstance(texts, dict) else {}
    return [
        f"{language}: {modules.get(text, '')} {text!r}"
        for language in OTHERS
        for text in sorted(texts)
        if text not in catalog(language) and re.search("[a-z]{2}", PLACE.sub("", text))
    ]


def help_of_commands() -> set[str]:
    return {text for _, command in commands() for text in help_texts(command)}


def other_texts() -> set[str]:
    """Return the texts of codes, predicates, passes, rules of fix and atc's options: tables."""
    codes = {text for row in all_codes() for text in (row.meaning, row.remedy)}
    options = {row.words for rows in GROUPS.values() for row in rows if row.shown}
    releases = {row.release for row in operator_lists()}
    passes = {row.summary for row in PIPELINE}
    sentences = {row.sentence.en for row in predicates()}
    return {*codes, *options, *GROUPS, *releases, *passes, *sentences, *rule_texts()}


def rule_texts() -> set[str]:
    """Return the words of the rules of fix but for operators alone, which stay as they are."""
    texts = [rule.text for rule in load_rules().values()]
    said = {text for row in texts for text in (row.before, row.after, row.condition, row.float16)}
    return {str(text) for text in said if not re.fullmatch(r"\d*[A-Z][A-Za-z0-9]*", text)}


def texts_of_others() -> set[str]:
    """Return what the system says of errors, and the strings of click, as atc-py takes them."""
    found = {os.strerror(number) for number in range(1, 134)}
    for path in Path(click.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(" ".join(node.value.replace("!r}", "}").split()))
    return found


def test_no_text_lacks_its_translation() -> None:
    assert len(keys_of_texts()) > 1900  # the search finds them
    assert not lacking(keys_of_texts()), ADD


def test_no_text_that_is_put_together_lacks_its_translation() -> None:
    keys = [key.rpartition(CONTEXT)[2] for key in catalog("zh")]
    assert [
        pattern.pattern
        for pattern in composed_templates()
        if not any(pattern.fullmatch(key) for key in keys)
    ] == [], "write Text('... {place}', place=...) in place of an f-string"


def test_no_words_stand_in_places_of_texts_as_plain_strings() -> None:
    assert english_values() <= WRITTEN, "write Text(...)"


def test_no_help_table_or_page_lacks_its_translation() -> None:
    texts = help_of_commands() | other_texts() | table_texts() | page_texts()
    assert len(texts) > 700
    assert not lacking(texts), ADD


@pytest.mark.parametrize("language", OTHERS)
def test_no_entry_is_left_that_no_code_has(language: str) -> None:
    known = all_strings() | keys_of_texts().keys() | help_of_commands() | page_texts()
    known |= texts_of_others() | other_texts()
    left = [
        key
        for key in catalog(language)
        if key not in known
        and key.rpartition(CONTEXT)[2] not in known
        and not any(each.fullmatch(key.rpartition(CONTEXT)[2]) for each in composed_templates())
    ]
    assert left == [], (
        f"give each its new text as `msgid` in atc_py/text/{language}.po, or remove it if it went"
    )


@pytest.mark.parametrize("language", OTHERS)
def test_translations_keep_what_is_put_in(language: str) -> None:
    for key, translation in catalog(language).items():
        template = key.rpartition(CONTEXT)[2]
        assert set(PLACE.findall(translation)) <= {*PLACE.findall(template), *BESIDE}, key


def test_no_chinese_stands_in_the_code() -> None:
    left = [
        path for path in SOURCES.rglob("*.py") if re.search("[\u4e00-\u9fff]", path.read_text())
    ]
    assert left == [], ADD


def test_chinese_is_chinese() -> None:
    for key, translation in catalog("zh").items():
        if len(re.findall(r"\b[a-z]{3,}", PLACE.sub("", key))) > 4:  # names of operators stay
            assert re.search(r"[\u4e00-\u9fff]", translation), key


@in_one_item(
    ("text", "english", "chinese"),
    [
        (Text("no layer fails"), "no layer fails", "没有不合格的层"),
        (Text("nothing like a text"), "nothing like a text", "nothing like a text"),
        (Text("{n} nodes", n=3), "3 nodes", "3 个节点"),
        (Text("{n} nodes", n=np.float16(0.1)), "0.0999755859375 nodes", "0.0999755859375 个节点"),
        (Text("{n} nodes", n="{n}"), "{n} nodes", "{n} 个节点"),
        (Text("cannot read {path}: {strerror}", path="a", strerror="{path}"),
         "cannot read a: {path}", "无法读取 a：{path}"),
        # A value that is a text is said, a name is not.
        (Text("none: {why}", why=Text("none")), "none: none", "无：无"),
        (Text("none: {why}", why="none"), "none: none", "无：none"),
        (plural(1, "{n} node", "{n} nodes"), "1 node", "1 个节点"),
        (plural(2, "{n} node", "{n} nodes"), "2 nodes", "2 个节点"),
        # Chinese sets a blank before Latin letters.
        (Text(", found {observed}", observed=7), ", found 7", "，实际为 7"),
        (Text(", found {observed}", observed=Text("none")), ", found none", "，实际为无"),
        (Text("required"), "required", "必需"),
        (Text("required", context="attribute"), "required", "必选"),
        (Text("none") + COLON + "none", "none: none", "无：none"),
        ("x" + Text("none"), "xnone", "x无"),
        (COMMA.join(["a", Text("none")]), "a, none", "a，无"),
        (verbatim("none"), "none", "none"),
        (Words("none", "甲"), "none", "甲"),
        (one_of("a"), "a", "a"),
        (one_of(["a", "b", "c"]), "a, b or c", "a 或 b 或 c"),
        (all_of(["a", "b", "c"]), "a, b and c", "a、b、c"),
        (Text("none: {why}", why=ValueError(Text("none"))), "none: none", "无：无"),
        (error_text(ValueError(Text("none"))), "none", "无"),
        (Text(Text("none")), "none", "无"),
        (Text("{n} nodes").with_values(n=1), "1 nodes", "1 个节点"),
    ],
)  # fmt: skip
def test_text_is_said_in_each_language(text: Text, english: str, chinese: str) -> None:
    assert (str(text), text, text.en) == (english, english, english)
    assert text.in_language("zh") == text.zh == chinese
    assert text.as_json() == {"en": english, "zh": chinese}
    assert copy.deepcopy(text).as_json() == text.as_json()
    sent = json.dumps(packed({"a": [text]}))  # to another process
    assert json.loads(sent, object_hook=unpacked)["a"][0].as_json() == text.as_json()
