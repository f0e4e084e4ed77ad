"""Strings of ONNX files, which protobuf returns as bytes where they are not UTF-8."""

from collections.abc import Iterable
from sys import intern
from typing import cast

from atc_py.diag import Place
from atc_py.diag.codes import NOT_ONNX
from atc_py.text import Text


def text_of(value: str | bytes, place: Place) -> str:
    """`value`, which must be text.

    Raises:
        AtcError: NOT_ONNX where it is not UTF-8; names in ONNX files are.
    """
    if isinstance(value, bytes):
        raise NOT_ONNX.error(
            Text("the name {value} is not UTF-8", value=repr(value[:40])), place=place
        )
    return value


def texts_of(values: Iterable[str | bytes], place: Place) -> tuple[str, ...]:
    """All of `values`, each of which must be text.

    Raises:
        AtcError: NOT_ONNX where one is not UTF-8.
    """
    found = tuple(values)
    if not are_texts(found):
        return tuple(text_of(value, place) for value in found)
    return tuple(map(intern, cast("tuple[str, ...]", found)))


def are_texts(values: tuple[str | bytes, ...]) -> bool:
    """True if all of `values` are text."""
    return bytes not in map(type, values)
