"""Data of another dtype than their input's, converted where every value fits."""

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from atc_py.diag import BAD_RUN_INPUT, Place
from atc_py.pipeline.running.model import Port
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

Array = npt.NDArray[np.generic]


def cast_feeds(feeds: Mapping[str, Array], ports: Iterable[Port]) -> dict[str, Array]:
    """`feeds` with the dtypes of their ports; floats are rounded to narrower floats.

    Raises:
        AtcError: BAD_RUN_INPUT for values that the dtype cannot hold: integers out of range, and
            floats that are not whole, or out of range, where integers are wanted.
    """
    wanted = {port.name: port.dtype for port in ports}
    return {
        name: array if name not in wanted else _cast(name, array, wanted[name])
        for name, array in feeds.items()
    }


def _cast(name: str, array: Array, dtype: DType) -> Array:
    if array.dtype == dtype.numpy:
        return array
    with np.errstate(all="ignore"):
        found = array.astype(dtype.numpy)
        if dtype.is_float:
            # What a narrower float rounds is fine; what becomes infinite is not.
            odd = ~np.isfinite(found) & np.isfinite(array.astype(np.float64))
        else:
            odd = found.astype(np.float64) != array.astype(np.float64)
    if odd.any():
        at = np.unravel_index(int(np.argmax(odd)), array.shape)
        raise BAD_RUN_INPUT.error(
            Text(
                "{sum} of {size} values of {name} do not fit {dtype}, the first at index "
                "{at}: {array}",
                sum=int(odd.sum()),
                size=array.size,
                name=name,
                dtype=dtype.value,
                at=[int(each) for each in at],
                array=array[at],
            ),
            place=Place(field=Text("input {at}", at=name)),
            help=Text("give data of {dtype}, or scale them first", dtype=dtype.value),
        )
    return found
