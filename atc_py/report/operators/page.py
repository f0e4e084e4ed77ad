"""Everything that is known about one operator, as `ops show` prints it, in text and JSON."""

from collections.abc import Mapping, Sequence

from atc_py.check.condition_words import sentence, when_words, with_condition
from atc_py.check.deviations import certainty_on, registered_on
from atc_py.onnx_graph.source import SchemaHistory
from atc_py.report.operators.diff import history_json, history_rows
from atc_py.report.operators.rules import attribute_words, operand_words, rule_words, spec_json
from atc_py.report.wrapping import columns, wrap
from atc_py.spec import OpSpec
from atc_py.spec.deviations import Certainty, Deviation, Registered
from atc_py.spec.implied import rules_of
from atc_py.spec.lists import releases
from atc_py.spec.model import compressed
from atc_py.text import SEMICOLON, Text, Words, verbatim
from atc_py.text.language import spoken

CERTAINTIES: Mapping[Certainty, Text] = {
    Certainty.PROVEN: Text("proven"),
    Certainty.INFERRED: Text("inferred"),
}
"""Grounds of a statement about CANN."""


def deviation_words(spec: OpSpec, row: Deviation) -> Text:
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
    """The rule under which CANN means what ONNX means."""
    rule = row.unless
    text = sentence(spec, rule)
    return text if rule.when is None else with_condition(text, when_words(rule.when))


def generation_words(row: Deviation) -> Text:
    """The releases that have a deviation: `CANN 5, 6 (proven), 7 (inferred)`."""
    texts = []
    for certainty, words in CERTAINTIES.items():
        names = [each.name for each in releases() if certainty_on(row, each) is certainty]
        if names:
            texts.append(Text("{value} ({note})", value=", ".join(names), note=words))
    return Text("CANN ") + Text(", ").join(texts)


def registered_words(spec: OpSpec) -> list[tuple[str, Text]]:
    """The opsets at which releases' parsers have the operator, where they are not those of most."""
    named: dict[Registered, list[str]] = {}
    for release in releases():
        own = registered_on(spec, release)
        if own is not None:
            named.setdefault(own, []).append(release.name)
    return [(", ".join(names), _opset_words(own)) for own, names in named.items()]


def _opset_words(row: Registered) -> Text:
    numbers = tuple(opset for first, last in row.opsets for opset in range(first, last + 1))
    text = verbatim(compressed(numbers)) if numbers else Text("none")
    return text + Text(", as {own}", own=row.name) if row.name is not None else text


_INDENT = "  "

_TITLES = {
    "inputs": Text("Inputs"),
    "outputs": Text("Outputs"),
    "attributes": Text("Attributes"),
    "rules": Text("Rules"),
    "registered": Text("Opsets of CANN's parser"),
    "deviations": Text("Where CANN deviates from ONNX"),
    "target": Text("Target operator"),
    "example": Text("Example"),
    "versions": Text("Versions of ONNX"),
    "notes": Text("Notes"),
    "file": Text("Specification: "),
    "also": Text("Nodes may be taken by another list, too: "),
    "opsets": Text("Opsets: "),
    "unpublished": Text("Not published (it does not compile)"),
    "restated": Text("Restated at a listed opset from opset "),
    "listed_as": Text("Listed as: "),
    "custom": Text("custom"),
}


def operator_lines(spec: OpSpec, history: SchemaHistory, also: Sequence[str] = ()) -> list[str]:
    summary = Words(spec.summary.en, spec.summary.zh)
    opsets = spoken(_TITLES["custom"]) if spec.custom else spec.opset_text
    lines = [f"{spec.op} ({spec.group})", *_paragraph(spoken(summary))]
    lines += ["", f"{spoken(_TITLES['opsets'])}{opsets}"]
    lines.append(f"{spoken(_TITLES['file'])}{spec.file_name}")
    if also:
        names = ", ".join(also)
        lines.append(f"{spoken(_TITLES['also'])}{names} (--list)")
    if spec.listed_as is not None:
        lines.append(f"{spoken(_TITLES['listed_as'])}{spec.listed_as}")
    if spec.restated_since > 1:
        lines.append(f"{spoken(_TITLES['restated'])}{spec.restated_since}")
    for key, rows in _sections(spec, history).items():
        lines += _section(spoken(_TITLES[key]), [(name, spoken(words)) for name, words in rows])
    if spec.unpublished is not None:
        text = Words(spec.unpublished.en, spec.unpublished.zh)
        lines += ["", spoken(_TITLES["unpublished"]), *_paragraph(spoken(text))]
    if spec.notes is not None:
        notes = Words(spec.notes.en, spec.notes.zh or spec.notes.en)
        lines += ["", spoken(_TITLES["notes"]), *_paragraph(spoken(notes))]
    return lines


def operator_json(spec: OpSpec, history: SchemaHistory) -> dict[str, object]:
    versions = history_json(spec, history)
    return {**spec_json(spec), **({"versions": versions} if versions else {})}


def _sections(spec: OpSpec, history: SchemaHistory) -> Mapping[str, Sequence[tuple[str, Text]]]:
    return {
        "inputs": [(row.name, operand_words(spec, row)) for row in spec.inputs],
        "outputs": [(row.name, operand_words(spec, row)) for row in spec.outputs],
        "attributes": [(row.name, attribute_words(row)) for row in spec.attributes],
        "rules": [("-", rule_words(spec, rule)) for rule in rules_of(spec)],
        "registered": registered_words(spec),
        "deviations": [(row.name, deviation_words(spec, row)) for row in spec.deviations],
        "target": _target(spec),
        "example": _example(spec),
        "versions": history_rows(spec, history),
    }


def _target(spec: OpSpec) -> list[tuple[str, Text]]:
    if spec.target is None:
        return []
    renamed = [f"{theirs} = {ours}" for theirs, ours in spec.target.attributes.items()]
    return [(spec.target.op, verbatim(", ".join(renamed)))]


def _example(spec: OpSpec) -> list[tuple[str, Text]]:
    example = spec.example
    rows = []
    for name, shape in example.inputs.items():
        dims = "x".join(str(dim) for dim in shape)
        text = verbatim(dims) if dims else Text("scalar")
        if name in example.values:
            text += Text(", constant ") + verbatim(list(example.values[name]))
        rows.append((name, text))
    rows += [
        (name, Text("constant ") + verbatim(list(values)))
        for name, values in example.values.items()
        if name not in example.inputs
    ]
    for name, value in example.attributes.items():
        plain = list(value) if isinstance(value, tuple) else value
        rows.append((name, verbatim(f"= {plain}")))
    return rows


def _section(title: str, rows: Sequence[tuple[str, str]]) -> list[str]:
    if not rows:
        return []
    column = max(columns(name) for name, _ in rows) + 2
    lines = ["", title]
    for name, text in rows:
        head = f"{_INDENT}{name}{' ' * (column - columns(name))}"
        lines += wrap(text, head, " " * columns(head))
    return lines


def _paragraph(text: str) -> list[str]:
    return wrap(text, _INDENT, _INDENT)
