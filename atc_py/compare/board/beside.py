"""Measures of a board's results while original and simulator run: each value is held once."""

import math
from collections.abc import Collection, Mapping
from math import prod
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.compare.board.values import BoardValues, unread_reason
from atc_py.compare.grids import UNSIGNED_SHIFT
from atc_py.compare.measure import Measure
from atc_py.diag import AtcError
from atc_py.package.ge.dump_statistics import Statistics, statistics_of
from atc_py.package.ge.dump_tensors import DumpTensor, UnreadTensorError
from atc_py.pipeline.running.array_files import read_npy
from atc_py.results.layer import Figures
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType, UnknownDTypeError
from atc_py.text import Text

Array = NDArray[Any]


class Distances(msgspec.Struct, frozen=True):
    """Distances of board, simulator and original; None for those that were not compared."""

    board: Figures | None = None
    simulator: Figures | None = None
    between: Figures | None = None
    reason: str = ""


class BoardMeasures:
    """The third side of a comparison: what `Pair` calls for each value.

    Attributes:
        names: values of the original that are asked for.
        layers: distances by position among the board's results.
        outputs: distances of outputs by name.
    """

    def __init__(self, values: BoardValues | None, outputs: Mapping[str, Path]) -> None:
        """Take results of a dump, None without, and arrays of a run without dump by their output."""
        self._values, self._outputs = values, outputs
        self._by_value = {} if values is None else values.by_value
        self.names: Collection[str] = frozenset({*self._by_value, *outputs})
        self.layers: dict[int, Distances] = {}
        self.outputs: dict[str, Distances] = {}

    def begin(self) -> None:
        self.layers, self.outputs = {}, {}

    def add(self, name: str, simulated: Array | None, wanted: Array | None) -> None:
        """Measure the board's results that stand for a value; None where a side has no value."""
        for at in self._by_value.get(name, ()):
            self.layers[at] = self._layer(at, simulated, wanted)
        if name in self._outputs:
            self.outputs[name] = self._output(self._outputs[name], simulated, wanted)

    def _layer(self, at: int, simulated: Array | None, wanted: Array | None) -> Distances:
        if self._values is None:
            return Distances()
        result = self._values.results[at]
        if result.tensor.statistics is not None:
            return statistic_distances(result.tensor, simulated, wanted)
        try:
            found = self._values.array(result)
        except (AtcError, UnreadTensorError) as error:
            return Distances(reason=unread_reason(error))
        return _distances(
            found, simulated, wanted, has_dims=bool(result.tensor.dims or result.tensor.origin_dims)
        )

    def _output(self, path: Path, simulated: Array | None, wanted: Array | None) -> Distances:
        try:
            found = read_npy(path)
        except AtcError as error:
            return Distances(reason=unread_reason(error))
        return _distances(found, simulated, wanted, has_dims=True)


def statistic_distances(
    tensor: DumpTensor, simulated: Array | None, wanted: Array | None
) -> Distances:
    """The distances of statistics: of the largest, the least and the mean element as a vector.

    Padding counts in the board's. It is 0 after most operators, so that it may be the largest or the
    least; a range that is wider than that is not compared, nor are means.
    """
    found, like = tensor.statistics or Statistics(), wanted if wanted is not None else simulated
    try:
        dtype = DType.parse(tensor.dtype)
    except UnknownDTypeError:
        return Distances(reason=Text("its dtype {dtype} is not known", dtype=tensor.dtype))
    if like is None:
        return Distances(reason=Text("the original has no such value"))
    sides = []
    for array in (simulated, wanted):
        fitted = None if array is None else _alike(dtype, array, array)
        if array is not None and fitted is None:
            return Distances(reason=_unlike(dtype, like, array))
        sides.append(None if fitted is None else statistics_of(fitted))
    is_padded = prod(tensor.dims) > like.size
    if is_padded and any(side is not None and _is_wider(found, side) for side in sides):
        return Distances(reason=Text("its statistics include padding, whose content is not known"))
    ours, theirs = sides
    return Distances(
        board=_of_statistics(found, theirs, is_padded=is_padded),
        simulator=_of_statistics(ours, theirs, is_padded=False),
        between=_of_statistics(found, ours, is_padded=is_padded),
    )


_WIDER = 0.05
"""Share of the largest magnitude by which a range may be wider for its tensor not to be padding's."""

