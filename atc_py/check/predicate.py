"""Predicates: the register of functions that answer rules.

A predicate is registered with the rule's sentence in both languages, which has holes for the rule's
arguments, and with a hint. Diagnostics and documentation print the sentence, and tests are named
after it.
"""

from collections.abc import Callable
from functools import partial, wraps
from itertools import product
from typing import Any, TypeAlias, TypeVar, get_args

import msgspec

from atc_py.check.bound_node import BoundNode
from atc_py.check.reading import Answer, NamedTensor, all_of, asked, operands
from atc_py.diag import DEVIATES_ON_CANN, Code
from atc_py.spec import Rule
from atc_py.system.register import Register, place_of
from atc_py.text import Text

Test: TypeAlias = "Callable[[Any, BoundNode], Answer]"
_T = TypeVar("_T", bound="Callable[..., Answer]")


class Predicate(msgspec.Struct, frozen=True):
    """A predicate and its words."""

    kind: type[Rule]  # the rules that it answers
    test: Test
    code: Code  # the diagnostic of rules that fail
    sentence: Text  # the rule, with holes for its arguments and for `op`
    help: Text  # what to do where it fails, with the same holes


PREDICATES: Register[str, Predicate] = Register("predicate of", "atc_py.check.rules")
"""By the name of the kind of rule."""


def predicate(
    code: Code, *, demand: str, help_: Text, kind: type[Rule] | None = None
) -> Callable[[_T], _T]:
    """Register a function as the predicate of the rules that its first parameter takes.

    `code` is the diagnostic of those that fail, `demand` their sentence without a full stop, a
    template of the rule's arguments, and `help_` what to do. `kind` is given where the function
    takes other rules as well, which have other words.
    """

    def register(function: _T) -> _T:
        taken = next(iter(function.__annotations__.values())) if kind is None else kind
        place = place_of(getattr(function, "__wrapped__", function))
        for rules in get_args(taken) or (taken,):
            row = Predicate(rules, partial(asked, function), code, Text(demand), help_)
            PREDICATES.add(rules.__name__, row, place)
        return function

    return register


def deviation(*, demand: str, help_: Text) -> Callable[[_T], _T]:
    """Register a function as the predicate of a rule that only deviations of CANN ask."""
    return predicate(DEVIATES_ON_CANN, demand=demand, help_=help_)


def each_tensor(test: Callable[[Any, BoundNode, NamedTensor], Answer]) -> Test:
    """The predicate of a rule on every tensor of its operand."""

    @wraps(test)
    def test_node(rule: Any, node: BoundNode) -> Answer:
        return all_of(asked(test, rule, node, tensor) for tensor in operands(node, rule.tensor))

    return test_node


def each_pair(test: Callable[[Any, NamedTensor, NamedTensor], Answer]) -> Test:
    """The predicate of a rule on every tensor of its operand, with each of another one."""

    @wraps(test)
    def test_node(rule: Any, node: BoundNode) -> Answer:
        pairs = product(operands(node, rule.tensor), operands(node, rule.other))
        return all_of(asked(test, rule, tensor, other) for tensor, other in pairs)

    return test_node
