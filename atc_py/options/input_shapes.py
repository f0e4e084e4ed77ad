"""What texts say of inputs: `--input-shape`, `--input-format` and `--size`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import TypeVar

import msgspec

from atc_py.diag import BAD_INPUT_SHAPE, BAD_OPTION, AtcError, AtcFault, Place
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
        runs: False where the model compiles with them, and no run gave numbers.
    """

    text: str
    fits: bool
    tried: int
    runs: bool = True


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
            Text(
                "--input-shape {text} has a range, which cannot be combined with gears",
                text=repr(text),
            ),
            AtcFault("E10040"),
        )
    return _parsed(text, lambda dim, name: None if dim == _OPEN else _dim(dim, name, text))


def parse_shapes(given: str | Mapping[str, Sequence[int]]) -> dict[str, Shape]:
    """Input shapes from either form."""
    if isinstance(given, str):
        return parse_input_shapes(given) if given else {}
    return {name: tuple(int(dim) for dim in shape) for name, shape in given.items()}


def joined_shapes(given: Iterable[str]) -> str:
    """The text of an option that is given once or several times."""
    return ";".join(text.strip().rstrip(";") for text in given)


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


_MOST = 4096 + 2 * 32
"""Rows or columns that AIPP makes at most: a picture and its borders."""


def parse_size(text: str) -> tuple[int, int]:
    """Height and width.

    Raises:
        AtcError: BAD_OPTION for a text that is not `H,W` with whole numbers in [1, 4160].
    """
    parts = [part.strip() for part in text.split(",")]
    plain = [part for part in parts if part.isascii() and part.isdigit() and len(part) <= 4]  # noqa: PLR2004
    if len(parts) == len(plain) == len("HW"):
        height, width = map(int, plain)
        if min(height, width) >= 1 and max(height, width) <= _MOST:
            return height, width
    raise BAD_OPTION.error(
        Text(
            "--size is height and width in [1, {most}], found {text}",
            most=_MOST,
            text=repr(text[:40]),
        ),
        place=Place(field="--size"),
        help=Text("write --size 224,224"),
    )


class InputFormat(Enum):
    """Layout that a user says inputs are in; it labels them and moves no data."""

    NCHW = "NCHW"
    NHWC = "NHWC"
    NCDHW = "NCDHW"
    ND = "ND"


def parse_input_format(name: str) -> InputFormat:
    layout = {row.value: row for row in InputFormat}.get(name)
    if layout is None:
        known = ", ".join(row.value for row in InputFormat)
        raise BAD_OPTION.error(
            Text("--input-format does not take the layout {name}", name=repr(name)),
            place=Place(field="--input-format"),
            help=Text("layouts are {known}", known=known),
            atc=AtcFault(
                "E10001",
                (
                    name,
                    "--input_format",
                    Text("the layout must be one of {known}", known=known),
                ),
            ),
        )
    return layout


OUT_NODES_PLACE = Place(field="--out-nodes")
"""Place of diagnostics about the text."""

_ENDS_FORM = Text(
    'write the names of tensors, "scores;boxes", or nodes with an output\'s index, "Conv_3:0"'
)


class OutNode(msgspec.Struct, frozen=True):
    """A result that becomes an output of the model.

    Attributes:
        text: the entry as it was given.
        name: of the tensor, or of the node where `index` is given.
        index: position among the node's outputs; None for a tensor's name.
    """

    text: str
    name: str
    index: int | None = None


def parse_out_nodes(text: str) -> tuple[OutNode, ...]:
    """The entries of `text`, in its order; an empty text has none."""
    if not text:
        return ()
    given = text.split(";")
    if len(given) > 1 and not given[-1].strip():
        del given[-1]
    found = tuple(_entry(each.strip(), text) for each in given)
    if len({each.index is None for each in found}) > 1:
        raise out_nodes_error(
            text,
            Text(
                "{text} mixes names of tensors with `node:index`; use one form",
                text=repr(text),
            ),
        )
    if len(set(found)) < len(found):
        raise out_nodes_error(text, Text("{text} names a result twice", text=repr(text)))
    return found


def out_nodes_error(value: str, message: Text, code: str = "E10001") -> AtcError:
    """A finding about `value`, all or a part of the text; ATC's code takes its reason."""
    reason = (message,) if code != "E10013" else ()
    fault = AtcFault(code, (value, "out_nodes" if code != "E10001" else "--out_nodes", *reason))
    return BAD_OPTION.error(message, place=OUT_NODES_PLACE, help=_ENDS_FORM, atc=fault)


def _entry(entry: str, text: str) -> OutNode:
    parts = entry.split(":")
    if len(parts) == 1 and entry:
        return OutNode(entry, entry)
    if len(parts) != len(("node", "index")) or not parts[0]:
        shown = repr(entry) if entry else Text("an empty entry")
        raise out_nodes_error(
            entry or text,
            Text("{shown} is neither the name of a tensor nor `node:index`", shown=shown),
        )
    name, digits = parts
    if not (digits.isascii() and digits.isdigit()):
        raise out_nodes_error(
            entry,
            Text(
                "the index {digits} of node {name} must be 0 or a positive integer",
                digits=repr(digits),
                name=repr(name),
            ),
        )
    if len(digits.lstrip("0")) > len(str(_LARGEST)) or int(digits) > _LARGEST:
        raise out_nodes_error(
            digits,
            Text(
                "the index {digits} of node {name} is beyond {largest}",
                digits=digits[:20],
                name=repr(name),
                largest=_LARGEST,
            ),
            "E10013",
        )
    return OutNode(entry, name, int(digits))
