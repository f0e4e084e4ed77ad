"""The text of `--input-shape`: `name:1,3,224,224;other:8,16`, parsed and written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from atc_py.diag import Place
from atc_py.diag.codes import BAD_INPUT_SHAPE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from atc_py.diag import AtcError
    from atc_py.tensor.shapes import Shape

__all__ = ["INPUT_SHAPE_PLACE", "ShapeAdvice", "format_input_shapes", "parse_input_shapes"]

INPUT_SHAPE_PLACE = Place(field="--input-shape")
"""Place of diagnostics about the text."""

_FORM = 'write --input-shape "name:1,3,224,224", several inputs joined by `;`, a scalar as "name:"'
_LARGEST = 2**31 - 1


class ShapeAdvice(msgspec.Struct, frozen=True):
    """Advice about shapes, as text for --input-shape.

    Attributes:
        text: the shapes; where none is known that fits, names of dims stand for numbers.
        fits: whether the model takes them; it was tried.
        tried: how many choices of dims were tried.
    """

    text: str
    fits: bool
    tried: int


def parse_input_shapes(text: str) -> dict[str, Shape]:
    """Return the shapes that `text` gives, by input name, in the order of the text.

    A name may itself hold colons; the last one divides it from the dims. `name:` is a scalar.

    Raises:
        AtcError: BAD_INPUT_SHAPE for an entry without colon or name, a name given twice, or an
            dim that is not a whole number in [1, 2147483647].
    """
    shapes: dict[str, Shape] = {}
    for entry in text.split(";"):
        name, colon, dims = (part.strip() for part in entry.rpartition(":"))
        if not colon or not name:
            raise _error(f"{entry.strip()!r} is not of the form `name:dims`")
        if name in shapes:
            raise _error(f"the shape of input {name!r} is given twice")
        parts = dims.split(",") if dims else []
        shapes[name] = tuple(_dim(part.strip(), name) for part in parts)
    return shapes


def format_input_shapes(shapes: Mapping[str, Shape]) -> str:
    """Return the text that `parse_input_shapes` reads as `shapes`."""
    return ";".join(f"{name}:{','.join(map(str, shape))}" for name, shape in shapes.items())


def _dim(text: str, name: str) -> int:
    """Return one dim of input `name`."""
    plain = text.isascii() and text.isdigit() and len(text.lstrip("0")) <= len(str(_LARGEST))
    dim = int(text) if plain else 0
    if not 1 <= dim <= _LARGEST:
        shown = text if len(text) <= len("-2147483648") else f"{text[:10]}..."
        raise _error(
            f"dims of input {name!r} must be whole numbers in [1, {_LARGEST}], found {shown!r}"
        )
    return dim


def _error(message: str) -> AtcError:
    """Return a finding about the text, with the right form as help."""
    return BAD_INPUT_SHAPE.error(message, place=INPUT_SHAPE_PLACE, help=_FORM)
