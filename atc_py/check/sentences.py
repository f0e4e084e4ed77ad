"""Predicates by the rules that they answer, and the demand of a rule in words."""

import math
from enum import Enum
from typing import Any

from atc_py.check.predicate import PREDICATES, Predicate
from atc_py.spec import OpSpec, Rule
from atc_py.text import Text

_CHOICES = ("dtypes", "one_of")
"""Arguments of which any element satisfies the rule."""


def predicates() -> tuple[Predicate, ...]:
    return tuple(row for _, row in sorted(PREDICATES.all().items()))


def predicate_of(kind: type[Rule]) -> Predicate:
    """The predicate that answers rules of one kind.

    Raises:
        KeyError: there is none; a test holds that there is one for every kind.
    """
    predicate = PREDICATES.get(kind.__name__)
    if predicate is None:
        raise KeyError(kind.__name__)
    return predicate


def sentence(spec: OpSpec, rule: Rule) -> Text:
    return filled(predicate_of(type(rule)).sentence, spec, rule)


def filled(words: Text, spec: OpSpec, rule: Rule) -> Text:
    arguments = {"op": spec.op, **rule.arguments}
    values = {name: _argument(value) for name, value in arguments.items()}
    values |= {name: _choice(arguments[name]) for name in _CHOICES if name in arguments}
    if "range" in arguments:
        values["range"] = _bounds(arguments["range"])
    return words.with_values(**values)


def _argument(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_argument, value))
    if isinstance(value, Enum):
        return str(value.value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _choice(values: Any) -> str:
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
