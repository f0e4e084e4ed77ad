"""Gears: the lists of shapes that one offline model holds graphs for, parsed and checked.

The checks and their order are ATC's [C]; each fault carries ATC's code. Two are stricter than ATC's
code: a gear of 0, which ATC lets fail when shapes are inferred [D], and more than 100 gears, which
ATC's documents refuse and its newest code does not count [D].

Over 400 lines: the three kinds of gears share their checks.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from math import prod
from typing import Any

from atc_py.diag import BAD_OPTION, NO_SUCH_GEAR, OPTIONS_EXCLUDE, AtcError, AtcFault, Place
from atc_py.options.auto_gears import Padding
from atc_py.options.input_shapes import (
    format_input_shapes,
    numbers_text,
    parse_gear_shapes,
    shapes_text,
)
from atc_py.system.structs import Result
from atc_py.tensor.shapes import Dims, Shape, format_shape
from atc_py.text import Text

SHAPE_DATA = "ascend_mbatch_shape_data"
"""Name of the input that ATC appends to a model with gears; it says which gear runs."""

FEWEST_GEARS, MOST_GEARS = 2, 256
"""Numbers of gears that a model may have on any SoC; most SoCs have fewer."""

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
    def keyword(self) -> str:
        """Python's name of that option."""
        return self.option.removeprefix("--").replace("-", "_")

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
        padding: how data of sizes between gears fit; None where no names of dims are known.
    """

    kind: GearKind
    shapes: Mapping[str, Dims]
    gears: tuple[tuple[int, ...], ...]
    fed: tuple[Mapping[str, Shape], ...] = ()
    padding: Padding | None = None

    def fed_shapes_of(self, gear: int) -> Mapping[str, Shape]:
        """The shapes of what is fed in the gear at position `gear`."""
        return self.fed[gear] if self.fed else self.shapes_of(gear)

    def shapes_of(self, gear: int) -> dict[str, Shape]:
        """The shapes of the inputs in the gear at position `gear`."""
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
        return sum(prod(shape) for shape in self.shapes_of(gear).values())

    def matching(self, shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
        """The positions of the gears in which the named inputs have these shapes."""
        every = ((gear, self.fed_shapes_of(gear)) for gear in range(len(self.gears)))
        return tuple(
            gear
            for gear, own in every
            if all(own.get(name, shape) == tuple(shape) for name, shape in shapes.items())
        )

    def text(self) -> str:
        """The text that the option of this kind takes."""
        separator = "," if self.kind is GearKind.BATCH else ";"
        return separator.join(map(format_gear, self.gears))

    def of_shapes(self, shapes: Mapping[str, tuple[int, ...]]) -> int:
        """The position of the gear that fits shapes of inputs, the largest of several.

        Raises:
            AtcError: NO_SUCH_GEAR where none fits.
        """
        fitting = self.matching(shapes)
        if not fitting:
            given = ", ".join(f"{name} {format_shape(shapes[name])}" for name in shapes)
            raise self.refusal(
                Text("the offline model has no gear for the shapes {given}", given=given)
            )
        return max(fitting, key=self.elements)

    def of_values(self, values: Sequence[int], source: str) -> int:
        """The position of the gear with these numbers, which `source` asks for.

        Raises:
            AtcError: NO_SUCH_GEAR where there is none.
        """
        if tuple(values) not in self.gears:
            wanted = Text("gear {gear}", gear=format_gear(values))
            raise self.refusal(
                Text(
                    "{source} asks for {wanted}, which the offline model does not have",
                    source=source,
                    wanted=wanted,
                )
            )
        return self.gears.index(tuple(values))

    def refusal(self, message: Text) -> AtcError:
        """The refusal of numbers or shapes that are those of no gear, with a list of all."""
        known = (
            f"{format_gear(values)} ({format_input_shapes(self.fed_shapes_of(gear))})"
            for gear, values in enumerate(self.gears[:_SHOWN])
        )
        more = len(self.gears) - _SHOWN
        return NO_SUCH_GEAR.error(
            message,
            help=Text("its gears are {known}", known=", ".join(known))
            + (Text(" and {left} more", left=more) if more > 0 else ""),
        )

    def _numbers(self, gear: tuple[int, ...]) -> tuple[int, ...]:
        count = sum(dims.count(None) for dims in self.shapes.values())
        if self.kind is GearKind.DIMS:
            return gear
        return gear * (count // len(gear))


def format_gear(gear: Sequence[int]) -> str:
    """The numbers of a gear as options spell them, such as `320,320`."""
    return ",".join(map(str, gear))


def one_kind(given: Mapping[GearKind, str]) -> tuple[GearKind, str] | None:
    """The kind of gears of which there is a text, and the text; None if there is none.

    Raises:
        AtcError: OPTIONS_EXCLUDE where several kinds have one.
    """
    found = [(kind, text) for kind, text in given.items() if text]
    if len(found) > 1:
        named = " and ".join(kind.option for kind, _ in found)
        raise OPTIONS_EXCLUDE.error(
            Text("{named} both list gears", named=named),
            help=Text("give one of them; --dims can vary any dims together"),
            atc=AtcFault("E10009"),
        )
    return found[0] if found else None


def parse_gear_lists(
    lists: Mapping[GearKind, str | Iterable[Any]],
    shapes: str | Mapping[str, Sequence[int]],
    input_format: str = "",
    most: int = MOST_GEARS,
) -> Gears | None:
    """The gears, at most `most`, that one of three options lists for these inputs; None without."""
    texts = {
        kind: numbers_text(given, "," if kind is GearKind.BATCH else ";")
        for kind, given in lists.items()
    }
    listed = one_kind(texts)
    if listed is None:
        return None
    text = shapes_text(shapes)
    return parse_gears(*listed, parse_gear_shapes(text) if text else {}, input_format, most)


def parse_gears(
    kind: GearKind,
    text: str,
    shapes: Mapping[str, Dims],
    input_format: str = "",
    most: int = MOST_GEARS,
) -> Gears:
    """The gears that `text` lists for inputs of the given shapes, at most `most`.

    Raises:
        AtcError: BAD_OPTION with ATC's code for the first check that fails.
    """
    if not shapes:
        raise _fault(
            kind, "E10004", ("input_shape",), Text("{option} needs --input-shape with -1 in it")
        )
    check = {
        GearKind.BATCH: _check_batch,
        GearKind.IMAGE: _check_image,
        GearKind.DIMS: _check_dims,
    }[kind]
    found = check(text, shapes, input_format)
    _check_gears(kind, found, most)
    return Gears(kind, dict(shapes), found)


def _check_batch(
    text: str, shapes: Mapping[str, Dims], _format: str
) -> tuple[tuple[int, ...], ...]:
    kind = GearKind.BATCH
    for name, dims in sorted(shapes.items()):
        if not dims:
            raise _fault(
                kind,
                "E10012",
                (),
                Text("{option} needs inputs with a batch; {name} is a scalar"),
                name=repr(name),
            )
        for axis, dim in enumerate(dims):
            if axis and dim is None:
                raise _fault(
                    kind,
                    "E10018",
                    (_shape_text(dims), str(axis)),
                    Text(
                        "with {option} only axis 0 of an input can be -1; axis {axis} of "
                        "{name} is -1"
                    ),
                    axis=axis,
                    name=repr(name),
                )
    if all(None not in dims for dims in shapes.values()):
        raise _fault(kind, "E10031", (), Text("{option} needs an input whose axis 0 is -1"))
    if text.strip("0123456789,") or not text.strip(","):
        raise _value_fault(kind, text, Text("only digits and commas are allowed"))
    return tuple((_number(kind, each, text),) for each in text.removesuffix(",").split(","))


def _no_images(kind: GearKind, layout: str, only: Text) -> AtcError:
    return AtcError(
        BAD_OPTION.diagnostic(
            Text(
                "{option} needs inputs in NCHW or NHWC, found input format {layout}",
                option=kind.option,
                layout=repr(layout),
            ),
            place=Place(field=kind.option),
            help=Text("give --input-format NCHW or NHWC, or use --dims"),
            atc=AtcFault("E10003", (layout, "input_format", "only NCHW and NHWC have images")),
        ),
        _fault(kind, "E10019", (), only).diagnostics[0],
    )


def _check_image(text: str, shapes: Mapping[str, Dims], layout: str) -> tuple[tuple[int, ...], ...]:
    kind = GearKind.IMAGE
    only = Text(
        "with {option} the height and width of images must be -1, and no other dims",
        option=kind.option,
    )
    if layout not in _IMAGE_AXES:
        raise _no_images(kind, layout, only)
    axes = _IMAGE_AXES[layout]
    for name, dims in sorted(shapes.items()):
        found = tuple(axis for axis, dim in enumerate(dims) if dim is None)
        if found and (len(dims) != _IMAGE_RANK or found != axes):
            raise _fault(
                kind,
                "E10019",
                (),
                Text("{only}; input {name} is {shape}"),
                only=only,
                name=repr(name),
                shape=_shape_text(dims),
            )
    if all(None not in dims for dims in shapes.values()):
        raise _fault(kind, "E10019", (), Text("{only}; no input has -1"), only=only)
    text = text.removesuffix(";")
    if text.strip("0123456789,; "):
        raise _value_fault(
            kind, text, Text("only digits, commas, blanks and semicolons are allowed")
        )
    groups = [group.split(",") for group in text.split(";")]
    if any(len(group) != len(axes) for group in groups):
        raise _fault(
            kind,
            "E10020",
            (text,),
            Text("each gear of {option} is height,width; found {text}"),
            text=repr(text),
        )
    return tuple(tuple(_number(kind, each.strip(" "), text) for each in group) for group in groups)


def _check_dims(text: str, shapes: Mapping[str, Dims], _format: str) -> tuple[tuple[int, ...], ...]:
    kind = GearKind.DIMS
    count = sum(dims.count(None) for dims in shapes.values())
    if not count:
        raise _fault(
            kind,
            "E10001",
            ("0", "--input_shape", "at least one dim must be -1"),
            Text("{option} needs at least one -1 in --input-shape"),
        )
    text = text.removesuffix(";")
    if not text:
        raise _fault(kind, "E10058", (f"--{kind.parameter}",), Text("{option} lists no gear"))
    found = []
    for group in (each.split(",") for each in text.split(";")):
        if len(group) != count:
            reason = Text(
                "each gear needs {count} numbers, one for each -1 in --input-shape", count=count
            )
            raise _value_fault(kind, text, f"{reason}; {','.join(group)!r} has {len(group)}")
        found.append(tuple(_digits(each) for each in group))
    return tuple(found)


def _digits(text: str) -> int:
    kind = GearKind.DIMS
    if not text.isascii() or not text.isdigit():
        raise _fault(
            kind,
            "E10001",
            (text, f"--{kind.parameter}", "dims must be positive integers"),
            Text("gears of {option} are made of whole numbers, found {text}"),
            text=repr(text),
        )
    return _bounded(kind, text)


def _number(kind: GearKind, text: str, whole: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise _value_fault(kind, whole, Text("{dim} is not a whole number", dim=repr(text)))
    return _bounded(kind, text)


def _bounded(kind: GearKind, digits: str) -> int:
    fits = len(digits.lstrip("0")) <= len(str(_LARGEST)) and int(digits) <= _LARGEST
    if not fits:
        shown = digits if len(digits) <= len(str(_LARGEST)) + 1 else f"{digits[:10]}..."
        raise _fault(
            kind,
            "E10013",
            (shown, kind.parameter),
            Text("dims of {option} are at most {largest}, found {shown}"),
            largest=_LARGEST,
            shown=shown,
        )
    return int(digits)


def refuse_too_many(kind: GearKind, count: int, most: int) -> None:
    """Refuse more than `most` gears.

    Raises:
        AtcError: BAD_OPTION.
    """
    if count > most:
        raise _fault(
            kind,
            "E10036",
            (str(count), str(most)),
            Text("{option} takes at most {most_gears} gears, found {count}"),
            most_gears=most,
            count=count,
        )


def _check_gears(kind: GearKind, gears: tuple[tuple[int, ...], ...], most: int) -> None:
    count = len(gears)
    if count < FEWEST_GEARS:
        raise _fault(
            kind,
            "E10035",
            (str(count), str(FEWEST_GEARS)),
            Text("{option} needs at least {fewest_gears} gears, found {count}"),
            Text("a model for one shape needs no gears: give the numbers in --input-shape"),
            fewest_gears=FEWEST_GEARS,
            count=count,
        )
    refuse_too_many(kind, count, most)
    zero = next((gear for gear in gears if 0 in gear), None)
    if zero is not None:
        raise _fault(
            kind, "E10038", ("0",), Text("numbers of {option} must be at least 1, found 0")
        )
    twice = next((gear for gear in gears if gears.count(gear) > 1), None)
    if twice is not None:
        raise _fault(
            kind, "E10039", (), Text("{option} lists gear {gear} twice"), gear=format_gear(twice)
        )


def _shape_text(dims: Dims) -> str:
    return ",".join("-1" if dim is None else str(dim) for dim in dims)


def _value_fault(kind: GearKind, text: str, reason: str) -> AtcError:
    message = Text("{option} {text} cannot be read: {reason}")
    arguments = (text, kind.parameter, reason)
    return _fault(kind, "E10003", arguments, message, text=repr(text), reason=reason)


def _fault(
    kind: GearKind,
    code: str,
    arguments: tuple[str, ...],
    message: Text,
    help_: Text | None = None,
    **values: object,
) -> AtcError:
    """The refusal of what an option lists; a message names that, and further values."""
    example = {
        GearKind.BATCH: '--input-shape "x:-1,3,224,224" --batch-sizes 1,2,4',
        GearKind.IMAGE: '--input-shape "x:1,3,-1,-1" --image-sizes "224,224;448,448"',
        GearKind.DIMS: '--input-shape "x:-1,8,-1" --dims "1,16;2,32"',
    }[kind]
    return BAD_OPTION.error(
        message.with_values(option=kind.option, **values),
        place=Place(field=kind.option),
        help=help_ or Text("for example {example}", example=example),
        atc=AtcFault(code, arguments),
    )
