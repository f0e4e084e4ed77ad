"""A rule: an operator that the list refuses, float16 harms or CANN reads otherwise, and the form that replaces it."""

import importlib
import pkgutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from typing import TypeAlias

from atc_py.diag import BAD_OPTION, nearest
from atc_py.fix.case import RuleCase
from atc_py.fix.context import RuleContext
from atc_py.text import Text


class Exactness(Enum):
    """Difference between results of the new form and those of the old one, in float32."""

    EQUAL = "equal"
    """Every bit is the same."""

    REORDERED = "reordered"
    """Sums are taken in another order, or one rounding more or less is made."""

    BOUNDED = "bounded"
    """The difference has a bound that the rule states."""

    APPROXIMATE = "approximate"
    """The difference has no bound; such rules apply only on request."""

    @property
    def words(self) -> Text:
        return Text(_EXACTNESS[self])


_EXACTNESS = {
    Exactness.EQUAL: "bit-equal",
    Exactness.REORDERED: "sums in another order",
    Exactness.BOUNDED: "bounded",
    Exactness.APPROXIMATE: "approximate",
}

# Differences that the classes allow.
_LIMITS = {Exactness.EQUAL: 0.0, Exactness.REORDERED: 1e-5, Exactness.APPROXIMATE: float("inf")}


class Purpose(Enum):
    """Kind of nodes that a rule replaces."""

    LISTS = "lists"
    """Nodes that the operator list refuses."""

    PRECISION = "precision"
    """Listed nodes that overflow or lose accuracy in float16."""

    CANN = "cann"
    """Nodes that mean another thing on CANN than in ONNX, or that its parser refuses."""


@dataclass(frozen=True, slots=True)
class RuleText:
    """Words of a rule."""

    before: Text
    after: Text
    condition: Text  # what must hold, a clause
    float16: Text  # the effect of float16 on the new form; "" where it is that on the old one


# Words with which a form may begin in the middle of a sentence: the docstring has them with a capital.
_LOWERED = frozenset({"A", "An", "Cubic", "Random", "The"})

Apply: TypeAlias = Callable[[RuleContext], Sequence[str]]


@dataclass(frozen=True, slots=True)
class FixRule:
    """A rule."""

    name: str  # as options and reports spell it
    operators: frozenset[str]  # operators of its nodes; `domain::Op` outside of ONNX's own domain
    exactness: Exactness  # the difference that it makes in float32, on one engine
    # its docstring: `before -> after, if condition.`, and then what is not shown to users
    words: str
    # a case that the rule fits, and that the list `base` refuses, float16 harms or CANN reads
    # otherwise
    example: RuleCase
    # a case of the same operator that the rule does not fit; None if it fits all
    near_miss: RuleCase | None
    # cases that the rule still fits, with a size, a number or a dtype at the end of what it
    # requires; they are tried on all of its operators that have them
    boundary: tuple[RuleCase, ...]
    # writes the new form and returns the name of its result, or one for each output of the node
    apply: Apply
    last: bool = False  # whether the rules that are not are tried before it
    # of a rule of class BOUNDED, its bound; see `limit`. Of class APPROXIMATE, the bound within
    # which it applies without a request, where the model's own runs show the difference
    bound: float = 0.0
    purposes: frozenset[Purpose] = frozenset({Purpose.LISTS})  # the nodes that it replaces
    # of purpose CANN, the deviations that it removes: `GRU/clip-ignored`
    deviations: frozenset[str] = frozenset()
    float16: str = ""  # the effect of float16 on the new form, in words
    measured: bool = False  # whether it applies for that alone

    @property
    def as_measured(self) -> "FixRule | None":
        """A rule of class APPROXIMATE with the bound that runs of the model are to show, if it has one."""
        bounded = replace(self, exactness=Exactness.BOUNDED, measured=True)
        return bounded if self.bound else None

    @property
    def limit(self) -> float:
        """Largest difference in float32, as a part of the largest magnitude of a result."""
        return self.bound if self.exactness is Exactness.BOUNDED else _LIMITS[self.exactness]

    @property
    def text(self) -> RuleText:
        sentence = " ".join(self.words.partition("\n\n")[0].split()).removesuffix(".")
        before, _, rest = sentence.partition(" -> ")
        after, _, condition = rest.rpartition(", if ") if ", if " in rest else (rest, "", "none")
        if before.partition(" ")[0] in _LOWERED:
            before = before[0].lower() + before[1:]
        return RuleText(Text(before), Text(after), Text(condition), Text(self.float16))

    def write(self, ctx: RuleContext) -> tuple[str, ...]:
        """Write the new form; return the names of its results, one for each output of the node."""
        results = self.apply(ctx)
        return (results,) if isinstance(results, str) else tuple(results)


