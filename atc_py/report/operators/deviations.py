"""Deviations of CANN from ONNX in words, for `ops show` and the derived page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.check.condition_words import when_words, with_condition
from atc_py.check.deviations import certainty_on
from atc_py.check.sentences import sentence
from atc_py.diag import SEMICOLON, Words
from atc_py.spec.deviations import Certainty
from atc_py.spec.generations import editions, generations
from atc_py.spec.model import compressed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from atc_py.spec import OpSpec
    from atc_py.spec.deviations import Deviation

__all__ = ["CERTAINTIES", "deviation_words", "generation_words", "registered_words", "same_when"]

CERTAINTIES: Mapping[Certainty, Words] = {
    Certainty.PROVEN: Words("proven", "已证实"),
    Certainty.INFERRED: Words("inferred", "推断"),
}
"""Grounds of a statement about CANN."""


def deviation_words(spec: OpSpec, row: Deviation) -> Words:
    """Return everything about a deviation but its name."""
    facts = [
        same_when(spec, row),
        (Words("else refused: ", "否则拒绝：") if row.refused else Words("else ", "否则"))
        + Words(row.effect.en, row.effect.zh),
        generation_words(row),
    ]
    if row.undefined:
        facts.append(Words("its result is not defined", "结果不确定"))
    return SEMICOLON.join(facts) + Words.same(f" [{spec.place_of(row.line)}]")


def same_when(spec: OpSpec, row: Deviation) -> Words:
    """Return the rule under which CANN means what ONNX means."""
    rule = row.unless
    text = sentence(spec, rule)
    return text if rule.when is None else with_condition(text, when_words(rule.when))


def generation_words(row: Deviation) -> Words:
    """Return the generations that have a deviation: `CANN 5, 6 (proven), 7 (inferred)`."""
    texts = []
    for certainty, words in CERTAINTIES.items():
        majors = [each.major for each in generations() if certainty_on(row, each) is certainty]
        if majors:
            listed = ", ".join(map(str, majors))
            texts.append(Words(f"{listed} ({words.en})", f"{listed}（{words.zh}）"))
    return Words("CANN ", "CANN ") + Words(", ", "，").join(texts)


def registered_words(spec: OpSpec) -> list[tuple[str, Words]]:
    """Return the opsets at which each edition's parser has the operator, if they are not those of most."""
    rows = []
    for edition in editions():
        own = next((row for row in spec.registered if row.edition == edition.year), None)
        if own is None:
            continue
        numbers = tuple(opset for first, last in own.opsets for opset in range(first, last + 1))
        text = Words.same(compressed(numbers)) if numbers else Words("none", "无")
        if own.name is not None:
            text += Words(f", as {own.name}", f"，类型名为 {own.name}")
        rows.append((str(edition.year), text))
    return rows
