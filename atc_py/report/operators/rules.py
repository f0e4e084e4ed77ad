"""Operands, attributes and rules of a specification in words, and all of it as JSON values."""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from atc_py.check.condition_words import when_words, with_condition
from atc_py.check.evidence import evidence_words
from atc_py.check.findings import Standing
from atc_py.check.sentences import sentence
from atc_py.diag import SEMICOLON, Words
from atc_py.report.check.words import LEVELS
from atc_py.spec import Level
from atc_py.spec.implied import rules_of
from atc_py.spec.rewrites import REWRITES

if TYPE_CHECKING:
    from atc_py.spec import AttributeSpec, OperandSpec, OpSpec, Rule

__all__ = ["attribute_words", "operand_words", "rule_words", "spec_json"]

_NOTHING: tuple[object, ...] = (None, (), [], {})


def operand_words(spec: OpSpec, operand: OperandSpec) -> Words:
    """Return everything about an input or output but its name."""
    dtypes = spec.dtypes_of(operand)
    if operand.same_as is not None:
        text = Words(f"dtype of {operand.same_as}", f"类型同 {operand.same_as}")
    elif dtypes is None:
        text = Words("any dtype", "任意类型")
    else:
        text = Words.same(" ".join(dtype.value for dtype in dtypes))
    facts = [text]
    if operand.all_layouts:
        facts.append(Words(" or ", " 或 ").join(map(Words.same, operand.all_layouts)))
    elif operand.rank is not None:
        facts.append(Words(f"rank {operand.rank}", f"秩 {operand.rank}"))
    if operand.optional:
        facts.append(Words("optional", "可选"))
    if operand.variadic:
        facts.append(Words("variadic", "个数可变"))
    return SEMICOLON.join([*facts, *_standing(operand), *_sureness(operand)])


def attribute_words(row: AttributeSpec) -> Words:
    """Return everything about an attribute but its name."""
    facts = [Words.same(row.type.value)]
    if row.listed_as is not None:
        facts.append(Words(f"listed as {row.listed_as}", f"清单写作 {row.listed_as}"))
    if row.required:
        facts.append(Words("required", "必选"))
    if row.superfluous:
        facts.append(Words("follows from the shapes", "可由形状推出"))
    facts += [*_defaults(row), *_attribute_bounds(row)]
    if row.otherwise is not Level.ERROR and row.supported:
        facts.append(Words("otherwise ", "否则") + _consequence(row.otherwise, row.rewrite))
    return SEMICOLON.join([*facts, *_standing(row), *_sureness(row)])


def rule_words(spec: OpSpec, rule: Rule) -> Words:
    """Return a rule as a sentence, with its conditions, what follows otherwise, and its place."""
    text = sentence(spec, rule)
    if rule.when is not None:
        text = with_condition(text, when_words(rule.when))
    follows = _consequence(rule.level, rule.rewrite)
    text += Words("; else ", "；否则") + follows
    text = SEMICOLON.join([text, *_sureness(rule)])
    return text + Words.same(f" [{spec.place_of(rule.line)}]")


def _sureness(row: AttributeSpec | OperandSpec | Rule) -> list[Words]:
    """Return the words on a rule that is more or less sure than that the list states it."""
    facts: list[Words] = []
    if row.proven is not None:
        facts.append(Words(f"proven ({row.proven})", f"源码可证实（{row.proven}）"))
    if row.contradicted is not None:
        facts.append(
            Words("contradicted: boards take ", "有反证：板卡可用 ")
            + evidence_words(row.contradicted)
        )
    return facts


def _consequence(level: Level, rewrite: str | None) -> Words:
    """Return the consequence of a broken rule: its level, and what a rewrite does."""
    words = LEVELS[Standing.of(level)]
    if rewrite is None or rewrite not in REWRITES:
        return words
    return words + Words(" (", "（") + REWRITES[rewrite] + Words(")", "）")


def spec_json(spec: OpSpec) -> dict[str, object]:
    """Return a specification as JSON values, without empty keys."""
    whole: dict[str, object] = msgspec.to_builtins(spec)
    kept = {key: _json_value(value) for key, value in whole.items() if _belongs_in_json(key, value)}
    rules = [_rule_json(spec, rule) for rule in rules_of(spec)]
    return {**kept, "rules": rules, "group": spec.group, "file": spec.file_name}


def _rule_json(spec: OpSpec, rule: Rule) -> dict[str, object]:
    """Return a rule in sentences of both languages."""
    text = sentence(spec, rule)
    found: dict[str, object] = {
        "rule": rule.name,
        "level": rule.level.value,
        "place": spec.place_of(rule.line),
        "sentence": text.as_json(),
    }
    if rule.when is not None:
        found["when"] = when_words(rule.when).as_json()
    if rule.proven is not None:
        found["proven"] = rule.proven
    if rule.contradicted is not None:
        found["contradicted"] = evidence_words(rule.contradicted).as_json()
    if rule.rewrite is not None:
        words = REWRITES.get(rule.rewrite, Words("", ""))
        found["rewrite"] = {"name": rule.rewrite, "sentence": words.as_json()}
    return found


def _json_value(value: object) -> object:
    """Return a part of a specification as JSON has it: infinity is text, `@line` is `line`."""
    if isinstance(value, dict):
        return {k.lstrip("@"): _json_value(v) for k, v in value.items() if v not in _NOTHING}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def _belongs_in_json(key: str, value: object) -> bool:
    """Return True if a top-level key belongs in the JSON: the loader's own keys do not."""
    return not key.startswith("@") and value not in _NOTHING


def _defaults(row: AttributeSpec) -> list[Words]:
    """Return the defaults of an attribute."""
    facts: list[Words] = []
    if row.default is not None:
        value = _value(row.default)
        facts.append(Words(f"default {value}", f"默认 {value}"))
    if row.default_before is not None:
        opset, value = row.default_before.opset, _value(row.default_before.value)
        facts.append(
            Words(f"before opset {opset} default {value}", f"opset {opset} 之前默认 {value}")
        )
    if row.listed_default is not None:
        value = _value(row.listed_default)
        facts.append(Words(f"the list's default is {value}", f"清单默认 {value}"))
    return facts


def _attribute_bounds(row: AttributeSpec) -> list[Words]:
    """Return the values that an attribute may have."""
    facts: list[Words] = []
    if row.one_of:
        facts.append(Words("one of ", "取值 ") + Words.same(_value(row.one_of)))
    if row.range is not None:
        facts.append(Words("in ", "范围 ") + Words.same(_value(row.range)))
    if row.each is not None:
        facts.append(Words("each in ", "各元素范围 ") + Words.same(_value(row.each)))
    return facts


def _standing(row: AttributeSpec | OperandSpec) -> list[Words]:
    """Return the words on whether a row is listed, and at which opsets."""
    facts: list[Words] = []
    if not row.supported:
        follows = _consequence(row.otherwise, row.rewrite)
        facts.append(Words("not supported yet: ", "暂不支持：") + follows)
    if not row.listed:
        facts.append(Words("not on the list", "清单未列"))
    if row.since is not None:
        facts.append(Words(f"from opset {row.since}", f"自 opset {row.since} 起"))
    if row.until is not None:
        facts.append(Words(f"until opset {row.until}", f"至 opset {row.until} 止"))
    return facts


def _value(value: object) -> str:
    """Return a value as the file writes it."""
    if isinstance(value, tuple):
        return f"[{', '.join(_value(item) for item in value)}]"
    return str(value.value) if isinstance(value, Enum) else str(value)