EQUAL, REORDERED, BOUNDED, APPROXIMATE = Exactness


_RULES: dict[str, FixRule] = {}

PRECISE = "atc_py.fix.rules.precision"
"""The page of all rules of purpose PRECISION; most models need no other."""


def rule(  # noqa: PLR0913  (a rule is its parts)
    exactness: Exactness,
    example: RuleCase,
    *,
    operators: str | Iterable[str] = "",
    miss: RuleCase | None = None,
    boundary: RuleCase | Sequence[RuleCase] = (),
    last: bool = False,
    bound: float = 0.0,
    precision: bool = False,
    deviations: str | Iterable[str] = "",
    lists: bool | None = None,
    float16: str = "",
) -> Callable[[Apply], Apply]:
    """Register a function as a rule: its name with dashes is the rule's, its docstring are the words.

    Operators, by default that of the example, and deviations have blanks between them; `miss` is the
    near miss. The rule replaces refused nodes where `lists` says so, or where it has no other purpose.
    For the rest see `FixRule`.
    """
    names, removed = (
        frozenset(words.split() if isinstance(words, str) else words)
        for words in (operators or example.label, deviations)
    )
    others = {Purpose.PRECISION: precision, Purpose.CANN: bool(removed)}
    purposes = {purpose for purpose, wanted in others.items() if wanted}
    if lists or (lists is None and not purposes):
        purposes.add(Purpose.LISTS)

    def register(apply: Apply) -> Apply:
        name = apply.__name__.replace("_", "-")
        if name in _RULES:
            raise ValueError(f"two rules are called {name!r}")
        words = apply.__doc__ or ""
        cases = (boundary,) if isinstance(boundary, RuleCase) else tuple(boundary)
        _RULES[name] = FixRule(
            name, names, exactness, words, example, miss, cases, apply,
            last, bound, frozenset(purposes), removed, float16,
        )  # fmt: skip
        return apply

    return register


def load_rules() -> Mapping[str, FixRule]:
    _import_rules()
    return _RULES


@cache
def _import_rules() -> None:
    # Once: the folder is not looked through for every node.
    from atc_py.fix import rules

    for module in sorted(pkgutil.iter_modules(rules.__path__), key=lambda page: page.name):
        importlib.import_module(f"{rules.__name__}.{module.name}")


def rules_of_operator(
    label: str, purpose: Purpose = Purpose.LISTS, deviations: Collection[str] = ()
) -> tuple[FixRule, ...]:
    """The rules for an operator, in the order tried; those of CANN remove a deviation."""
    if purpose is Purpose.PRECISION:
        importlib.import_module(PRECISE)
    known = _RULES if purpose is Purpose.PRECISION else load_rules()
    rules = (
        rule for rule in known.values() if purpose in rule.purposes and label in rule.operators
    )
    if purpose is Purpose.CANN:
        rules = (rule for rule in rules if not rule.deviations.isdisjoint(deviations))
    return tuple(sorted(rules, key=lambda rule: (rule.last, rule.name)))


def check_rules(names: Iterable[str]) -> None:
    """Refuse names that no rule has.

    Raises:
        AtcError: BAD_OPTION for the first of them, with the nearest name that a rule has.
    """
    chosen = set(names)
    known = load_rules() if chosen else {}
    for name in sorted(chosen - known.keys()):
        near = nearest(name, known, 1)
        hint = Text("; the nearest is {name}", name=near[0]) if near else ""
        raise BAD_OPTION.error(
            Text("no rule is called {name}{hint}", name=repr(name), hint=hint),
            help=Text(
                "`atc-py fix MODEL --dry-run` names the rules that apply to a model; "
                "docs/rewrites.md lists all rules"
            ),
        )
