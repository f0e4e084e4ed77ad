"""YAML text to plain data that remembers the position of every key and value.

The subset is small: mappings with names as keys, sequences, text, numbers and booleans. Anchors,
aliases, tags, empty values and repeated keys are refused, so a file means what it appears to mean.
"""

from typing import Any, NamedTuple, TypeAlias

import msgspec

from atc_py.diag import AtcError, Place
from atc_py.diag.codes import BAD_SPEC
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


def spec_error(
    file: str,
    mark: Mark,
    message: Text,
    help: Text,  # noqa: A002  (the word that users read)
) -> AtcError:
    """The diagnostic for a fault at `mark` of a specification."""
    place = Place(mark.file or file, line=mark.line, column=mark.column)
    return BAD_SPEC.error(message, place=place, help=help)
