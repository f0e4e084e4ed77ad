"""Deviations of CANN from ONNX in words, for `ops show` and the derived page."""

from collections.abc import Mapping

from atc_py.check.condition_words import when_words, with_condition
from atc_py.check.deviations import certainty_on
from atc_py.check.sentences import sentence
from atc_py.spec import OpSpec
from atc_py.spec.deviations import Certainty, Deviation
from atc_py.spec.generations import editions, generations
from atc_py.spec.model import compressed
from atc_py.text import SEMICOLON, Text, Words, verbatim

CERTAINTIES: Mapping[Certainty, Text] = {
    Certainty.PROVEN: Text("proven"),
    Certainty.INFERRED: Text("inferred"),
}
"""Grounds of a statement about CANN."""


def deviation_words(spec: OpSpec, row: Deviation) -> Text:
    """Return everything about a deviation but its name."""
    facts = [
        same_when(spec, row),
        (Text("else refused: ") if row.refused else Text("else "))
        + Words(row.effect.en, row.effect.zh),
        generation_words(row),
    ]
    if row.undefined:
        facts.append(Text("its result is not defined"))
    return SEMICOLON.join(facts) + verbatim(f" [{spec.place_of(row.line)}]")


def same_when(spec: OpSpec, row: Deviation) -> Text:
    """Return the rule under which CANN means what ONNX means."""
    rule = row.unless
    text = sentence(spec, rule)
    return text if rule.when is None else with_condition(text, when_words(rule.when))


def generation_words(row: Deviation) -> Text:
    """Return the generations that have a deviation: `CANN 5, 6 (proven), 7 (inferred)`."""
    texts = []
    for certainty, words in CERTAINTIES.items():
        majors = [each.major for each in generations() if certainty_on(row, each) is certainty]
        if majors:
            listed = ", ".join(map(str, majors))
            texts.append(Text("{value} ({note})", value=listed, note=words))
    return Text("CANN ") + Text(", ").join(texts)


def registered_words(spec: OpSpec) -> list[tuple[str, Text]]:
    """Return the opsets at which each edition's parser has the operator, if they are not those of most."""
    rows = []
    for edition in editions():
        own = next((row for row in spec.registered if row.edition == edition.year), None)
        if own is None:
            continue
        numbers = tuple(opset for first, last in own.opsets for opset in range(first, last + 1))
        text = verbatim(compressed(numbers)) if numbers else Text("none")
        if own.name is not None:
            text += Text(", as {own}", own=own.name)
        rows.append((str(edition.year), text))
    return rows
