"""The registry of rules, filled by the modules in `atc_py/fix/rules`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

from atc_py.diag.codes import BAD_OPTION
from atc_py.diag.suggestions import nearest
from atc_py.fix.rule import FixRule, Purpose
from atc_py.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from atc_py.fix.case import RuleCase
    from atc_py.fix.rule import Exactness, RuleText
    from atc_py.fix.site import Site

    Apply = Callable[[Site], Sequence[str]]

__all__ = ["check_rules", "fix_rule", "load_rules", "rules_of_operator"]

_RULES: dict[str, FixRule] = {}


def fix_rule(  # noqa: PLR0913  (a rule is its parts)
    name: str,
    operators: Sequence[str],
    exactness: Exactness,
    text: RuleText,
    *,
    example: RuleCase,
    near_miss: RuleCase | None,
    last: bool = False,
    bound: float = 0.0,
    precision: bool = False,
    deviations: Sequence[str] = (),
    lists: bool | None = None,
) -> Callable[[Apply], Apply]:
    """Register a function as the rule called `name`; others are the attributes of `FixRule`.

    It replaces refused nodes where `lists` says so, or where it has no other purpose.

    Raises:
        ValueError: another rule has the name.
    """
    if name in _RULES:
        raise ValueError(f"two rules are called {name!r}")

    others = {Purpose.PRECISION: precision, Purpose.CANN: bool(deviations)}
    purposes = {each for each, wanted in others.items() if wanted}
    if lists or (lists is None and not purposes):
        purposes.add(Purpose.LISTS)

    def register(apply: Apply) -> Apply:
        _RULES[name] = FixRule(
            name,
            frozenset(operators),
            exactness,
            text,
            example,
            near_miss,
            apply,
            last,
            bound,
            frozenset(purposes),
            frozenset(deviations),
        )
        return apply

    return register


def load_rules() -> Mapping[str, FixRule]:
    """Return every rule by name."""
    _import_rules()
    return _RULES


@cache
def _import_rules() -> None:
    """Import the modules of the rules, once: the folder is not looked through for every node."""
    from atc_py.fix import rules

    for module in sorted(pkgutil.iter_modules(rules.__path__), key=lambda each: each.name):
        importlib.import_module(f"{rules.__name__}.{module.name}")


def rules_of_operator(
    label: str, purpose: Purpose = Purpose.LISTS, deviations: Collection[str] = ()
) -> tuple[FixRule, ...]:
    """Return the rules for an operator, in the order tried.

    Args:
        label: the operator, as `FixRule.operators` spells it.
        purpose: that of the rules.
        deviations: of purpose CANN, those that the node meets: rules remove one of them at least.
    """
    known = (rule for rule in load_rules().values() if purpose in rule.purposes)
    found = (rule for rule in known if label in rule.operators)
    if purpose is Purpose.CANN:
        found = (rule for rule in found if not rule.deviations.isdisjoint(deviations))
    return tuple(sorted(found, key=lambda rule: (rule.last, rule.name)))


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
            help="`atc-py fix MODEL --dry-run` names the rules that apply to a model; docs/rewrites.md, all",
        )
