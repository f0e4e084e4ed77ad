"""Predicates by the rules that they answer, and the demand of a rule in words."""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING, Any

from atc_py.check.predicate import REGISTER, Predicate
from atc_py.diag import LANGUAGES, Words

if TYPE_CHECKING:
    from atc_py.spec import OpSpec, Rule

__all__ = ["filled", "predicate_of", "predicates", "sentence"]

_CHOICES = ("dtypes", "one_of")
"""Arguments of which any element satisfies the rule."""


def predicates() -> tuple[Predicate, ...]:
    """Return all of them, by the rule's name."""
    _load()
    return tuple(sorted(REGISTER.values(), key=lambda row: row.kind.__name__))


def predicate_of(kind: type[Rule]) -> Predicate:
    """Return the predicate that answers rules of one kind.

    Raises:
        KeyError: there is none; a test holds that there is one for every kind.
    """
    _load()
    return REGISTER[kind]


def sentence(spec: OpSpec, rule: Rule) -> Words:
    """Return the rule's demand, in words without a full stop."""
    return filled(predicate_of(type(rule)).sentence, spec, rule)


def filled(words: Words, spec: OpSpec, rule: Rule) -> Words:
    """Return `words` with the rule's arguments in their holes."""
    given = {"op": spec.op, **rule.arguments}
    bounds = "range" in given
    texts = []
    for language in LANGUAGES:
        holes = {name: _argument(value, language) for name, value in given.items()}
        holes |= {name: _choice(given[name], language) for name in _CHOICES if name in given}
        if bounds:
            holes["range"] = _bounds(given["range"], language)
        texts.append(words.in_language(language).format(**holes))
    return Words(*texts)


def _load() -> None:
    """Import the modules that register predicates."""
    from atc_py.check import rules as _rules  # noqa: F401  (registers them)


def _argument(value: object, language: str) -> str:
    """Return one argument of a rule as text."""
    if isinstance(value, tuple):
        return ", ".join(_argument(item, language) for item in value)
    if isinstance(value, Enum):
        return str(value.value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _choice(values: Any, language: str) -> str:
    """Return `a`, `a or b`, `a, b or c`."""
    *others, last = (_argument(value, language) for value in values)
    if not others:
        return str(last)
    return f"{', '.join(others)} {'or' if language == 'en' else '或'} {last}"


def _bounds(value: Any, language: str) -> str:
    """Return `in [1, 63]`, `at least 1`, `at most 6` or `exactly 4`."""
    least, most = value
    english = language == "en"
    if least == most:
        return f"exactly {least}" if english else f"等于 {least}"
    if math.isinf(most):
        return f"at least {least}" if english else f"不小于 {least}"
    if math.isinf(least):
        return f"at most {most}" if english else f"不大于 {most}"
    return f"in [{least}, {most}]" if english else f"在 [{least}, {most}] 内"
