"""Gears by the names of dims: `past=1~64;total=past+1`, and what fits data of sizes between them."""

import re
from collections.abc import Iterator, Mapping, Sequence

from atc_py.diag import BAD_OPTION, BAD_RUN_INPUT, AtcError, Place
from atc_py.system.structs import Result
from atc_py.tensor.shapes import Dims, Shape, format_shape
from atc_py.text import Text

OPTION = "--auto-gears"
_PLACE = Place(field=OPTION)
_LARGEST = 2**31 - 1
_NAME = re.compile(r"[^\s\d+\-*/()][^+\-*/()]*")


class DimSum(Result, frozen=True):
    """A dim as a sum of named dims and a number: `past + 1`."""

    names: tuple[str, ...]
    constant: int = 0

    @property
    def is_name(self) -> bool:
        """True for one named dim alone."""
        return len(self.names) == 1 and not self.constant

    def value(self, sizes: Mapping[str, int]) -> int:
        """The number for these sizes of names."""
        return self.constant + sum(sizes[name] for name in self.names)

    def __str__(self) -> str:
        parts = (*self.names, *([str(self.constant)] if self.constant or not self.names else ()))
        return " + ".join(parts)


NamedDims = Mapping[str, tuple[DimSum, ...]]
"""The dims of inputs or outputs by the names of these."""


def parse_dim(text: str) -> DimSum:
    """A dim as files and options write it; what is no sum of names and numbers is a name."""
    parts = [part.strip() for part in text.split("+")]
    numbers = [part for part in parts if part.isascii() and part.isdigit()]
    names = tuple(part for part in parts if part not in numbers)
    if not all(_NAME.fullmatch(name) for name in names):
        return DimSum((text.strip(),))
    return DimSum(names, sum(map(int, numbers)))


def unnamed_dim(name: str, axis: int) -> str:
    """The name of a dim of an input that the file gives none."""
    return f"{name}[{axis}]".replace("+", "_")


def sizes_text(sizes: Mapping[str, int]) -> str:
    """Sizes of named dims as messages write them."""
    return ", ".join(f"{name} = {size}" for name, size in sizes.items())


class Padding(Result, frozen=True):
    """Dims of a model with gears by name, and how data of sizes between gears fit.

    Inputs are padded with zeros and outputs cut.

    Attributes:
        inputs: dims of the inputs.
        outputs: dims of the outputs.
        front: names of dims that are padded in front of the data; others are at the end.
        empty: names of dims that data may have 0 of.
        leaks: inputs whose padding outputs show; "" where outputs depend on the sizes themselves.
            Where there are any, nothing is padded.
    """

    inputs: NamedDims
    outputs: NamedDims
    front: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()

    def sizes(self, shapes: Mapping[str, Shape]) -> dict[str, int]:
        """The sizes of named dims in shapes of some inputs.

        Raises:
            AtcError: BAD_RUN_INPUT for shapes that contradict each other.
        """
        known = {name: self.inputs[name] for name in shapes if name in self.inputs}
        found: dict[str, int] = {}
        pairs = [
            (dim, number)
            for name, dims in known.items()
            for dim, number in zip(dims, shapes[name], strict=False)
        ]
        for dim, number in sorted(pairs, key=lambda pair: len(pair[0].names)):
            left = [name for name in dim.names if name not in found]
            if len(left) == 1:
                others = sum(found[name] for name in dim.names if name != left[0])
                found[left[0]] = number - dim.constant - others
        for name, dims in known.items():
            if not _agree(dims, shapes[name], found):
                raise self._unlike(name, shapes[name], found)
        return found

    def added(self, dims: Sequence[DimSum], missing: Mapping[str, int]) -> list[tuple[int, int]]:
        """Elements to add in front of each axis and at its end, where names miss so many."""
        pairs = []
        for dim in dims:
            front = sum(missing[name] for name in dim.names if name in self.front)
            end = sum(missing[name] for name in dim.names if name not in self.front)
            pairs.append((front, end))
        return pairs

    def _unlike(self, name: str, shape: Shape, sizes: Mapping[str, int]) -> AtcError:
        wanted = ", ".join(map(str, self.inputs[name]))
        return BAD_RUN_INPUT.error(
            Text(
                "input {name} has the shape {shape}, which is not {wanted} with {known}",
                name=repr(name),
                shape=format_shape(shape),
                wanted=wanted,
                known=sizes_text(sizes),
            ),
            place=Place(field=Text("input {at}", at=name)),
            help=Text("feed arrays in which dims of the same name are equal"),
        )


def _agree(dims: Sequence[DimSum], shape: Shape, sizes: Mapping[str, int]) -> bool:
    return len(dims) == len(shape) and all(
        dim.value(sizes) == number and all(sizes[name] >= 0 for name in dim.names)
        for dim, number in zip(dims, shape, strict=True)
        if all(name in sizes for name in dim.names)
    )


class AutoGears(Result, frozen=True):
    """Numbers for named dims, as the user gives them.

    Attributes:
        shapes: dims of inputs that the user fixes, None for open ones.
        numbers: of each name, "" for the only name that is left; ascending.
        sums: names that are sums of others.
    """

    shapes: Mapping[str, Dims]
    numbers: Mapping[str, tuple[int, ...]]
    sums: Mapping[str, DimSum]


def parse_auto_gears(text: str, shapes: Mapping[str, Dims]) -> AutoGears:
    """The numbers that a text gives: `1~512`, or entries `name=1~512`, `name=1,4`, `name=other+1`.

    A range stands for the powers of two in it and its end.
    """
    numbers: dict[str, tuple[int, ...]] = {}
    sums: dict[str, DimSum] = {}
    for entry in filter(None, (each.strip() for each in text.split(";"))):
        name, _, value = (part.strip() for part in entry.rpartition("="))
        if name in numbers or name in sums:
            raise _fault(Text("{name} is given twice", name=repr(name)))
        if name and not value[:1].isdigit():
            sums[name] = parse_dim(value)
        else:
            numbers[name] = tuple(sorted(set(_numbers(value))))
    return AutoGears(dict(shapes), numbers, sums)


def _numbers(text: str) -> Iterator[int]:
    for part in text.split(","):
        low, wave, high = (each.strip() for each in part.partition("~"))
        ends = [low, high] if wave else [low]
        if not all(is_number(end) for end in ends) or int(ends[0]) > int(ends[-1]):
            raise _fault(Text("{part} is neither a number nor a range", part=repr(part.strip())))
        yield int(ends[-1])
        power = 1
        while wave and power < int(high):
            if power >= int(low):
                yield power
            power *= 2


def is_number(text: str) -> bool:
    """True for the digits of a length of an axis."""
    few = text.isascii() and text.isdigit() and len(text) <= len(str(_LARGEST))
    return few and 1 <= int(text) <= _LARGEST


def _fault(reason: Text) -> AtcError:
    return BAD_OPTION.error(
        Text("{option} cannot be read: {reason}", option=OPTION, reason=reason),
        place=_PLACE,
        help=Text('write a range such as "1~512", or "batch=1,4;sequence=16~512;total=sequence+1"'),
    )
