"""Texts among JSON values, for another process that says them."""

from typing import Any

from atc_py.text import Text, Words, joined_text, made_text

_MARK = "\x04"
"""Key of a text among JSON values, which no document has."""

_MAKERS = {"text": made_text, "joined": joined_text, "words": Words}


def packed(value: Any) -> Any:
    """JSON values in which texts keep their templates; `unpacked` is for `json.loads`."""
    if isinstance(value, Text):
        maker, parts = value.__reduce__()
        name = next(name for name, each in _MAKERS.items() if each is maker)
        return {_MARK: name, "parts": packed(list(parts))}
    if isinstance(value, dict):
        return {name: packed(inner) for name, inner in value.items()}
    return [packed(inner) for inner in value] if isinstance(value, list | tuple) else value


def unpacked(value: dict[str, Any]) -> Any:
    """An object of `json.loads`, or the text that it stands for."""
    maker: Any = _MAKERS.get(value.get(_MARK, ""))
    try:
        return value if maker is None else maker(*value["parts"])
    except (KeyError, TypeError):
        raise ValueError("what came is no text") from None
