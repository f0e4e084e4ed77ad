"""Every kind of rule has a predicate, and its words fit its arguments in both languages."""

from __future__ import annotations

import re
from string import Formatter
from typing import get_args

import pytest

from atc_py.check.condition_words import filled, predicate_of, predicates, sentence
from atc_py.check.predicate import Predicate
from atc_py.diag import all_codes
from atc_py.spec import OpSpec, library
from atc_py.spec import implied as implied_rules
from atc_py.spec.deviations import DeviationRule
from atc_py.spec.implied import rules_of
from atc_py.spec.rule import Rule
from tests.failures import in_one_item
from tests.spec.every_list import each_spec, list_of, parameters

IMPLIED = {
    kind
    for name in dir(implied_rules)
    if isinstance(kind := getattr(implied_rules, name), type)
    and issubclass(kind, Rule)
    and kind.__module__ == implied_rules.__name__
}
KINDS = sorted({*get_args(DeviationRule), *IMPLIED}, key=lambda kind: str(kind.__name__))
ROWS = [pytest.param(row, id=row.kind.__name__) for row in predicates()]
LONGEST = 160
LONGER = {("cann-9.0", "Einsum", "equation_one_of")}
"""List, operator and rule whose sentence is longer: it names the twenty equations allowed."""


def holes(text: str) -> set[str]:
    """Return the names in braces."""
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@in_one_item("kind", KINDS)
def test_every_kind_of_rule_has_a_predicate(kind: type[Rule]) -> None:
    assert predicate_of(kind).kind is kind


def test_no_predicate_answers_rules_that_do_not_exist() -> None:
    assert {row.kind for row in predicates()} == set(KINDS)
    assert {row.code for row in predicates()} <= set(all_codes())


@in_one_item("row", ROWS)
def test_holes_are_arguments_of_the_rule_and_the_same_in_both_languages(row: Predicate) -> None:
    own = set(row.kind.__struct_fields__) - set(Rule.__struct_fields__)
    for words in (row.sentence, row.help):
        assert holes(words.en) <= own | {"op"}
        assert holes(words.en) == holes(words.zh)
    assert "op" in holes(row.sentence.en)
    # What the rule is about must be named, and every bound that it sets. Windows that `small` leaves
    # out get no message.
    assert own - {"default", "fed", "small"} <= holes(row.sentence.en)


@in_one_item("row", ROWS)
def test_words_are_of_their_language_and_end_without_a_stop(row: Predicate) -> None:
    for words in (row.sentence, row.help):
        assert words.en.isascii()
        assert re.search("[\u4e00-\u9fff]", words.zh)
        assert not re.search("[,;:()](?![^{}]*})", re.sub(r"\[-r, r - 1\]", "", words.zh))
        assert words.en[-1] not in "。."
        assert words.zh[-1] not in "。."


@in_one_item("spec", parameters(each_spec()))
def test_sentences_of_every_rule_of_every_operator_are_short_and_whole(spec: OpSpec) -> None:
    for rule in rules_of(spec):
        for words in (sentence(spec, rule), filled(predicate_of(type(rule)).help, spec, rule)):
            for text in (words.en, words.zh):
                assert not re.search("[{}\n]|None|  ", text)
        said = sentence(spec, rule)
        assert spec.op in said.en
        assert spec.op in said.zh
        longer = (list_of(spec), spec.op, rule.name) in LONGER
        assert (max(len(said.en), len(said.zh)) > LONGEST) is longer


@pytest.mark.parametrize(
    ("op", "start", "english", "chinese"),
    [
        (
            "Conv",
            "attr_each_in_range",
            "dilations of Conv must have every element in [1, 255]",
            "Conv 的 dilations 的每个元素须在 [1, 255] 内",
        ),
        (
            "RoiAlign",
            "dim_in_range",
            "rois of RoiAlign must have dimension K exactly 4",
            "RoiAlign 的 rois 的 K 维须等于 4",
        ),
        (
            "GatherND",
            "rank_in_range",
            "data of GatherND must have a rank at least 1",
            "GatherND 的 data 的秩须不小于 1",
        ),
    ],
)
def test_sentence_reads_as_a_sentence(op: str, start: str, english: str, chinese: str) -> None:
    spec = next(spec for spec in library().all() if spec.op == op)
    rule = next(rule for rule in rules_of(spec) if rule.name == start)
    said = sentence(spec, rule)
    assert (said.en, said.zh) == (english, chinese)
