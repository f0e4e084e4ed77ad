"""Predicates: the register of functions that answer rules, and the demand of a rule in words.

A predicate is registered with the rule's sentence in both languages, which has holes for the rule's
arguments, and with a hint. Diagnostics and documentation print the sentence, and tests are named
after it.
"""

import math
from collections.abc import Callable
from enum import Enum
from typing import Any, TypeAlias, TypeVar

import msgspec

from atc_py.check.bound_node import BoundNode
from atc_py.check.reading import Answer
from atc_py.diag import Code
from atc_py.spec import OpSpec, Rule
from atc_py.text import Text

Test: TypeAlias = "Callable[[Any, BoundNode], Answer]"
_T = TypeVar("_T", bound="Callable[..., Answer]")


class Predicate(msgspec.Struct, frozen=True):
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
    sentence: Text
    help: Text


REGISTER: dict[type[Rule], Predicate] = {}
"""The predicates of the modules of `atc_py.check.rules` that are imported."""


def predicate(kind: type[Rule], code: Code, *, demand: str, help_: Text) -> Callable[[_T], _T]:
    """Register a function as the predicate of the rules of one kind.

    Args:
        kind: the rules.
        code: the diagnostic of those that fail.
        demand: of the rule, a sentence without a full stop, a template of its arguments.
        help_: what to do where a rule fails.

    Raises:
        ValueError: the kind has a predicate already.
    """

    def register(function: _T) -> _T:
        first = REGISTER.get(kind)
        if first is not None:
            here, there = function.__qualname__, first.test.__qualname__
            raise ValueError(f"{kind.__name__} is answered by {there} and by {here}")
        REGISTER[kind] = Predicate(kind, function, code, Text(demand), help_)
        return function

    return register


_CHOICES = ("dtypes", "one_of")
"""Arguments of which any element satisfies the rule."""


def predicates() -> tuple[Predicate, ...]:
    """All of them, by the rule's name."""
    _load()
    return tuple(sorted(REGISTER.values(), key=lambda row: row.kind.__name__))


def predicate_of(kind: type[Rule]) -> Predicate:
    """The predicate that answers rules of one kind.

    Raises:
        KeyError: there is none; a test holds that there is one for every kind.
    """
    _load()
    return REGISTER[kind]


def sentence(spec: OpSpec, rule: Rule) -> Text:
    """The rule's demand, in words without a full stop."""
    return filled(predicate_of(type(rule)).sentence, spec, rule)


def filled(words: Text, spec: OpSpec, rule: Rule) -> Text:
    """`words` with the rule's arguments in their holes."""
    arguments = {"op": spec.op, **rule.arguments}
    values = {name: _argument(value) for name, value in arguments.items()}
    values |= {name: _choice(arguments[name]) for name in _CHOICES if name in arguments}
    if "range" in arguments:
        values["range"] = _bounds(arguments["range"])
    return words.with_values(**values)


def _load() -> None:
    from atc_py.check import rules as _rules  # noqa: F401  (registers them)


def _argument(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_argument, value))
    if isinstance(value, Enum):
        return str(value.value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _choice(values: Any) -> str:
    """`a`, `a or b`, `a, b or c`."""
    *others, last = map(_argument, values)
    return Text(" or ").join([", ".join(others), last]) if others else last


def _bounds(value: Any) -> Text:
    """`in [1, 63]`, `at least 1`, `at most 6` or `exactly 4`."""
    least, most = value
    if least == most:
        return Text("exactly {n}", n=least)
    if math.isinf(most):
        return Text("at least {n}", n=least)
    if math.isinf(least):
        return Text("at most {n}", n=most)
    return Text("in [{least}, {most}]", least=least, most=most)
