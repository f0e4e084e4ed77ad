"""Gears: the lists of shapes that one offline model holds graphs for, parsed and checked.

The checks and their order are ATC's [C]; each fault carries ATC's code. Two are stricter than ATC's
code: a gear of 0, which ATC lets fail when shapes are inferred [D], and more than 100 gears, which
ATC's documents refuse and its newest code does not count [D].
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from math import prod
from typing import TYPE_CHECKING

from atc_py.diag import AtcError, AtcFault, Place
from atc_py.diag.codes import BAD_OPTION, NO_SUCH_GEAR, OPTIONS_EXCLUDE
from atc_py.options.input_shapes import format_input_shapes
from atc_py.system.structs import Result
from atc_py.tensor.shapes import Dims, Shape, format_shape

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = [
    "FEWEST_GEARS",
    "MOST_GEARS",
    "SHAPE_DATA",
    "GearKind",
    "Gears",
    "format_gear",
    "one_kind",
    "parse_gears",
]

SHAPE_DATA = "ascend_mbatch_shape_data"
"""Name of the input that ATC appends to a model with gears; it says which gear runs."""

FEWEST_GEARS, MOST_GEARS = 2, 100
"""Numbers of gears that a model may have."""

_LARGEST = 2**31 - 1
_SHOWN = 20
"""Gears that a message lists."""

_IMAGE_RANK = 4
_IMAGE_AXES = {"": (2, 3), "NCHW": (2, 3), "NHWC": (1, 2)}
"""Axes of height and width by the format of the inputs; none given means NCHW."""


class GearKind(Enum):
    """Part of the shapes that gears decide."""

    BATCH = "batch"
    IMAGE = "image"
    DIMS = "dims"

    @property
    def option(self) -> str:
        """Spelling of the option that lists gears of this kind."""
        return {"batch": "--batch-sizes", "image": "--image-sizes", "dims": "--dims"}[self.value]

    @property
    def parameter(self) -> str:
        """ATC's name of that option."""
        names = {"batch": "dynamic_batch_size", "image": "dynamic_image_size"}
        return names.get(self.value, "dynamic_dims")

    @property
    def run_option(self) -> str:
        """Spelling of the option by which a run chooses a gear of this kind."""
        return f"--{self.value}"


