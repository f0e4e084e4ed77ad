"""Structs of msgspec: the base of results, `replace` for type checkers, use by threads."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from atc_py.system.json_text import json_values

if TYPE_CHECKING:
    from dataclasses import replace as replace  # msgspec's takes any keyword in their eyes
else:

    def replace(record: object, /, **changes: object) -> object:
        """Copy a struct or a dataclass, which type checkers do not tell apart, with changes."""
        own = isinstance(record, msgspec.Struct)
        return (msgspec.structs if own else dataclasses).replace(record, **changes)


Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Share: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1)]

NOT_FINITE = "null where it is not finite"
Ratio: TypeAlias = Annotated[float, NOT_FINITE]
"""A number that may be infinite or NaN, which JSON documents have as null."""


class Result(msgspec.Struct, frozen=True):
    """A struct that the Python interface takes or returns; it is the JSON document of itself.

    Names in the annotations of its kinds are there at run time, not for type checkers alone: `help`
    looks them up. A field that documents name otherwise has that name in `msgspec.field`; one whose
    name there begins with `_` stays out of them.
    """

    def as_json(self) -> dict[str, Any]:
        """The fields as JSON values; texts are in each language, and numbers finite or null."""
        names = zip(self.__struct_encode_fields__, self.__struct_fields__, strict=True)
        return {
            name: json_values(getattr(self, field))
            for name, field in names
            if not name.startswith("_")
        }


class DocumentTypes:
    """Types of the parts of documents, from which their schema follows, by types of results.

    Every field is in a document, and nothing else. An enumeration is a string there, held to its
    values where its annotation says so.
    """

    def __init__(
        self,
        leaves: Mapping[type, Any],
        names: Mapping[Any, str],
        descriptions: Mapping[Any, str],
    ) -> None:
        """Prepare for a document.

        Args:
            leaves: types of what has a form of its own there.
            names: of structs, where they are not those of their classes.
            descriptions: of structs, where they are not the first sentences of their classes.
        """
        self._known = dict(leaves)
        self._names = names
        self._descriptions = descriptions

    def of(self, kind: Any) -> Any:
        """The type in a document of an annotation of a result."""
        origin, inner = get_origin(kind), get_args(kind)
        if origin is None:
            return self._of_class(kind)
        if origin is Annotated:
            parts = (self.of(inner[0]), *inner[1:])
            return parts[0] | None if NOT_FINITE in inner[1:] else Annotated[parts]
        if origin in {Union, UnionType}:
            return Union[tuple(map(self.of, inner))]  # noqa: UP007  (of types known at run time)
        if origin is not tuple:
            return dict[(self.of(inner[0]), self.of(inner[1]))]  # type: ignore[misc]
        items: Any = list[self.of(inner[0])]  # type: ignore[misc]
        if inner[-1] is Ellipsis:
            return items
        return Annotated[items, msgspec.Meta(min_length=len(inner), max_length=len(inner))]

    def _of_class(self, kind: type) -> Any:
        if kind not in self._known and issubclass(kind, msgspec.Struct):
            self._known[kind] = self._struct(kind)
        return self._known.get(kind, str if issubclass(kind, Enum) else kind)

    def _struct(self, kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
        hints = get_type_hints(kind, include_extras=True)
        names = zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True)
        summary = self._descriptions.get(kind, (kind.__doc__ or "").split("\n")[0])
        return msgspec.defstruct(
            self._names.get(kind, kind.__name__),
            [(name, self.of(hints[field])) for name, field in names if not name.startswith("_")],
            namespace={"__doc__": summary},
            kw_only=True,
            forbid_unknown_fields=True,
        )


def ready_for_threads(*types: Any) -> None:
    """Have msgspec read the fields of struct types now, which it else does when it first decodes one.

    Two threads that do so at the same time end the process: one uses what the other has begun.
    A module calls this where it defines or imports the types, for one thread alone imports it.
    """
    for each in types:
        with suppress(msgspec.ValidationError):
            msgspec.convert(None, each)
