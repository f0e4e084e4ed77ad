"""Predicates: the register of functions that answer rules, and the sentence of each.

A predicate's docstring is the rule's sentence, with holes for the rule's arguments: it is what a
diagnostic says, what documentation prints and what names a test. The same sentence in Chinese and
the way out stand beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from atc_py.diag import LANGUAGES, Words

if TYPE_CHECKING:
    from collections.abc import Callable

    from atc_py.check.answers import Answer
    from atc_py.check.bound_node import BoundNode
    from atc_py.diag import Code
    from atc_py.spec import OpSpec, Rule

__all__ = ["Predicate", "predicate", "predicate_of", "predicates", "sentence"]

Test: TypeAlias = "Callable[[Any, BoundNode], Answer]"
_T = TypeVar("_T", bound="Callable[..., Answer]")


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate and its words.

    Attributes:
        kind: the rules that it answers.
        test: the function.
        code: the diagnostic of rules that fail.
        sentence: the rule, with holes for its arguments and for `op`.
        help: what to do where it fails, with the same holes.
    """

    kind: type[Rule]
    test: Test
    code: Code
    sentence: Words
    help: Words


_CHOICES = ("dtypes", "one_of")
"""Arguments any element of which will do."""

_REGISTER: dict[type[Rule], Predicate] = {}


def predicate(kind: type[Rule], code: Code, *, zh: str, help_: Words) -> Callable[[_T], _T]:
    """Register a function as the predicate of the rules of one kind.

    Args:
        kind: the rules.
        code: the diagnostic of those that fail.
        zh: the sentence in Chinese; the function's docstring is the English one.
        help_: what to do where a rule fails.

    Raises:
        ValueError: the kind has a predicate already, or the function has no sentence.
    """

    def register(function: _T) -> _T:
        first = _REGISTER.get(kind)
        if first is not None:
            here, there = function.__qualname__, first.test.__qualname__
            raise ValueError(f"{kind.__name__} is answered by {there} and by {here}")
        lines = (function.__doc__ or "").split()
        if not lines:
            raise ValueError(f"{function.__qualname__} has no sentence")
        english = " ".join(lines).removesuffix(".")
        _REGISTER[kind] = Predicate(kind, function, code, Words(english, zh), help_)
        return function

    return register


def predicates() -> tuple[Predicate, ...]:
    """All of them, by the rule's name."""
    _load()
    return tuple(sorted(_REGISTER.values(), key=lambda row: row.kind.__name__))


def predicate_of(kind: type[Rule]) -> Predicate:
    """The predicate that answers rules of one kind.

    Raises:
        KeyError: there is none; a test holds that there is one for every kind.
    """
    _load()
    return _REGISTER[kind]


def sentence(spec: OpSpec, rule: Rule) -> Words:
    """What the rule demands, in words without a full stop."""
    return filled(predicate_of(type(rule)).sentence, spec, rule)


def filled(words: Words, spec: OpSpec, rule: Rule) -> Words:
    """`words` with the rule's arguments in their holes."""
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
    """One argument of a rule as text."""
    if isinstance(value, tuple):
        return ", ".join(_argument(item, language) for item in value)
    if isinstance(value, Enum):
        return str(value.value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _choice(values: Any, language: str) -> str:
    """`a`, `a or b`, `a, b or c`."""
    *others, last = (_argument(value, language) for value in values)
    if not others:
        return str(last)
    return f"{', '.join(others)} {'or' if language == 'en' else '或'} {last}"


def _bounds(value: Any, language: str) -> str:
    """`in [1, 63]`, `at least 1`, `at most 6` or `exactly 4`."""
    least, most = value
    english = language == "en"
    if least == most:
        return f"exactly {least}" if english else f"等于 {least}"
    if math.isinf(most):
        return f"at least {least}" if english else f"不小于 {least}"
    if math.isinf(least):
        return f"at most {most}" if english else f"不大于 {most}"
    return f"in [{least}, {most}]" if english else f"在 [{least}, {most}] 内"