class Gears(Result, frozen=True):
    """Shapes of the inputs, and the numbers that take the places of their open dims.

    Attributes:
        kind: what the gears decide.
        shapes: dims of each input, None where a gear decides, in the order of --input-shape.
        gears: numbers of each gear; for kind dims one for each open dim, in that order.
        fed: shapes of what is fed in each gear, where that is not the network's: AIPP takes
            pictures, and perhaps settings; empty for `shapes_of`.
    """

    kind: GearKind
    shapes: Mapping[str, Dims]
    gears: tuple[tuple[int, ...], ...]
    fed: tuple[Mapping[str, Shape], ...] = ()

    def fed_shapes_of(self, gear: int) -> Mapping[str, Shape]:
        """Return the shapes of what is fed in the gear at position `gear`."""
        return self.fed[gear] if self.fed else self.shapes_of(gear)

    def shapes_of(self, gear: int) -> dict[str, Shape]:
        """Return the shapes of the inputs in the gear at position `gear`."""
        left = list(self._numbers(self.gears[gear]))
        return {
            name: tuple(left.pop(0) if dim is None else dim for dim in dims)
            for name, dims in self.shapes.items()
        }

    @property
    def largest(self) -> int:
        """Position of the gear whose inputs have the most elements; the first of several."""
        return max(range(len(self.gears)), key=self.elements)

    def elements(self, gear: int) -> int:
        """Count the elements of the inputs in a gear."""
        return sum(prod(shape) for shape in self.shapes_of(gear).values())

    def matching(self, shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
        """Return the positions of the gears in which the named inputs have these shapes."""
        every = ((gear, self.fed_shapes_of(gear)) for gear in range(len(self.gears)))
        return tuple(
            gear
            for gear, own in every
            if all(own.get(name, shape) == tuple(shape) for name, shape in shapes.items())
        )

    def text(self) -> str:
        """Return the text that the option of this kind takes."""
        separator = "," if self.kind is GearKind.BATCH else ";"
        return separator.join(map(format_gear, self.gears))

    def of_shapes(self, shapes: Mapping[str, tuple[int, ...]]) -> int:
        """Return the position of the gear that fits shapes of inputs, the largest of several.

        Raises:
            AtcError: NO_SUCH_GEAR where none fits.
        """
        fitting = self.matching(shapes)
        if not fitting:
            given = ", ".join(f"{name} {format_shape(shapes[name])}" for name in shapes)
            raise self.refusal(f"the offline model has no gear for the shapes {given}")
        return max(fitting, key=self.elements)

    def of_values(self, values: Sequence[int], source: str) -> int:
        """Return the position of the gear with these numbers.

        Args:
            values: the numbers.
            source: what gives them, for the message.

        Raises:
            AtcError: NO_SUCH_GEAR where there is none.
        """
        if tuple(values) not in self.gears:
            wanted = f"gear {format_gear(values)}"
            raise self.refusal(f"{source} asks for {wanted}, which the offline model does not have")
        return self.gears.index(tuple(values))

    def refusal(self, message: str) -> AtcError:
        """Return the refusal of numbers or shapes that are those of no gear, with a list of all."""
        known = (
            f"{format_gear(values)} ({format_input_shapes(self.fed_shapes_of(gear))})"
            for gear, values in enumerate(self.gears[:_SHOWN])
        )
        more = len(self.gears) - _SHOWN
        return NO_SUCH_GEAR.error(
            message,
            help=f"its gears are {', '.join(known)}" + (f" and {more} more" if more > 0 else ""),
        )

    def _numbers(self, gear: tuple[int, ...]) -> tuple[int, ...]:
        """Return a number for each open dim of the shapes, in their order."""
        count = sum(dims.count(None) for dims in self.shapes.values())
        if self.kind is GearKind.DIMS:
            return gear
        return gear * (count // len(gear))


def format_gear(gear: Sequence[int]) -> str:
    """Return the numbers of a gear as options spell them, such as `320,320`."""
    return ",".join(map(str, gear))


def one_kind(given: Mapping[GearKind, str]) -> tuple[GearKind, str] | None:
    """Return the kind of gears of which there is a text, and the text; None if there is none.

    Raises:
        AtcError: OPTIONS_EXCLUDE where several kinds have one.
    """
    found = [(kind, text) for kind, text in given.items() if text]
    if len(found) > 1:
        named = " and ".join(kind.option for kind, _ in found)
        raise OPTIONS_EXCLUDE.error(
            f"{named} both list gears",
            help="give one of them; --dims can vary any dims together",
            atc=AtcFault("E10009"),
        )
    return found[0] if found else None


def parse_gears(
    kind: GearKind, text: str, shapes: Mapping[str, Dims], input_format: str = ""
) -> Gears:
    """Return the gears that `text` lists for inputs of the given shapes.

    Args:
        kind: what the gears decide.
        text: value of the option.
        shapes: dims of each input, None where a gear decides, in the order of --input-shape.
        input_format: layout of the inputs, for gears of image sizes.

    Raises:
        AtcError: BAD_OPTION with ATC's code for the first check that fails.
    """
    if not shapes:
        raise _fault(
            kind, "E10004", ("input_shape",), f"{kind.option} needs --input-shape with -1 in it"
        )
    check = {
        GearKind.BATCH: _check_batch,
        GearKind.IMAGE: _check_image,
        GearKind.DIMS: _check_dims,
    }[kind]
    found = check(text, shapes, input_format)
    _check_gears(kind, found)
    return Gears(kind, dict(shapes), found)


def _check_batch(
    text: str, shapes: Mapping[str, Dims], _format: str
) -> tuple[tuple[int, ...], ...]:
    """Return the gears of batch sizes after their checks."""
    kind = GearKind.BATCH
    for name, dims in sorted(shapes.items()):
        if not dims:
            raise _fault(
                kind, "E10012", (), f"{kind.option} needs inputs with a batch; {name!r} is a scalar"
            )
        for axis, dim in enumerate(dims):
            if axis and dim is None:
                raise _fault(
                    kind,
                    "E10018",
                    (_shape_text(dims), str(axis)),
                    f"with {kind.option} only axis 0 of an input can be -1; "
                    f"axis {axis} of {name!r} is -1",
                )
    if all(None not in dims for dims in shapes.values()):
        raise _fault(kind, "E10031", (), f"{kind.option} needs an input whose axis 0 is -1")
    if text.strip("0123456789,") or not text.strip(","):
        raise _value_fault(kind, text, "only digits and commas are allowed")
    return tuple((_number(kind, each, text),) for each in text.removesuffix(",").split(","))


def _check_image(text: str, shapes: Mapping[str, Dims], layout: str) -> tuple[tuple[int, ...], ...]:
    """Return the gears of image sizes after their checks."""
    kind = GearKind.IMAGE
    only = f"with {kind.option} the height and width of images must be -1, and nothing else"
    if layout not in _IMAGE_AXES:
        raise AtcError(
            BAD_OPTION.diagnostic(
                f"{kind.option} needs inputs in NCHW or NHWC, found input format {layout!r}",
                place=_place(kind),
                help="give --input-format NCHW or NHWC, or use --dims",
                atc=AtcFault("E10003", (layout, "input_format", "only NCHW and NHWC have images")),
            ),
            _fault(kind, "E10019", (), only).diagnostics[0],
        )
    axes = _IMAGE_AXES[layout]
    for name, dims in sorted(shapes.items()):
        found = tuple(axis for axis, dim in enumerate(dims) if dim is None)
        if found and (len(dims) != _IMAGE_RANK or found != axes):
            raise _fault(kind, "E10019", (), f"{only}; input {name!r} is {_shape_text(dims)}")
    if all(None not in dims for dims in shapes.values()):
        raise _fault(kind, "E10019", (), f"{only}; no input has -1")
    text = text.removesuffix(";")
    if text.strip("0123456789,; "):
        raise _value_fault(kind, text, "only digits, commas, blanks and semicolons are allowed")
    groups = [group.split(",") for group in text.split(";")]
    if any(len(group) != len(axes) for group in groups):
        raise _fault(
            kind, "E10020", (text,), f"each gear of {kind.option} is height,width; found {text!r}"
        )
    return tuple(tuple(_number(kind, each.strip(" "), text) for each in group) for group in groups)


def _check_dims(text: str, shapes: Mapping[str, Dims], _format: str) -> tuple[tuple[int, ...], ...]:
    """Return the gears of any dims after their checks."""
    kind = GearKind.DIMS
    count = sum(dims.count(None) for dims in shapes.values())
    if not count:
        raise _fault(
            kind,
            "E10001",
            ("0", "--input_shape", "at least one dim must be -1"),
            f"{kind.option} needs at least one -1 in --input-shape",
        )
    text = text.removesuffix(";")
    if not text:
        raise _fault(kind, "E10058", (f"--{kind.parameter}",), f"{kind.option} lists no gear")
    found = []
    for group in (each.split(",") for each in text.split(";")):
        if len(group) != count:
            reason = f"each gear needs {count} numbers, one for each -1 in --input-shape"
            raise _value_fault(kind, text, f"{reason}; {','.join(group)!r} has {len(group)}")
        found.append(tuple(_digits(each) for each in group))
    return tuple(found)


def _digits(text: str) -> int:
    """Return one number of --dims, which ATC refuses with a code of its own."""
    kind = GearKind.DIMS
    if not text.isascii() or not text.isdigit():
        raise _fault(
            kind,
            "E10001",
            (text, f"--{kind.parameter}", "dims must be positive integers"),
            f"gears of {kind.option} are made of whole numbers, found {text!r}",
        )
    return _bounded(kind, text)


def _number(kind: GearKind, text: str, whole: str) -> int:
    """Return one number of batch or image sizes."""
    if not text.isascii() or not text.isdigit():
        raise _value_fault(kind, whole, f"{text!r} is not a whole number")
    return _bounded(kind, text)


def _bounded(kind: GearKind, digits: str) -> int:
    """Return a number that fits 32 bits."""
    fits = len(digits.lstrip("0")) <= len(str(_LARGEST)) and int(digits) <= _LARGEST
    if not fits:
        shown = digits if len(digits) <= len(str(_LARGEST)) + 1 else f"{digits[:10]}..."
        raise _fault(
            kind,
            "E10013",
            (shown, kind.parameter),
            f"dims of {kind.option} are at most {_LARGEST}, found {shown}",
        )
    return int(digits)


def _check_gears(kind: GearKind, gears: tuple[tuple[int, ...], ...]) -> None:
    """Check the number of gears, and each of them."""
    count = len(gears)
    if count < FEWEST_GEARS:
        raise _fault(
            kind,
            "E10035",
            (str(count), str(FEWEST_GEARS)),
            f"{kind.option} needs at least {FEWEST_GEARS} gears, found {count}",
            "a model for one shape needs no gears: give the numbers in --input-shape",
        )
    if count > MOST_GEARS:
        raise _fault(
            kind,
            "E10036",
            (str(count), str(MOST_GEARS)),
            f"{kind.option} takes at most {MOST_GEARS} gears, found {count}",
        )
    zero = next((gear for gear in gears if 0 in gear), None)
    if zero is not None:
        raise _fault(
            kind, "E10038", ("0",), f"numbers of {kind.option} must be at least 1, found 0"
        )
    twice = next((gear for gear in gears if gears.count(gear) > 1), None)
    if twice is not None:
        raise _fault(kind, "E10039", (), f"{kind.option} lists gear {format_gear(twice)} twice")


def _shape_text(dims: Dims) -> str:
    """Return dims as --input-shape spells them."""
    return ",".join("-1" if dim is None else str(dim) for dim in dims)


def _place(kind: GearKind) -> Place:
    """Return the place of findings about gears of a kind."""
    return Place(field=kind.option)


def _value_fault(kind: GearKind, text: str, reason: str) -> AtcError:
    """Return the refusal of an option's whole text."""
    message = f"{kind.option} {text!r} cannot be read: {reason}"
    return _fault(kind, "E10003", (text, kind.parameter, reason), message)


def _fault(
    kind: GearKind, code: str, arguments: tuple[str, ...], message: str, help_: str = ""
) -> AtcError:
    """Return a refusal with ATC's code and an example of the option."""
    example = {
        GearKind.BATCH: '--input-shape "x:-1,3,224,224" --batch-sizes 1,2,4',
        GearKind.IMAGE: '--input-shape "x:1,3,-1,-1" --image-sizes "224,224;448,448"',
        GearKind.DIMS: '--input-shape "x:-1,8,-1" --dims "1,16;2,32"',
    }[kind]
    return BAD_OPTION.error(
        message,
        place=_place(kind),
        help=help_ or f"for example {example}",
        atc=AtcFault(code, arguments),
    )
