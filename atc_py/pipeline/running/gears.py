"""The gear of a run: chosen by an option, by numbers that are fed, or by the shapes of data.

Data of sizes between gears are padded with zeros to the next gear, and its outputs cut.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from atc_py.diag import BAD_RUN_INPUT, SIZE_BETWEEN_GEARS, AtcError, Place
from atc_py.options.auto_gears import DimSum, Padding, sizes_text
from atc_py.options.gears import SHAPE_DATA, Gears, format_gear
from atc_py.tensor.shapes import Shape
from atc_py.text import COMMA, Text

Array = npt.NDArray[np.generic]


_NUMBERS = ("int32", "uint32", "int64", "uint64")
"""Types of the numbers that choose a gear: programs for the device write 32 or 64 bits each."""


class Fitted(NamedTuple):
    """Data for one gear."""

    gear: int  # its position
    feeds: dict[str, Array]  # arrays as it takes them
    # how outputs are cut; None where data have the sizes of the gear
    padding: Padding | None = None
    # elements by which named dims of data are smaller than those of the gear
    missing: Mapping[str, int] = {}

    def cut(self, outputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs for the data alone."""
        if self.padding is None:
            return dict(outputs)
        named, padding = self.padding.outputs, self.padding
        return {
            name: array[cuts(padding, named[name], self.missing)] if name in named else array
            for name, array in outputs.items()
        }


def cuts(padding: Padding, dims: Sequence[DimSum], missing: Mapping[str, int]) -> tuple[slice, ...]:
    """The part of each axis that is not padding."""
    return tuple(slice(front, -end or None) for front, end in padding.added(dims, missing))


def padded(
    feeds: Mapping[str, Array], padding: Padding, missing: Mapping[str, int]
) -> dict[str, Array]:
    """Arrays with zeros where the sizes of named dims miss elements."""
    return {
        name: np.pad(array, padding.added(padding.inputs[name], missing))
        if name in padding.inputs
        else array
        for name, array in feeds.items()
    }


def gear_of_feeds(gears: Gears, feeds: Mapping[str, Array], chosen: int | None = None) -> Fitted:
    """The gear of a run, and what is fed without the numbers that choose it.

    Returns:
        The gear that the caller names; else that of the numbers fed as `ascend_mbatch_shape_data`;
        else the one that fits the shapes fed, the largest of several, or to which they are padded.
    """
    left = {name: array for name, array in feeds.items() if name != SHAPE_DATA}
    fed = None if SHAPE_DATA not in feeds else _gear_of_data(gears, feeds[SHAPE_DATA])
    if chosen is not None:
        from atc_py.options.named_gear import NamedGear

        chosen = NamedGear("gear", None, (chosen,)).position_in(gears)
        if fed not in {None, chosen}:
            names = format_gear(gears.gears[chosen]), format_gear(gears.gears[fed or 0])
            raise BAD_RUN_INPUT.error(
                Text(
                    "gear {names} is chosen, but {shape_data} selects gear {names_2}",
                    names=names[0],
                    shape_data=SHAPE_DATA,
                    names_2=names[1],
                ),
                place=Place(field=Text("input {at}", at=SHAPE_DATA)),
                help=Text("give one of the two"),
            )
        return Fitted(chosen, left)
    if fed is not None:
        return Fitted(fed, left)
    known = gears.fed_shapes_of(0)
    shapes = {
        name: tuple(array.shape)
        for name, array in left.items()
        if name in known and hasattr(array, "shape")
    }
    return fitted(gears, left, shapes)


def _gear_of_data(gears: Gears, data: Array) -> int:
    count = len(gears.gears[0])
    dtype = getattr(getattr(data, "dtype", None), "name", type(data).__name__)
    if dtype not in _NUMBERS or data.shape != (count,):
        shape = list(getattr(data, "shape", ()))
        raise BAD_RUN_INPUT.error(
            Text(
                "{shape_data} must be int32 [{count}], the numbers of a gear, found {dtype} "
                "{shape}",
                shape_data=SHAPE_DATA,
                count=count,
                dtype=dtype,
                shape=shape,
            ),
            place=Place(field=Text("input {at}", at=SHAPE_DATA)),
        )
    return gears.of_values([int(each) for each in data.tolist()], SHAPE_DATA)


def fitted(gears: Gears, feeds: Mapping[str, Array], shapes: Mapping[str, Shape]) -> Fitted:
    """Data for the smallest gear that holds them."""
    padding = gears.padding
    if padding is None or gears.matching(shapes):
        return Fitted(gears.of_shapes(shapes), dict(feeds))
    gear, missing = holding_gear(gears, padding, shapes)
    return Fitted(gear, padded(feeds, padding, missing), padding, missing)


def holding_gear(
    gears: Gears, padding: Padding, shapes: Mapping[str, Shape]
) -> tuple[int, dict[str, int]]:
    """The position of the smallest gear that holds data, and what they miss of named dims."""
    sizes = padding.sizes(shapes)
    known = {gear: padding.sizes(gears.shapes_of(gear)) for gear in range(len(gears.gears))}
    holding = [
        gear
        for gear, own in known.items()
        if all(size <= own[name] for name, size in sizes.items())
    ]
    if not holding:
        raise gears.refusal(
            Text("data are larger than every gear: {sizes}", sizes=sizes_text(sizes))
        )
    if padding.leaks or any(not size and name not in padding.empty for name, size in sizes.items()):
        raise _refusal(padding, sizes)
    gear = min(holding, key=gears.elements)
    return gear, {name: own - sizes.get(name, own) for name, own in known[gear].items()}


def leaks_text(padding: Padding) -> Text:
    """The reason for which padding is not known to be harmless."""
    names = [name for name in padding.leaks if name]
    if names:
        return Text(
            "outputs depend on the padding of input {names}",
            names=COMMA.join(map(repr, names)),
        )
    if padding.leaks:
        return Text("outputs depend on the size itself, as positions and means do")
    return Text("the original does not run on data without elements")


def _refusal(padding: Padding, sizes: Mapping[str, int]) -> AtcError:
    names = [name for name in padding.leaks if name] or [
        name
        for name, dims in padding.inputs.items()
        if any(part in sizes for dim in dims for part in dim.names)
    ]
    return SIZE_BETWEEN_GEARS.error(
        Text(
            "no gear has {sizes}, and padding to the next one is not known to be harmless: {why}",
            sizes=sizes_text(sizes),
            why=leaks_text(padding),
        ),
        place=Place(field=Text("input {at}", at=names[0])),
        help=Text(
            "convert the model again with this size among its gears, or export it with a mask "
            "for padding and with positions as an input"
        ),
    )
