"""Ranges of dims: `x:1~8,3,-1` in --input-shape, dims that each run decides."""

from collections.abc import Mapping, Sequence

from atc_py.diag import BAD_INPUT_SHAPE, AtcError, AtcFault
from atc_py.options.input_shapes import INPUT_SHAPE_PLACE, parse_shapes, shapes_text
from atc_py.system.structs import Result
from atc_py.tensor.shapes import Dims, Shape
from atc_py.text import Text

_LARGEST = 2**31 - 1
_SAMPLE = '"input_name1:n1~n2,c1,h1,w1"'
_ALLOWED = set("0123456789 ,~-")


class DimRange(Result, frozen=True):
    """Numbers that a dim may have, both ends included; a high end of None is no limit."""

    low: int
    high: int | None

    @property
    def is_open(self) -> bool:
        """True if more than one number is in it."""
        return self.low != self.high

    def holds(self, number: int) -> bool:
        return self.low <= number and (self.high is None or number <= self.high)

    def __str__(self) -> str:
        if not self.is_open:
            return str(self.low)
        return f"{self.low}~{self.high}" if self.high is not None else "-1"


Ranges = dict[str, tuple[DimRange, ...]]
"""The ranges of every dim of inputs, by name."""


def has_ranges(text: str) -> bool:
    """Tell whether a text of --input-shape has dims that a run decides."""
    dims = [dim for entry in text.split(";") for dim in entry.rpartition(":")[2].split(",")]
    return any("~" in dim or dim.strip().startswith("-") for dim in dims)


def parse_ranges(text: str) -> Ranges:
    """The ranges that a text of --input-shape gives.

    `n` is one number, `a~b` a range, `-1` any number of at least 1.

    Raises:
        AtcError: BAD_INPUT_SHAPE with ATC's code for what cannot be read.
    """
    found: Ranges = {}
    for entry in text.split(";"):
        name, colon, dims = (part.strip() for part in entry.rpartition(":"))
        if not colon or not name:
            raise _fault(
                "E10048",
                text,
                Text("{entry} is not of the form `name:dims`", entry=repr(entry.strip())),
            )
        if set(dims) - _ALLOWED:
            raise _fault(
                "E10002",
                text,
                Text("the dims {dims} have characters other than digits, ~ - ,", dims=repr(dims)),
            )
        if name in found:
            raise _fault(
                "E10048", text, Text("the shape of input {name} is given twice", name=repr(name))
            )
        found[name] = tuple(_range(part.strip(), text) for part in dims.split(",")) if dims else ()
    return found


def shapes_and_ranges(
    given: str | Mapping[str, Sequence[int]],
) -> tuple[dict[str, Shape], Ranges]:
    """The shapes of inputs, and the ranges of those with dims that each run decides.

    Raises:
        AtcError: BAD_INPUT_SHAPE for what cannot be read.
    """
    if not isinstance(given, str) and any(dim < 0 for dims in given.values() for dim in dims):
        given = shapes_text(given)
    if not isinstance(given, str) or not has_ranges(given):
        return parse_shapes(given), {}
    ranges = parse_ranges(given)
    opened = {name: dims for name, dims in ranges.items() if any(dim.is_open for dim in dims)}
    closed = {name: dims for name, dims in ranges.items() if name not in opened}
    return {name: tuple(dim.low for dim in dims) for name, dims in closed.items()}, opened


def format_ranges(ranges: Mapping[str, tuple[DimRange, ...]]) -> str:
    return ";".join(f"{name}:{','.join(map(str, dims))}" for name, dims in ranges.items())


def open_dims(ranges: Mapping[str, tuple[DimRange, ...]]) -> dict[str, Dims]:
    """The dims of inputs, None where a run decides."""
    return {
        name: tuple(None if dim.is_open else dim.low for dim in dims)
        for name, dims in ranges.items()
    }


def refuse_ranges(ranges: Mapping[str, tuple[DimRange, ...]], why: str) -> None:
    """Refuse ranges where each run needs one shape.

    Raises:
        AtcError: BAD_INPUT_SHAPE.
    """
    if ranges:
        raise BAD_INPUT_SHAPE.error(
            Text(
                "--input-shape leaves dims of {ranges} open, but {why}",
                ranges=format_ranges(ranges),
                why=why,
            ),
            place=INPUT_SHAPE_PLACE,
            help=Text("give numbers in place of ranges and -1"),
        )


def outside(ranges: Mapping[str, tuple[DimRange, ...]], name: str, shape: Shape) -> bool:
    """Tell whether a shape is not among those of an input."""
    dims = ranges.get(name)
    if dims is None:
        return False
    return len(dims) != len(shape) or not all(
        dim.holds(number) for dim, number in zip(dims, shape, strict=True)
    )


def _range(text: str, whole: str) -> DimRange:
    low, wave, high = text.partition("~")
    if not wave and text.startswith("-") and _is_number(text[1:]):
        return DimRange(1, None)
    if not _is_number(low) or (wave and not _is_number(high)):
        raise _fault(
            "E10048",
            whole,
            Text("{part} cannot be converted to a number or a range", part=repr(text)),
        )
    numbers = int(low), int(high) if wave else int(low)
    if not numbers[1] >= 1 or numbers[0] > numbers[1] or numbers[1] > _LARGEST:
        raise _fault(
            "E10048",
            whole,
            Text("{text} has no number in [1, {largest}]", text=repr(text), largest=_LARGEST),
        )
    return DimRange(max(numbers[0], 1), numbers[1])


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text.lstrip("0")) <= len(str(_LARGEST))


def _fault(code: str, text: str, reason: str) -> AtcError:
    return BAD_INPUT_SHAPE.error(
        Text("--input-shape {text} cannot be read: {reason}", text=repr(text), reason=reason),
        place=INPUT_SHAPE_PLACE,
        help=Text('write ranges as "x:1~8,3,224,224", and -1 for any number'),
        atc=AtcFault(code, (text, reason, _SAMPLE)),
    )
