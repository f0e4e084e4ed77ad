"""Findings that say the same of many nodes, gathered: one rule, its nodes, their values."""

from collections.abc import Iterable

import msgspec

from atc_py.check.condition_words import rewrite_text, with_condition
from atc_py.check.findings import Standing
from atc_py.report.check.document import Found
from atc_py.text import Text, verbatim


class Sighting(msgspec.Struct, frozen=True):
    """Nodes with one observed value."""

    observed: str  # the value; empty where the rule names none
    findings: tuple[Found, ...]  # one per node, in the order of the network


class Group(msgspec.Struct, frozen=True):
    """Findings of one code, level and rule."""

    first: Found  # the first of them; its words on the rule hold for all
    sightings: tuple[Sighting, ...]  # by observed value, in the order of the network

    @property
    def headline(self) -> Text:
        """The rule's sentence with its conditions, or a fault's message.

        Of a rewrite it is what becomes of the form, which needs no action.
        """
        first = self.first
        if first.effect:
            observed = first.observed if len(self.sightings) == 1 else ""
            return rewrite_text(first.op, first.field, observed, first.effect)
        if first.allowed:
            return with_condition(verbatim(first.allowed), verbatim(first.when))
        return verbatim(first.message)

    @property
    def helps(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(finding.help for finding in self.findings))

    @property
    def findings(self) -> tuple[Found, ...]:
        return tuple(finding for sighting in self.sightings for finding in sighting.findings)


def groups(findings: Iterable[Found]) -> list[Group]:
    """The findings gathered, the worst level first, then in the order of the network."""
    gathered: dict[tuple[str, ...], dict[str, list[Found]]] = {}
    for finding in findings:
        gathered.setdefault(_key(finding), {}).setdefault(finding.observed, []).append(finding)
    rows = [_group(values) for values in gathered.values()]
    return sorted(rows, key=lambda row: Standing(row.first.level).rank)


def _key(found: Found) -> tuple[str, ...]:
    """The key that findings of one group share; a fault has its message in it.

    The help of an error of a list may end with what keeps `fix` from rewriting the one node.
    """
    listed = found.level == Standing.ERROR.value and found.allowed
    sentence = found.allowed or found.message
    return (
        found.level,
        found.code,
        found.rule,
        found.op,
        sentence,
        found.when,
        found.source,
        "" if listed else found.help,
        " ".join(found.taken_by),
        " ".join(found.fixed_by),
    )


def _group(values: dict[str, list[Found]]) -> Group:
    sightings = tuple(Sighting(observed, tuple(value)) for observed, value in values.items())
    return Group(sightings[0].findings[0], sightings)
