"""The text of `--input-shape`: `name:1,3,224,224;other:8,16`, parsed and written."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from atc_py.diag import BAD_INPUT_SHAPE, AtcError, AtcFault, Place
from atc_py.tensor.shapes import Dims, Shape
from atc_py.text import Text

INPUT_SHAPE_PLACE = Place(field="--input-shape")
"""Place of diagnostics about the text."""

_FORM = Text(
    'write --input-shape "name:1,3,224,224", several inputs joined by `;`, a scalar as "name:"'
)
_SAMPLE = '"input_name1:n1,c1,h1,w1"'
_OPEN = "-1"
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
    """The shapes that `text` gives, by input name, in the order of the text.

    A name may itself hold colons; the last one divides it from the dims. `name:` is a scalar.

    Raises:
        AtcError: BAD_INPUT_SHAPE for an entry without colon or name, a name given twice, or an
            dim that is not a whole number in [1, 2147483647].
    """
    return _parsed(text, lambda dim, name: _dim(dim, name, text))


def parse_gear_shapes(text: str) -> dict[str, Dims]:
    """The shapes that `text` gives, with None for each -1, whose place a gear takes.

    Raises:
        AtcError: BAD_INPUT_SHAPE as `parse_input_shapes` does, and for a range such as `1~8`.
    """
    if "~" in text:
        raise _error(
            Text("--input-shape {text} has a range, which gears exclude", text=repr(text)),
            AtcFault("E10040"),
        )
    return _parsed(text, lambda dim, name: None if dim == _OPEN else _dim(dim, name, text))


def parse_shapes(given: str | Mapping[str, Sequence[int]]) -> dict[str, Shape]:
    """Input shapes from either form.

    Raises:
        AtcError: BAD_INPUT_SHAPE as `parse_input_shapes` does.
    """
    if isinstance(given, str):
        return parse_input_shapes(given) if given else {}
    return {name: tuple(int(dim) for dim in shape) for name, shape in given.items()}


def shapes_text(given: str | Mapping[str, Sequence[int]]) -> str:
    """Input shapes as text, from either form."""
    if isinstance(given, str):
        return given
    return ";".join(f"{name}:{numbers_text(dims, ',')}" for name, dims in given.items())


def numbers_text(given: str | Iterable[int | Iterable[int]], separator: str) -> str:
    """Text of numbers, or of lists of them, joined; a text is it already."""
    if isinstance(given, str):
        return given
    return separator.join(
        str(part) if isinstance(part, int) else ",".join(map(str, part)) for part in given
    )


_D = TypeVar("_D")


def _parsed(text: str, dim_of: Callable[[str, str], _D]) -> dict[str, tuple[_D, ...]]:
    """The dims of each input, each read by `dim_of` from its text and the input's name."""
    shapes: dict[str, tuple[_D, ...]] = {}
    for entry in text.split(";"):
        name, colon, dims = (part.strip() for part in entry.rpartition(":"))
        if not colon or not name:
            reason = Text("{entry} is not of the form `name:dims`", entry=repr(entry.strip()))
            raise _error(reason, AtcFault("E10002", (text, reason, _SAMPLE)))
        if name in shapes:
            raise _error(Text("the shape of input {name} is given twice", name=repr(name)))
        parts = dims.split(",") if dims else []
        shapes[name] = tuple(dim_of(part.strip(), name) for part in parts)
    return shapes


def format_input_shapes(shapes: Mapping[str, Shape]) -> str:
    """The text that `parse_input_shapes` reads as `shapes`."""
    return ";".join(f"{name}:{','.join(map(str, shape))}" for name, shape in shapes.items())


def _dim(text: str, name: str, whole: str) -> int:
    plain = text.isascii() and text.isdigit()
    fits = plain and len(text.lstrip("0")) <= len(str(_LARGEST))
    dim = int(text) if fits else 0
    if not 1 <= dim <= _LARGEST:
        shown = text if len(text) <= len("-2147483648") else f"{text[:10]}..."
        message = Text(
            "dims of input {name} must be whole numbers in [1, {largest}], found {shown}",
            name=repr(name),
            largest=_LARGEST,
            shown=repr(shown),
        )
        raise _error(message, _dim_fault(shown, whole, message))
    return dim


def _dim_fault(dim: str, whole: str, reason: str) -> AtcFault:
    """ATC's code for a dim without a number, too large, or not positive."""
    digits = dim.removeprefix("-")
    if not digits.isascii() or not digits.removesuffix("...").isdigit():
        return AtcFault("E10002", (whole, reason, _SAMPLE))
    if digits.endswith("...") or int(digits) > _LARGEST:
        return AtcFault("E10013", (dim, "input_shape"))
    return AtcFault("E10011", (whole, dim))


def _error(message: Text, atc: AtcFault | None = None) -> AtcError:
    return BAD_INPUT_SHAPE.error(message, place=INPUT_SHAPE_PLACE, help=_FORM, atc=atc)
