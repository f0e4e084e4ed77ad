"""Operands, attributes and rules of a specification in words, and all of it as JSON values."""

import math

import msgspec

from atc_py.check.condition_words import sentence, value_text, when_words, with_condition
from atc_py.check.conditions import evidence_words
from atc_py.check.findings import Standing
from atc_py.report.check.words import LEVELS
from atc_py.spec import AttributeSpec, Level, OperandSpec, OpSpec, Rule
from atc_py.spec.implied import rules_of
from atc_py.spec.rewrites import REWRITES
from atc_py.text import SEMICOLON, Text, verbatim

_NOTHING: tuple[object, ...] = (None, (), [], {})


def operand_words(spec: OpSpec, operand: OperandSpec) -> Text:
    dtypes = spec.dtypes_of(operand)
    if operand.same_as is not None:
        text = Text("dtype of {same_as}", same_as=operand.same_as)
    elif dtypes is None:
        text = Text("any dtype")
    else:
        text = verbatim(" ".join(dtype.value for dtype in dtypes))
    facts = [text]
    if operand.all_layouts:
        facts.append(Text(" or ").join(operand.all_layouts))
    elif operand.rank is not None:
        facts.append(Text("rank {rank}", rank=operand.rank))
    if operand.optional:
        facts.append(Text("optional"))
    if operand.variadic:
        facts.append(Text("variadic"))
    return SEMICOLON.join([*facts, *_standing(operand), *_sureness(operand)])


def attribute_words(row: AttributeSpec) -> Text:
    facts = [verbatim(row.type.value)]
    if row.listed_as is not None:
        facts.append(Text("listed as {listed_as}", listed_as=row.listed_as))
    if row.required:
        facts.append(Text("required", context="attribute"))
    if row.superfluous:
        facts.append(Text("follows from the shapes"))
    facts += [*_defaults(row), *_attribute_bounds(row)]
    if row.otherwise is not Level.ERROR and row.supported:
        facts.append(Text("otherwise ") + _consequence(row.otherwise, row.rewrite))
    return SEMICOLON.join([*facts, *_standing(row), *_sureness(row)])


def rule_words(spec: OpSpec, rule: Rule) -> Text:
    text = sentence(spec, rule)
    if rule.when is not None:
        text = with_condition(text, when_words(rule.when))
    text += Text("; else ") + _consequence(rule.level, rule.rewrite)
    return SEMICOLON.join([text, *_sureness(rule)]) + verbatim(f" [{spec.place_of(rule.line)}]")


def _sureness(row: AttributeSpec | OperandSpec | Rule) -> list[Text]:
    """The words on a rule that is more or less sure than that the list states it."""
    facts: list[Text] = []
    if row.proven is not None:
        facts.append(Text("proven ({proven})", proven=row.proven))
    if row.contradicted is not None:
        facts.append(Text("contradicted: boards take ") + evidence_words(row.contradicted))
    return facts


def _consequence(level: Level, rewrite: str | None) -> Text:
    words = LEVELS[Standing.of(level)]
    if rewrite is None or rewrite not in REWRITES:
        return words
    return words + Text(" (") + REWRITES[rewrite] + Text(")")


def spec_json(spec: OpSpec) -> dict[str, object]:
    """A specification as JSON values, without empty keys."""
    whole: dict[str, object] = msgspec.to_builtins(spec)
    kept = {
        key: _json_value(value)
        for key, value in whole.items()
        if not key.startswith("@") and value not in _NOTHING
    }
    rules = [_rule_json(spec, rule) for rule in rules_of(spec)]
    return {**kept, "rules": rules, "group": spec.group, "file": spec.file_name}


def _rule_json(spec: OpSpec, rule: Rule) -> dict[str, object]:
    text = sentence(spec, rule)
    document: dict[str, object] = {
        "rule": rule.name,
        "level": rule.level.value,
        "place": spec.place_of(rule.line),
        "sentence": text.as_json(),
    }
    if rule.when is not None:
        document["when"] = when_words(rule.when).as_json()
    if rule.proven is not None:
        document["proven"] = rule.proven
    if rule.contradicted is not None:
        document["contradicted"] = evidence_words(rule.contradicted).as_json()
    if rule.rewrite is not None:
        words = REWRITES.get(rule.rewrite, Text(""))
        document["rewrite"] = {"name": rule.rewrite, "sentence": words.as_json()}
    return document


def _json_value(value: object) -> object:
    """A part of a specification as JSON has it: infinity is text, `@line` is `line`."""
    if isinstance(value, dict):
        return {k.lstrip("@"): _json_value(v) for k, v in value.items() if v not in _NOTHING}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def _defaults(row: AttributeSpec) -> list[Text]:
    facts: list[Text] = []
    if row.default is not None:
        value = value_text(row.default)
        facts.append(Text("default {value}", value=value))
    if row.default_before is not None:
        opset, value = row.default_before.opset, value_text(row.default_before.value)
        facts.append(Text("before opset {opset} default {value}", opset=opset, value=value))
    if row.listed_default is not None:
        value = value_text(row.listed_default)
        facts.append(Text("the list's default is {value}", value=value))
    return facts


def _attribute_bounds(row: AttributeSpec) -> list[Text]:
    facts: list[Text] = []
    if row.one_of:
        facts.append(Text("one of ") + verbatim(value_text(row.one_of)))
    if row.range is not None:
        facts.append(Text("in ") + verbatim(value_text(row.range)))
    if row.each is not None:
        facts.append(Text("each in ") + verbatim(value_text(row.each)))
    return facts


def _standing(row: AttributeSpec | OperandSpec) -> list[Text]:
    facts: list[Text] = []
    if not row.supported:
        facts.append(Text("not supported yet: ") + _consequence(row.otherwise, row.rewrite))
    if not row.listed:
        facts.append(Text("not on the list"))
    if row.since is not None:
        facts.append(Text("from opset {since}", since=row.since))
    if row.until is not None:
        facts.append(Text("until opset {until}", until=row.until))
    return facts
