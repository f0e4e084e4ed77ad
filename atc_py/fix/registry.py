"""The registry of rules, filled by the pages in `atc_py/fix/rules`, one a family of operators."""

from collections.abc import Callable, Collection, Iterable, Sequence

from atc_py.diag.codes import BAD_OPTION
from atc_py.diag.suggestions import nearest
from atc_py.fix.case import RuleCase
from atc_py.fix.rule import Apply, Exactness, FixRule, Purpose
from atc_py.system.register import Register, place_of
from atc_py.text import Text

RULES: Register[str, FixRule] = Register("rule", "atc_py.fix.rules")
"""By name."""

load_rules = RULES.all


def rule(  # noqa: PLR0913  (a rule is its parts)
    operators: str | Iterable[str],
    exactness: Exactness,
    example: RuleCase,
    *,
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

    Operators and deviations have blanks between them; `miss` is the near miss. The rule replaces
    refused nodes where `lists` says so, or where it has no other purpose. For the rest see `FixRule`.

    Raises:
        ValueError: another rule has the name.
    """
    names, removed = (
        frozenset(words.split() if isinstance(words, str) else words)
        for words in (operators, deviations)
    )
    others = {Purpose.PRECISION: precision, Purpose.CANN: bool(removed)}
    purposes = {purpose for purpose, wanted in others.items() if wanted}
    if lists or (lists is None and not purposes):
        purposes.add(Purpose.LISTS)

    def register(apply: Apply) -> Apply:
        name = apply.__name__.replace("_", "-")
        words = apply.__doc__ or ""
        cases = (boundary,) if isinstance(boundary, RuleCase) else tuple(boundary)
        row = FixRule(
            name, names, exactness, words, example, miss, cases, apply,
            last, bound, frozenset(purposes), removed, float16,
        )  # fmt: skip
        RULES.add(name, row, place_of(apply))
        return apply

    return register


def rules_of_operator(
    label: str, purpose: Purpose = Purpose.LISTS, deviations: Collection[str] = ()
) -> tuple[FixRule, ...]:
    """The rules for an operator, in the order tried.

    Args:
        label: the operator, as `FixRule.operators` spells it.
        purpose: that of the rules.
        deviations: of purpose CANN, those that the node meets: rules remove one of them at least.
    """
    rules = (
        rule
        for rule in load_rules().values()
        if purpose in rule.purposes and label in rule.operators
    )
    if purpose is Purpose.CANN:
        rules = (rule for rule in rules if not rule.deviations.isdisjoint(deviations))
    return tuple(sorted(rules, key=lambda rule: (rule.last, rule.name)))


def check_rules(names: Iterable[str]) -> None:
    """Refuse names that no rule has.

    Raises:
        AtcError: BAD_OPTION for the first of them, with the nearest name that a rule has.
    """
    known = load_rules()
    for name in sorted(set(names) - known.keys()):
        near = nearest(name, known, 1)
        hint = Text("; the nearest is {name}", name=near[0]) if near else ""
        raise BAD_OPTION.error(
            Text("no rule is called {name}{hint}", name=repr(name), hint=hint),
            help=Text(
                "`atc-py fix MODEL --dry-run` names the rules that apply to a model; docs/rewrites.md, all"
            ),
        )
