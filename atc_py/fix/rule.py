"""A rule: an operator that the list refuses, float16 harms or CANN reads otherwise, and the form that replaces it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from atc_py.fix.case import RuleCase
from atc_py.fix.site import Site
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
        """The class in words."""
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
    """Words of a rule.

    Attributes:
        before: the form that is replaced.
        after: the form that replaces it.
        condition: what must hold, a clause.
        float16: the effect of float16 on the new form; "" where it is that on the old one.
    """

    before: Text
    after: Text
    condition: Text
    float16: Text


# Words with which a form may begin in the middle of a sentence: the docstring has them with a capital.
_LOWERED = frozenset({"A", "An", "Cubic", "Random", "The"})

Apply: TypeAlias = Callable[[Site], Sequence[str]]


@dataclass(frozen=True, slots=True)
class FixRule:
    """A rule.

    Attributes:
        name: as options and reports spell it.
        operators: operators of its nodes; `domain::Op` outside of ONNX's own domain.
        exactness: the difference that it makes in float32, on one engine.
        words: its docstring: `before -> after, if condition.`, and then what is not shown to users.
        example: a case that the rule fits, and that the list `base` refuses, float16 harms or CANN
            reads otherwise.
        near_miss: a case of the same operator that the rule does not fit; None if it fits all.
        boundary: cases that the rule still fits, with a size, a number or a dtype at the end of what it
            requires; they are tried on all of its operators that have them.
        apply: writes the new form and returns the name of its result, or one for each output of the node.
        last: whether the rules that are not are tried before it.
        bound: of a rule of class BOUNDED, its bound; see `limit`.
        purposes: the nodes that it replaces.
        deviations: of purpose CANN, the deviations that it removes: `GRU/clip-ignored`.
        float16: the effect of float16 on the new form, in words.
    """

    name: str
    operators: frozenset[str]
    exactness: Exactness
    words: str
    example: RuleCase
    near_miss: RuleCase | None
    boundary: tuple[RuleCase, ...]
    apply: Apply
    last: bool = False
    bound: float = 0.0
    purposes: frozenset[Purpose] = frozenset({Purpose.LISTS})
    deviations: frozenset[str] = frozenset()
    float16: str = ""

    @property
    def limit(self) -> float:
        """Largest difference in float32, as a part of the largest magnitude of a result."""
        return self.bound if self.exactness is Exactness.BOUNDED else _LIMITS[self.exactness]

    @property
    def text(self) -> RuleText:
        """Its words in both languages."""
        sentence = " ".join(self.words.partition("\n\n")[0].split()).removesuffix(".")
        before, _, rest = sentence.partition(" -> ")
        after, _, condition = rest.rpartition(", if ") if ", if " in rest else (rest, "", "none")
        if before.partition(" ")[0] in _LOWERED:
            before = before[0].lower() + before[1:]
        return RuleText(Text(before), Text(after), Text(condition), Text(self.float16))

    def write(self, site: Site) -> tuple[str, ...]:
        """Write the new form; return the names of its results, one for each output of the node.

        Raises:
            UnfitError: the rule does not fit the node.
        """
        results = self.apply(site)
        return (results,) if isinstance(results, str) else tuple(results)
