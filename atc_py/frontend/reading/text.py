"""Strings of ONNX files, which protobuf returns as bytes where they are not UTF-8."""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING, cast

from atc_py.diag.codes import NOT_ONNX

if TYPE_CHECKING:
    from collections.abc import Iterable

    from atc_py.diag import Place

__all__ = ["text_of", "texts_of"]


def text_of(value: str | bytes, place: Place) -> str:
    """Return `value`, which must be text.

    Raises:
        AtcError: NOT_ONNX where it is not UTF-8; names in ONNX files are.
    """
    if isinstance(value, bytes):
        raise NOT_ONNX.error(f"the name {value[:40]!r} is not UTF-8", place=place)
    return value


def texts_of(values: Iterable[str | bytes], place: Place) -> tuple[str, ...]:
    """Return all of `values`, each of which must be text.

    Raises:
        AtcError: NOT_ONNX where one is not UTF-8.
    """
    found = tuple(values)
    if bytes in map(type, found):
        return tuple(text_of(value, place) for value in found)
    return tuple(map(intern, cast("tuple[str, ...]", found)))
