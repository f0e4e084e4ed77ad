"""YAML text to plain data that remembers the position of every key and value.

The subset is small: mappings with names as keys, sequences, text, numbers and booleans. Anchors,
aliases, tags, empty values and repeated keys are refused, so a file means what it appears to mean.

A specification may say only how a list differs; the rest is as another list has it. `like: base` at
the top of a file inherits the data of the same operator's file in that list. Keys of the file
replace inherited ones, with these exceptions:

- inputs, outputs, attributes and deviations are matched by name: the keys of an item replace those
  of its namesake, items with new names come last, `drop: true` leaves one out;
- constraints are added after inherited ones; `dropped_rules` lists parts of those that do not
  hold, each of which must match one or more;
- `without: [keys]`, in the file or in an item, leaves out keys that would be inherited.
"""

from typing import Any, NamedTuple, TypeAlias

import msgspec

from atc_py.diag import BAD_SPEC, AtcError, Diagnostic, Place
from atc_py.system.structs import replace
from atc_py.text import Text

MAX_BYTES = 65536
"""Limit on a file's size; a specification has a few thousand bytes."""


DataPath: TypeAlias = "tuple[str | int, ...]"
"""Keys and positions that lead from the whole document to one value."""


class Mark(msgspec.Struct, frozen=True):
    """A position in the text, both counted from 1; `file` where it is not the document's own."""

    line: int
    column: int
    file: str = ""


class Problem(NamedTuple):
    """A fault in a document's meaning: where, what, what to do; `key` points at the key."""

    path: DataPath
    message: Text
    help: Text
    key: bool = False


class Document(msgspec.Struct):
    """A document's data, and the marks of its values and keys by path."""

    file: str
    data: Any = None
    values: dict[DataPath, Mark] = msgspec.field(default_factory=dict)
    keys: dict[DataPath, Mark] = msgspec.field(default_factory=dict)

    def mark(self, path: DataPath, *, key: bool = False) -> Mark:
        """The mark of the value at `path` (or its key), or of the nearest value around it."""
        if key and path in self.keys:
            return self.keys[path]
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path, Mark(1, 1))


def spec_error(file: str, mark: Mark, message: Text, help_: Text) -> AtcError:
    place = Place(mark.file or file, line=mark.line, column=mark.column)
    return BAD_SPEC.error(message, place=place, help=help_)


def place_order(fault: Diagnostic) -> tuple[str, int, int]:
    """File, line and column of a fault, for sorting."""
    place = fault.place or Place()
    return (place.file or "", place.line or 0, place.column or 0)


LIKE = "like"
"""The key that names the list whose file this one is like."""

SECTIONS = ("inputs", "outputs", "attributes", "deviations", "constraints")
"""Lists whose items remember their line."""

_NAMED = SECTIONS[:4]
_OWN = {LIKE, "dropped_rules", "without"}


def merged(own: Document, other: Document) -> Document:
    """A document of the data of `own` over those of `other`.

    Items of `SECTIONS` get their line as `@line`, below 0 if they stand in `other`. BAD_SPEC for
    items to drop and keys to leave out that `other` does not have.
    """
    return _Merger(own, other).document()


class _Merger:
    def __init__(self, own: Document, other: Document) -> None:
        self._own, self._other = own, other
        self._result = Document(own.file)

    def document(self) -> Document:
        own, other = self._own.data, self._other.data
        kept = self._without(other, own, ())
        data = {**kept, **{key: own[key] for key in own if key not in _OWN}}
        for key in data:
            source = self._own if key in own else self._other
            self._take_marks(source, (key,), (key,))
        for section in _NAMED:
            if section in kept:
                data[section] = self._items(section)
        data["constraints"] = self._constraints()
        line = self._other.mark(("opsets",), key=True).line
        if "opsets" not in own:
            data["@opsets_line"] = -line
        data["@like_path"] = self._other.file
        self._result.data = data
        return self._result

    def _items(self, section: str) -> list[dict[str, Any]]:
        mine_all = self._own.data.get(section, [])
        own = {item.get("name"): at for at, item in enumerate(mine_all)}
        items: list[dict[str, Any]] = []
        for at, item in enumerate(self._other.data[section]):
            mine = own.pop(item["name"], None)
            if mine is None:
                items.append(self._placed(item, self._other, (section, at), len(items)))
                continue
            over = dict(mine_all[mine])
            if over.pop("drop", False):
                continue
            kept = self._without(item, over, (section, mine))
            over.pop("without", None)
            items.append(self._placed({**kept, **over}, self._own, (section, mine), len(items)))
        for at in own.values():
            item = mine_all[at]
            if "drop" in item or "without" in item:
                raise self._fault(
                    (section, at), Text("the other list has no {item}", item=repr(item.get("name")))
                )
            items.append(self._placed(item, self._own, (section, at), len(items)))
        return items

    def _constraints(self) -> list[dict[str, Any]]:
        dropped = self._own.data.get("dropped_rules", [])
        unused = set(range(len(dropped)))
        rules: list[dict[str, Any]] = []
        for at, rule in enumerate(self._other.data.get("constraints", [])):
            matching = {n for n, part in enumerate(dropped) if part.items() <= rule.items()}
            unused -= matching
            if not matching:
                rules.append(self._placed(rule, self._other, ("constraints", at), len(rules)))
        for at in sorted(unused):
            raise self._fault(("dropped_rules", at), Text("the other list has no such rule"))
        for at, rule in enumerate(self._own.data.get("constraints", [])):
            rules.append(self._placed(rule, self._own, ("constraints", at), len(rules)))
        return rules

    def _without(self, other: dict[str, Any], own: dict[str, Any], at: DataPath) -> dict[str, Any]:
        left_out = own.get("without", [])
        for key in left_out:
            if key not in other:
                raise self._fault(
                    (*at, "without"), Text("the other list has no key {key} here", key=repr(key))
                )
        return {key: value for key, value in other.items() if key not in left_out}

    def _placed(
        self, item: dict[str, Any], source: Document, at: DataPath, position: int
    ) -> dict[str, Any]:
        """An item with its line; its marks move to its new position."""
        self._take_marks(source, at, (at[0], position))
        line = source.mark(at).line
        return {**item, "@line": -line if source is self._other else line}

    def _take_marks(self, source: Document, at: DataPath, to: DataPath) -> None:
        file = self._other.file if source is self._other else ""
        for marks, mine in (
            (source.values, self._result.values),
            (source.keys, self._result.keys),
        ):
            for path in (path for path in marks if path[: len(at)] == at):
                mine[to + path[len(at) :]] = replace(marks[path], file=file)

    def _fault(self, at: DataPath, message: Text) -> AtcError:
        help_ = Text("compare the file with the one in the list that it refers to")
        return spec_error(self._own.file, self._own.mark(at), message, help_)
