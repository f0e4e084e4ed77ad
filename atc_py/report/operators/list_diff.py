"""Differences between two operator lists: of one operator, and of all that either has."""

from collections.abc import Iterable, Mapping

import msgspec

from atc_py.check.condition_words import sentence, when_words, with_condition
from atc_py.diag import UNKNOWN_NAME
from atc_py.report.operators.rules import attribute_words, operand_words
from atc_py.report.wrapping import wrap
from atc_py.spec import Library, OpSpec
from atc_py.system.structs import Result
from atc_py.text import COLON, Text, verbatim
from atc_py.text.language import spoken

_ONLY = Text("only on {list}")
_SAME = Text("the same on both")


class Fact(Result, frozen=True):
    """A fact of one operator: its subject, such as `input X`, and its words on both lists.

    Attributes:
        subject: the part of the specification that it is about.
        before: words of the first list; None where it says nothing of the subject.
        after: those of the second.
    """

    subject: Text
    before: Text | None
    after: Text | None


class OperatorChange(Result, frozen=True):
    """The difference of one operator.

    Attributes:
        op: the operator.
        only_on: the list that alone has it; None where both have it.
        facts: the facts that differ; none where one list alone has the operator.
    """

    op: str
    only_on: str | None
    facts: tuple[Fact, ...]

    @property
    def is_same(self) -> bool:
        """True if both lists say the same."""
        return not self.only_on and not self.facts


class ListDiff(Result, frozen=True):
    """The differences between two lists.

    Attributes:
        names: of the lists.
        same: operators that are the same on both.
        changes: by operator; those that are the same are left out where all are compared.
    """

    names: tuple[str, str] = msgspec.field(name="lists")
    same: tuple[str, ...]
    changes: tuple[OperatorChange, ...] = msgspec.field(name="operators")


def list_diff(
    names: tuple[str, str], libraries: tuple[Library, Library], operator: str | None = None
) -> ListDiff:
    """The differences between two lists; of one operator in any spelling, or of all.

    Raises:
        AtcError: UNKNOWN_NAME for an operator that neither has.
    """
    if operator is None:
        tables = tuple({spec.op: spec for spec in each.all()} for each in libraries)
    else:
        found = tuple(library.lookup(operator) for library in libraries)
        if found == (None, None):
            near = dict.fromkeys(name for each in libraries for name in each.near(operator))
            help_ = Text("see `atc-py ops list`")
            if near:
                help_ = Text("similar names: {fromkeys}", fromkeys=", ".join(near))
            text = Text("no operator is called {operator} on {names} or {names_2}")
            raise UNKNOWN_NAME.error(
                text.with_values(operator=repr(operator), names=names[0], names_2=names[1]),
                help=help_,
            )
        tables = tuple({} if spec is None else {spec.op: spec} for spec in found)
    first, second = tables
    changes = [
        _change(op, names, first.get(op), second.get(op))
        for op in sorted({*first, *second}, key=lambda name: (name.lower(), name))
    ]
    same = tuple(change.op for change in changes if change.is_same)
    return ListDiff(names, same, tuple(change for change in changes if not change.is_same))


def list_diff_lines(diff: ListDiff) -> list[str]:
    lines: list[str] = []
    for change in diff.changes:
        lines.append(change.op)
        if change.only_on:
            lines.append(f"  {spoken(_ONLY.with_values(list=change.only_on))}")
        for fact in change.facts:
            lines += wrap(spoken(_sentence(diff.names, fact)), "  ", "    ")
        lines.append("")
    if diff.changes or len(diff.same) != 1:
        lines.append(spoken(_counts(diff)))
    else:
        lines.append(f"{diff.same[0]}: {spoken(_SAME)}")
    return lines


def _sentence(names: tuple[str, str], fact: Fact) -> Text:
    """`opsets: 8-13 -> 8-18`, or `only on base: attribute x: int`."""
    if fact.before is not None and fact.after is not None:
        return fact.subject + COLON + fact.before + verbatim(" -> ") + fact.after
    name = names[1] if fact.before is None else names[0]
    words = fact.before or fact.after or Text("")
    return COLON.join((_ONLY.with_values(list=name), fact.subject, words))


def _counts(diff: ListDiff) -> Text:
    only = [sum(change.only_on == name for change in diff.changes) for name in diff.names]
    differ = len(diff.changes) - sum(only)
    return Text(
        "{differ} differ, {only} only on {names}, {only_2} only on {names_2}, {count} the same",
        differ=differ,
        only=only[0],
        names=diff.names[0],
        only_2=only[1],
        names_2=diff.names[1],
        count=len(diff.same),
    )


def _change(
    op: str, names: tuple[str, str], before: OpSpec | None, after: OpSpec | None
) -> OperatorChange:
    if before is None or after is None:
        return OperatorChange(op, names[0] if after is None else names[1], ())
    # Rules may be one sentence in one language and two in another.
    old, new = (
        {tuple(fact[0].as_json().values()): fact for fact in _facts(spec)}
        for spec in (before, after)
    )
    facts = (
        Fact((old.get(key) or new[key])[0], _value(old, key), _value(new, key))
        for key in {**old, **new}
    )
    return OperatorChange(op, None, tuple(each for each in facts if each.before != each.after))


def _value(facts: Mapping[tuple[str, ...], tuple[Text, Text]], key: tuple[str, ...]) -> Text | None:
    return facts[key][1] if key in facts else None


def _facts(spec: OpSpec) -> Iterable[tuple[Text, Text]]:
    yield verbatim("opsets"), verbatim(spec.opset_text)
    for template, rows in (("input {at}", spec.inputs), ("output {at}", spec.outputs)):
        for row in rows:
            yield Text(template, at=row.name), operand_words(spec, row)
    for attribute in spec.attributes:
        subject = Text("attribute {attribute}", attribute=attribute.name)
        yield subject, attribute_words(attribute)
    for rule in spec.constraints:
        text = sentence(spec, rule)
        if rule.when is not None:
            text = with_condition(text, when_words(rule.when))
        yield text, verbatim(rule.level.value)
