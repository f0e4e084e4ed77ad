"""Data of sizes between gears: padded with zeros to the next gear, its outputs cut."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from atc_py.diag import SIZE_BETWEEN_GEARS, AtcError, Place
from atc_py.options.auto_gears import DimSum, Padding, sizes_text
from atc_py.options.gears import Gears
from atc_py.tensor.shapes import Shape
from atc_py.text import COMMA, Text

Array = npt.NDArray[np.generic]


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
