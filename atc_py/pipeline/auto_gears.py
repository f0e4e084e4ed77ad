"""Gears from the names of dims that a file leaves open."""

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

from atc_py.diag import BAD_OPTION, Place
from atc_py.onnx_graph.reading.contents import DeclaredInput
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.options.auto_gears import OPTION, AutoGears, DimSum, Padding, parse_dim, unnamed_dim
from atc_py.options.gears import GearKind, Gears, format_gear, parse_gears, refuse_too_many
from atc_py.system.structs import replace
from atc_py.tensor.shapes import Dims
from atc_py.text import COMMA, Text

_PLACE = Place(field=OPTION)


def gears_by_name(file: OnnxFile, auto: AutoGears, most: int) -> Gears:
    """The gears for the dims that a file leaves open, at most `most`.

    Raises:
        AtcError: BAD_OPTION where names have no numbers; as `parse_gears`.
    """
    named: dict[str, tuple[DimSum, ...]] = {}
    bound: dict[str, int] = {}
    for declared in file.inputs:
        named[declared.name] = _named_dims(declared, auto, bound)
    known = {dim for dims in named.values() for dim in dims}
    names = sorted({name for dim in known for name in dim.names if name not in bound})
    numbers = _numbers_of(names, auto)
    refuse_too_many(GearKind.DIMS, prod(map(len, numbers.values())), most)
    shapes = {name: tuple(_fixed(dim, bound) for dim in dims) for name, dims in named.items()}
    lists = []
    for chosen in product(*numbers.values()):
        sizes = {**bound, **dict(zip(numbers, chosen, strict=True))}
        opened = [dim for dims in named.values() for dim in dims if _fixed(dim, bound) is None]
        lists.append(format_gear([dim.value(sizes) for dim in opened]))
    gears = parse_gears(GearKind.DIMS, ";".join(lists), shapes, most=most)
    return replace(gears, padding=Padding(named, {}))


def _fixed(dim: DimSum, bound: Mapping[str, int]) -> int | None:
    return dim.value(bound) if all(name in bound for name in dim.names) else None


def _named_dims(
    declared: DeclaredInput, auto: AutoGears, bound: dict[str, int]
) -> tuple[DimSum, ...]:
    """The dims of an input by names; names of dims that the user fixes become `bound`."""
    given: Dims = auto.shapes.get(declared.name) or (None,) * len(declared.dims or ())
    if declared.dims is None or len(given) != len(declared.dims):
        raise BAD_OPTION.error(
            Text(
                "{option} needs the rank of input {name}, which is {label}",
                option=OPTION,
                name=repr(declared.name),
                label=declared.label,
            ),
            place=_PLACE,
        )
    found = []
    for axis, (own, number) in enumerate(zip(declared.dims, given, strict=True)):
        unnamed = unnamed_dim(declared.name, axis)
        opened = isinstance(own, str) or (declared.name in auto.shapes and number is None)
        dim = (
            parse_dim((isinstance(own, str) and own) or unnamed) if opened else DimSum((), int(own))
        )
        dim = _replaced(dim, auto.sums)
        if number is not None and len(dim.names) == 1:
            bound[dim.names[0]] = number - dim.constant
        found.append(dim)
    return tuple(found)


def _replaced(dim: DimSum, sums: Mapping[str, DimSum]) -> DimSum:
    """A dim whose names that are sums of others are replaced by these."""
    parts = [sums.get(name, DimSum((name,))) for name in dim.names]
    names = tuple(name for part in parts for name in part.names)
    return DimSum(names, dim.constant + sum(part.constant for part in parts))


def _numbers_of(names: Sequence[str], auto: AutoGears) -> dict[str, tuple[int, ...]]:
    if not names:
        raise BAD_OPTION.error(Text("gears need an input with an open dim"), place=_PLACE)
    left = [name for name in names if name not in auto.numbers]
    known = {*names, *auto.sums, ""}
    strange = [name for name in (*auto.numbers, *auto.sums) if name not in known]
    rest = auto.numbers.get("", ())
    if strange or len(left) > 1 or (left and not rest) or (rest and not left):
        raise BAD_OPTION.error(
            Text(
                "{option} gives no numbers for the open dims {names}",
                option=OPTION,
                names=COMMA.join(map(repr, names)),
            ),
            place=_PLACE,
            help=Text(
                'give every name numbers, or its sum: {option} "{line}"',
                option=OPTION,
                line=line_for(names),
            ),
        )
    return {name: auto.numbers.get(name, rest) for name in names}


def line_for(names: Sequence[str]) -> str:
    """A text for the option with numbers for each name: of the last one several."""
    return ";".join(
        [*(f"{name}=1" for name in names[:-1]), *(f"{name}=1~64" for name in names[-1:])]
    )
