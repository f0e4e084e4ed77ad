"""Structs of msgspec: the base of results, `replace` for type checkers, use by threads."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import msgspec

from atc_py.system.json_text import json_values

if TYPE_CHECKING:
    from dataclasses import replace as replace  # msgspec's takes any keyword in their eyes
else:

    def replace(record: object, /, **changes: object) -> object:
        """Copy a struct or a dataclass, which type checkers do not tell apart, with changes."""
        if isinstance(record, msgspec.Struct):
            return msgspec.structs.replace(record, **changes)
        import dataclasses  # many commands have none

        return dataclasses.replace(record, **changes)


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


def ready_for_threads(*types: Any) -> None:
    """Have msgspec read the fields of struct types now, which it else does when it first decodes one.

    Two threads that do so at the same time end the process: one uses what the other has begun.
    A module calls this where it defines or imports the types, for one thread alone imports it.
    """
    for each in types:
        with suppress(msgspec.ValidationError):
            msgspec.convert(None, each)