_DIGITS = 2e-6
"""Distance of numbers that are equal to six digits."""


def _is_wider(found: Statistics, side: Statistics) -> bool:
    if None in {found.largest, found.least, side.largest, side.least}:
        return False
    high, low = max(side.largest or 0.0, 0.0), min(side.least or 0.0, 0.0)
    room = _WIDER * max(high, -low)
    return (found.largest or 0.0) > high + room or (found.least or 0.0) < low - room


def _of_statistics(
    found: Statistics | None, wanted: Statistics | None, *, is_padded: bool
) -> Figures | None:
    """Figures of the numbers that both have; lost elements are those of NaN and infinities."""
    if found is None or wanted is None:
        return None
    pairs = [(found.largest, wanted.largest), (found.least, wanted.least)]
    if is_padded:
        pairs = [(one, _nearer(one, other)) for one, other in pairs]
    else:
        pairs += [(found.mean, wanted.mean)]
    known = [(one, other) for one, other in pairs if one is not None and other is not None]
    if not known and found.nan is None and found.infinite is None:
        return None
    measure = Measure(DType.FLOAT64)
    if known:
        measure.add(*(np.array(side, np.float64) for side in zip(*known, strict=True)))
    figures = measure.figures()
    lost = any(
        one is not None and other is not None and one != other
        for one, other in ((found.nan, wanted.nan), (found.infinite, wanted.infinite))
    )
    distance = 0.0 if figures.distance < _DIGITS else figures.distance
    is_near = figures.max_absolute <= 1
    differing = 0.0 if is_near or math.isnan(distance) else 1.0
    return replace(figures, distance=distance, differing=differing, nan=float(lost))


def _nearer(found: float | None, wanted: float | None) -> float | None:
    """The wanted number, or 0 of the padding where that is nearer."""
    if found is None or wanted is None:
        return None
    return 0.0 if abs(found) < abs(found - wanted) else wanted


def _distances(
    found: Array, simulated: Array | None, wanted: Array | None, *, has_dims: bool
) -> Distances:
    """The distances of three arrays, as far as they can be compared."""
    like = wanted if wanted is not None else simulated
    if like is None:
        return Distances(reason=Text("the original has no such value"))
    if not has_dims and found.size >= like.size:
        found = found[: like.size].reshape(like.shape)
    dtype = DType.from_numpy(found.dtype)
    simulated = None if simulated is None else _alike(dtype, simulated, found)
    if wanted is not None:
        fitted = _alike(dtype, wanted, found)
        if fitted is None:
            return Distances(reason=_unlike(dtype, found, wanted))
        wanted = fitted
    return Distances(
        board=_figures(dtype, found, wanted),
        simulator=_figures(dtype, simulated, wanted),
        between=_figures(dtype, found, simulated),
    )


def _alike(dtype: DType, array: Array, found: Array) -> Array | None:
    """The array in the dims of `found`; None where it is of another kind, or has other elements."""
    other = DType.from_numpy(array.dtype)
    if dtype is DType.INT8 and other is DType.UINT8:
        array = (array.astype(np.int16) - UNSIGNED_SHIFT).astype(np.int8)
    elif (dtype.is_float, dtype.is_integer) != (other.is_float, other.is_integer):
        return None
    if array.shape == found.shape:
        return array
    sides = [[dim for dim in each.shape if dim != 1] for each in (array, found)]
    return array.reshape(found.shape) if sides[0] == sides[1] else None


def _unlike(dtype: DType, found: Array, wanted: Array) -> Text:
    if found.shape != wanted.shape:
        return Text(
            "shape {shape} on the board, {shape_2} in the original",
            shape=list(found.shape),
            shape_2=list(wanted.shape),
        )
    return Text(
        "{dtype} on the board, {theirs} in the original",
        dtype=dtype.value,
        theirs=DType.from_numpy(wanted.dtype).value,
    )


def _figures(dtype: DType, found: Array | None, wanted: Array | None) -> Figures | None:
    if found is None or wanted is None:
        return None
    measure = Measure(dtype)
    measure.add(_wide(found), _wide(wanted))
    return measure.figures()


def _wide(array: Array) -> Array:
    """16-bit floats as float32, which is what measures are quick in."""
    is_narrow = array.dtype.itemsize <= 2 and DType.from_numpy(array.dtype).is_float  # noqa: PLR2004
    return np.ascontiguousarray(array.astype(np.float32) if is_narrow else array)
