"""Answers of predicates: a rule holds, fails with an observed value, or cannot be decided."""

from collections.abc import Iterable
from enum import Enum

import msgspec

from atc_py.text import Text, verbatim


class State(Enum):
    """Verdict of a predicate."""

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN = "unknown"


class Answer(msgspec.Struct, frozen=True):
    """Verdict of a predicate, and the value that it saw.

    Attributes:
        state: whether the rule holds.
        observed: the value at fault, or what is not known; empty where the rule holds.
        when: a condition of the answer that the rule itself does not state; mostly empty.
    """

    state: State
    observed: Text
    when: Text = msgspec.field(default=Text(""))


HOLDS = Answer(State.HOLDS, Text(""))
"""The rule holds."""


def fails(observed: object, when: Text | None = None) -> Answer:
    """The answer that the rule fails; `observed` is words or a value that reads the same everywhere."""
    return Answer(State.FAILS, _words(observed), when or Text(""))


def unknown(observed: object) -> Answer:
    """The answer that the rule is undecided; `observed` is what is known and open, `?x3x224x224`."""
    return Answer(State.UNKNOWN, _words(observed))


def all_of(answers: Iterable[Answer]) -> Answer:
    """One answer for several: the first that fails, else the first open one, else HOLDS."""
    open_one: Answer | None = None
    for answer in answers:
        if answer.state is State.FAILS:
            return answer
        if answer.state is State.UNKNOWN:
            open_one = open_one or answer
    return open_one or HOLDS


def _words(observed: object) -> Text:
    """`observed` as words."""
    return observed if isinstance(observed, Text) else verbatim(observed)
