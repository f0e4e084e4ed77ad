"""The gear of a run: chosen by an option, by numbers that are fed, or by the shapes of data."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from atc_py.diag import BAD_RUN_INPUT, Place
from atc_py.options.gears import SHAPE_DATA, Gears, format_gear
from atc_py.pipeline.running.padding import Fitted, fitted
from atc_py.text import Text

Array = npt.NDArray[np.generic]


_NUMBERS = ("int32", "uint32", "int64", "uint64")
"""Types of the numbers that choose a gear: programs for the device write 32 or 64 bits each."""


def gear_of_feeds(gears: Gears, feeds: Mapping[str, Array], chosen: int | None = None) -> Fitted:
    """The gear of a run, and what is fed without the numbers that choose it.

    Args:
        gears: those of the model.
        feeds: arrays by name; some inputs may be missing.
        chosen: the gear that the caller names, if any.

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
