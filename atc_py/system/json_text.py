"""JSON as text that people may look at: no character in it commands a terminal or hides."""

import json
import math
from collections.abc import Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any

from atc_py.text import plain_text

MAX_DEPTH = 64
"""Nesting of documents that are read and printed again; printing them takes one call per level."""


def format_json(value: Any, indent: int = 2) -> str:
    """`value` as a JSON document with a line break at its end.

    It is written by msgspec: json's own takes ten times as long.
    """
    import msgspec  # here, because the command's own help needs none of it

    return (
        escaped(
            msgspec.json.format(
                msgspec.json.encode(value, enc_hook=plain_text), indent=indent
            ).decode()
        )
        + "\n"
    )


def escaped(document: str) -> str:
    """An equivalent JSON document with unprintable characters escaped.

    JSON itself asks for escapes up to U+001F alone. Beyond are commands of terminals too (U+009B
    begins one), marks that turn the reading direction, and bytes of file names that are not UTF-8.
    """
    odd = {char for char in set(document) if not char.isprintable()} - {"\n"}
    if not odd:
        return document
    # Outside of strings a document has no character but those of ASCII that are printable.
    return document.translate({ord(char): json.dumps(char)[1:-1] for char in odd})


def finite(value: Any) -> Any:
    """Put None in place of each number that JSON cannot name: infinities and NaN."""
    if isinstance(value, dict):
        return {name: finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_values(value: Any) -> Any:
    """`value` as JSON values: what has `as_json` says itself, an empty text is null."""
    if hasattr(value, "as_json"):
        return None if value == "" else value.as_json()
    if isinstance(value, Mapping):
        return {name: json_values(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [json_values(inner) for inner in value]
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, PurePath) else finite(value)


def plain_values(value: Any) -> Any:
    """A struct, or what has structs in it, as JSON values; texts are in English."""
    import msgspec

    return finite(msgspec.to_builtins(value, enc_hook=plain_text))


def is_deep(value: Any) -> bool:
    """True if a decoded document nests lists and objects beyond MAX_DEPTH."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for each in level for inner in _parts(each)]
        if not level:
            return False
    return any(isinstance(each, list | dict) for each in level)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
