"""Nodes on both sides of every rule, derived from the specifications.

A rule's neighbors are made by the function registered for its kind: each changes the example of
the operator's specification in one place, to the last value that the rule allows or to the first
one that it does not.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

import onnx
import onnx.defs
import onnx.shape_inference

from atc_py.diag import Code
from atc_py.spec import AttributeSpec, OperandSpec, OpSpec, Rule
from tests.check.boundary_ground import NONE, Change, Ground
from tests.check.boundary_settings import Setting, settings
from tests.spec.one_node import OPEN_RANK


class Expect(Enum):
    """The expected answer of the rule for a node.

    INSIDE: nothing. OUTSIDE: a finding. SILENT: nothing, because a condition of the rule is not
    met. OPEN: that it cannot be decided, or nothing.
    """

    INSIDE = "inside"
    OUTSIDE = "outside"
    SILENT = "silent"
    OPEN = "open"


@dataclass(frozen=True)
class Side:
    """A node near the limit of a rule.

    Attributes:
        expect: on which side it is.
        what: how it differs from the example, in words.
        change: how it differs.
        opset: the version of ONNX's domain that it is built for.
        setting: what the check is run with.
    """

    expect: Expect
    what: str
    change: Change
    opset: int = 0
    setting: Setting = field(default_factory=Setting)


Neighbors: TypeAlias = "Callable[[Any, Ground], Iterable[Side]]"


@dataclass(frozen=True)
class Boundary:
    """The known facts about the rules of one kind.

    Attributes:
        code: the diagnostic of those that fail.
        neighbors: makes nodes on both sides.
        reads: arguments that name tensors whose dims or rank the rule looks at.
    """

    code: Code
    neighbors: Neighbors
    reads: tuple[str, ...]


_REGISTER: dict[type[Rule], Boundary] = {}


def boundary(kind: type[Rule], code: Code, *reads: str) -> Callable[[Neighbors], Neighbors]:
    """Register the function that makes the neighbors of rules of one kind."""

    def register(function: Neighbors) -> Neighbors:
        assert kind not in _REGISTER, f"{kind.__name__} has two boundaries"
        _REGISTER[kind] = Boundary(code, function, reads)
        return function

    return register


def boundary_of(rule: Rule) -> Boundary:
    """Return the boundary of rules of that kind."""
    return _REGISTER[type(rule)]


def kinds() -> frozenset[type[Rule]]:
    """Return the kinds that have a boundary."""
    return frozenset(_REGISTER)


def inside(what: str, change: Change) -> Side:
    """Return a node that the rule allows."""
    return Side(Expect.INSIDE, what, change)


def outside(what: str, change: Change) -> Side:
    """Return a node that the rule forbids."""
    return Side(Expect.OUTSIDE, what, change)


def opened(what: str, change: Change) -> Side:
    """Return a node that the rule cannot decide, or allows."""
    return Side(Expect.OPEN, what, change)


# All sides of a rule ----------------------------------------------------------------------------


def opsets_of(spec: OpSpec, rule: Rule) -> tuple[int, ...]:
    """Return the opsets at which a rule is put to the test.

    They are the last one of each version of the operator among the listed ones that have everything
    that it speaks of, and the others, too, where the rule is for certain opsets only; or the one
    that brought what no listed one has, or the last one that had it; none where the installed onnx
    does not know that opset yet.
    """
    if spec.custom:
        return (13,)
    ground = Ground(spec, rule, 0)
    rows: list[OperandSpec | AttributeSpec] = [
        *ground.operands,
        *ground.attributes,
        *ground.conditions,
    ]
    known = [opset for opset in spec.opsets if onnx.defs.has(spec.op, opset)]
    listed = [opset for opset in known if all(row.exists_at(opset) for row in rows)]
    if listed:
        when = rule.when
        beyond = [] if when is None or when.opsets is None else set(known) - set(listed)
        return tuple(
            {_version(spec, opset): opset for opset in sorted({*listed, *beyond})}.values()
        )
    (row,) = [row for row in (*ground.attributes, *ground.conditions) if spec.is_unlisted(row)]
    other = row.since or row.until or 0
    return (other,) if other <= onnx.defs.onnx_opset_version() else ()


def _version(spec: OpSpec, opset: int) -> int:
    """Return the version of ONNX's definition in force at an opset."""
    return int(onnx.defs.get_schema(spec.op, opset).since_version)


def sides(spec: OpSpec, rule: Rule) -> Iterator[Side]:
    """Yield every node on either side of a rule."""
    for opset in opsets_of(spec, rule):
        for setting in settings(Ground(spec, rule, opset)):
            ground = Ground(spec, rule, opset, setting.change)
            for side in boundary_of(rule).neighbors(rule, ground):
                yield _placed(side, ground, setting)
            if setting.met:
                for side in _opened(ground):
                    yield _placed(side, ground, setting)


def _placed(side: Side, ground: Ground, setting: Setting) -> Side:
    """Return the side as a whole node; silent where a condition of the rule is not met."""
    change = ground.base.plus(side.change)
    expect = side.expect
    if expect is Expect.OUTSIDE and not (setting.met and ground.dims_met(change)):
        expect = Expect.SILENT
    return Side(expect, f"{side.what}{setting.text}", change, ground.opset, setting)


def _opened(ground: Ground) -> Iterator[Side]:
    """Yield the example with the dims open that the rule reads, and with the ranks open."""
    for argument in boundary_of(ground.rule).reads:
        name = str(ground.rule.arguments[argument])
        names = [name] if ground.is_input(name) else ground.given
        change = NONE
        for what, rank_too in (("dims", False), ("rank", True)):
            change = NONE
            for each in names:
                change = change.plus(ground.opened(each, rank_too=rank_too))
            yield opened(f"{what} of {', '.join(names)} open", change)
        if not ground.is_input(name):
            # With the inputs known atc-py knows the results of custom operators, too.
            unknown = change.plus(Change(outputs={name: (None, OPEN_RANK)}))
            yield opened(f"rank of {name} and of {', '.join(names)} open", unknown)
