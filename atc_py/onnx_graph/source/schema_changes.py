"""Changes between two versions of an ONNX operator: operands, dtypes and attributes."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from atc_py.onnx_graph.source import AttributeSchema, FormalParameter, OperatorSchema
from atc_py.tensor.dtypes import DType
from atc_py.text import COLON, COMMA, SEMICOLON, Text, verbatim

_INPUT = Text("input ")
_OUTPUT = Text("output ")
_ATTRIBUTE = Text("attribute ")

_IMPLIED = {"input-added", "input-removed", "attribute-added", "attribute-removed"}
"""Kinds implied by an attribute that became an input."""

_MOST_ELEMENTS = 6
"""Dtypes of a new operand that are named; more are counted."""

_ORDER = {dtype.value: position for position, dtype in enumerate(DType)}


@dataclass(frozen=True, slots=True)
class Change:
    """One difference."""

    kind: str  # `input-added`, `dtypes`, `attribute-default` ...
    name: str  # the operand, type variable or attribute
    words: Text  # the change in a clause
    # the values before and after, for JSON
    details: Mapping[str, object] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """The change as JSON values, in both languages."""
        named = {"kind": self.kind, "name": self.name}
        return {**named, **self.details, "text": self.words.as_json()}


def changes(before: OperatorSchema, after: OperatorSchema) -> tuple[Change, ...]:
    """The changes in `after`; operands first, then dtypes, then attributes."""
    inputs = _Matched(_INPUT, "input", before.inputs, after.inputs)
    outputs = _Matched(_OUTPUT, "output", before.outputs, after.outputs)
    all_changes = [*_operator_end(before, after)]
    turned = [*_attributes_turned(before, after)]
    names = {change.name.lower() for change in turned}
    pairs = [*inputs.pairs, *outputs.pairs]
    rest = [*inputs.changes(), *outputs.changes(), *_dtypes(pairs), *_ties_loosened(pairs)]
    rest += _attributes(before, after)
    all_changes += turned
    all_changes += (
        name for name in rest if name.kind not in _IMPLIED or name.name.lower() not in names
    )
    return tuple(all_changes)


def _elements_text(elements: Iterable[str], limit: int | None = None) -> Text:
    """Element types in atc-py's order, ONNX's others after; counted if too many."""
    names = sorted(elements, key=lambda name: (_ORDER.get(name, len(_ORDER)), name))
    if limit is not None and len(names) > limit:
        return Text("{count} dtypes", count=len(names))
    return verbatim(" ".join(names))


class _Matched:
    """The inputs, or outputs, of two versions, matched by name or else by position."""

    def __init__(
        self,
        noun: Text,
        kind: str,
        before: tuple[FormalParameter, ...],
        after: tuple[FormalParameter, ...],
    ) -> None:
        self._noun, self._kind = noun, kind
        self._before, self._after = before, after
        old = {row.name: row for row in before}
        new = {row.name for row in after}
        self._was: dict[str, FormalParameter] = {}
        for position, row in enumerate(after):
            other = old.get(row.name)
            if other is None and position < len(before) and before[position].name not in new:
                other = before[position]
                other = other if other.elements & row.elements else None
            if other is not None:
                self._was[row.name] = other

    @property
    def pairs(self) -> list[tuple[FormalParameter, FormalParameter]]:
        """Each operand that both have, before and after."""
        return [(self._was[row.name], row) for row in self._after if row.name in self._was]

    def changes(self) -> Iterator[Change]:
        """Yield operands that were removed, added, renamed, moved, or became optional."""
        kept = {row.name for row in self._was.values()}
        for row in self._before:
            if row.name not in kept:
                yield Change(
                    f"{self._kind}-removed", row.name, _operand_removed(self._noun, row.name)
                )
        for row in self._after:
            was = self._was.get(row.name)
            if was is None:
                yield self._added(row)
            else:
                yield from self._operand_changes(was, row)

    def _added(self, row: FormalParameter) -> Change:
        words = _added(self._noun, row.name) + _facts(row)
        details = {"optional": row.optional, "dtypes": sorted(row.elements)}
        return Change(f"{self._kind}-added", row.name, words, details)

    def _operand_changes(self, was: FormalParameter, row: FormalParameter) -> Iterator[Change]:
        name = row.name
        if was.name != name:
            words = self._noun + Text("{was} renamed to {name}", was=was.name, name=name)
            yield Change(f"{self._kind}-renamed", name, words, {"before": was.name})
        first, second = self._before.index(was) + 1, self._after.index(row) + 1
        if first != second:
            words = self._noun + Text(
                "{name} moved from position {first} to {second}",
                name=name,
                first=first,
                second=second,
            )
            details = {"before": first, "after": second}
            yield Change(f"{self._kind}-moved", name, words, details)
        if (was.optional, was.variadic) != (row.optional, row.variadic):
            now = _standing(row) or Text("required, one tensor")
            words = self._noun + Text("{name} became ", name=name) + now
            details = {"optional": row.optional, "variadic": row.variadic}
            yield Change(f"{self._kind}-occurrence", name, words, details)


def _operand_removed(noun: Text, name: str) -> Text:
    """`input X removed`."""
    return Text("{noun}{name} removed", noun=noun, name=name)


def _added(noun: Text, name: str) -> Text:
    """`input X added`."""
    return Text("{noun}{name} added", noun=noun, name=name)


def _facts(row: FormalParameter) -> Text:
    """` (optional; int64)`."""
    standing = _standing(row)
    mark = standing + SEMICOLON if standing else standing
    return Text(" (") + mark + _elements_text(row.elements, _MOST_ELEMENTS) + Text(")")


def _standing(row: FormalParameter) -> Text:
    """`optional` or `variadic`; nothing for an ordinary operand."""
    if row.variadic:
        return Text("variadic")
    return Text("optional") if row.optional else Text("")


def _operator_end(before: OperatorSchema, after: OperatorSchema) -> Iterator[Change]:
    if after.deprecated and not before.deprecated:
        words = Text("the operator is deprecated from here on")
        yield Change("deprecated", after.op, words)
    if before.deprecated and not after.deprecated:
        yield Change("restored", after.op, Text("the operator is not deprecated"))


def _attributes_turned(before: OperatorSchema, after: OperatorSchema) -> Iterator[Change]:
    """Yield attributes that became inputs, and the reverse; the case of a name may change."""
    for name, row in _attributes_moved(before, after):
        new = "" if name == row.name else f" {row.name}"
        words = Text("attribute {name} became input{new}", name=name, new=new)
        yield Change("became-input", row.name, words + _facts(row), {"before": name})
    for name, row in _attributes_moved(after, before):
        new = "" if name == row.name else f" {name}"
        words = Text("input {name} became attribute{new}", name=row.name, new=new)
        yield Change("became-attribute", name, words, {"before": row.name})


def _attributes_moved(
    one: OperatorSchema, other: OperatorSchema
) -> Iterator[tuple[str, FormalParameter]]:
    """Yield attributes of `one` that are inputs of `other` and neither of them has as both."""
    also = {row.name.lower() for row in one.inputs} | {name.lower() for name in other.attributes}
    inputs = {row.name.lower(): row for row in other.inputs}
    for name in one.attributes:
        row = inputs.get(name.lower())
        if row is not None and name.lower() not in also:
            yield name, row


def _dtypes(pairs: Iterable[tuple[FormalParameter, FormalParameter]]) -> Iterator[Change]:
    """Yield dtypes gained and lost; operands of one type variable share a line."""
    groups: dict[tuple[str, frozenset[str], frozenset[str]], list[str]] = {}
    for was, row in pairs:
        gained, lost = row.elements - was.elements, was.elements - row.elements
        if gained or lost:
            variable = "" if "(" in row.type_name else row.type_name
            names = groups.setdefault((variable, gained, lost), [])
            names += [row.name] if row.name not in names else []
    for (variable, gained, lost), names in groups.items():
        listed = ", ".join(names)
        head = f"{variable} ({listed})" if variable else listed
        parts = [
            Text(template, dtypes=_elements_text(elements))
            for elements, template in ((gained, "{dtypes} gained"), (lost, "{dtypes} lost"))
            if elements
        ]
        words = verbatim(head) + COLON + COMMA.join(parts)
        details = {"operands": names, "gained": sorted(gained), "lost": sorted(lost)}
        yield Change("dtypes", variable or names[0], words, details)


def _ties_loosened(pairs: Iterable[tuple[FormalParameter, FormalParameter]]) -> Iterator[Change]:
    """Yield operands that no longer have to share one dtype, or now have to."""
    rows = [(was, row) for was, row in pairs if len(was.elements) > 1 < len(row.elements)]
    before = {row.name: was.type_name for was, row in rows}
    after = {row.name: row.type_name for _, row in rows}
    for old, new, kind, words in (
        (before, after, "untied", Text("need not share a dtype")),
        (after, before, "tied", Text("must share a dtype")),
    ):
        for variable in dict.fromkeys(old.values()):
            names = [name for name in old if old[name] == variable]
            groups: dict[str, list[str]] = {}
            for name in names:
                groups.setdefault(new[name], []).append(name)
            if len(groups) > 1:
                parts = list(groups.values())
                comma = Text(", ", context="and")
                shown = Text(" and ", context="groups").join(map(comma.join, parts))
                text = shown + " " + words
                yield Change(kind, variable, text, {"operands": parts})


def _attributes(before: OperatorSchema, after: OperatorSchema) -> Iterator[Change]:
    """Yield attributes that were removed, added, or changed in type, default or necessity."""
    for name in before.attributes:
        if name not in after.attributes:
            yield Change("attribute-removed", name, _operand_removed(_ATTRIBUTE, name))
    for name, row in after.attributes.items():
        was = before.attributes.get(name)
        if was is None:
            duty = Text(", required") if row.required else _default(row)
            words = _added(_ATTRIBUTE, name) + Text(" ({type}", type=row.type)
            details = {"type": row.type, "required": row.required, "default": row.default}
            yield Change("attribute-added", name, words + duty + Text(")"), details)
        else:
            yield from _attribute_changed(was, row)


def _default(row: AttributeSchema) -> Text:
    """`, default 1`; nothing where there is none."""
    if row.default is None:
        return Text("")
    text = _value_text(row.default)
    return Text(", default {text}", text=text)


def _attribute_changed(was: AttributeSchema, row: AttributeSchema) -> Iterator[Change]:
    name = row.name
    if was.type != row.type:
        words = Text("{name} is {type}, was {type_2}", name=name, type=row.type, type_2=was.type)
        details: dict[str, object] = {"before": was.type, "after": row.type}
        yield Change("attribute-type", name, _ATTRIBUTE + words, details)
    if was.default != row.default:
        old, new = _value(was.default), _value(row.default)
        words = Text("{name} has default {new}, was {old}", name=name, new=new, old=old)
        details = {"before": was.default, "after": row.default}
        yield Change("attribute-default", name, _ATTRIBUTE + words, details)
    if was.required != row.required:
        now = Text("required", context="attribute") if row.required else Text("optional")
        words = _ATTRIBUTE + Text("{name} became ", name=name) + now
        yield Change("attribute-duty", name, words, {"required": row.required})


def _value(value: object) -> Text:
    return Text("none") if value is None else verbatim(_value_text(value))


def _value_text(value: object) -> str:
    """A value as text; floats with the digits that float32 has."""
    if isinstance(value, tuple):
        return f"[{', '.join(_value_text(item) for item in value)}]"
    if isinstance(value, float):
        text = f"{value:.7g}"
        return f"{text}.0" if text.lstrip("-").isdigit() else text
    return str(value)
