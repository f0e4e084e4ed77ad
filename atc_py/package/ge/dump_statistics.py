"""Dumps with `dump_data` = `stats`: a table with a row for each input and output of an op.

Numbers have six digits, and are of the tensor as it is stored, padding included [proven by the writer
of CANN's runtime and its tests]; which columns there are, `dump_stats` decides.
"""

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.diag import BAD_DUMP, AtcError, Place
from atc_py.package.ge.messages import dtype_name
from atc_py.system.input_files import read_text
from atc_py.text import Text

_MOST_BYTES = 1 << 20
_MOST_RANK = 16
_COLUMNS = {
    "side": "input/output",
    "index": "index",
    "dtype": "data type",
    "layout": "format",
    "shape": "shape",
    "largest": "max value",
    "least": "min value",
    "mean": "avg value",
    "nan": "nan count",
    "below": "negative inf count",
    "above": "positive inf count",
}


class Statistics(msgspec.Struct, frozen=True):
    """Figures of the elements of a tensor; None for those that a table does not have."""

    largest: float | None = None
    least: float | None = None
    mean: float | None = None
    nan: int | None = None  # number of elements that are NaN
    infinite: int | None = None  # number of elements that are infinite


class StatisticsRow(msgspec.Struct, frozen=True):
    """An output as a table has it: dims as stored, dtype by atc-py's name."""

    dtype: str
    layout: str
    dims: tuple[int, ...]
    statistics: Statistics


def statistics_of(array: NDArray[Any]) -> Statistics:
    """The statistics of an array; without numbers where elements are not finite."""
    values = array.astype(np.float64).reshape(-1)
    nan, infinite = int(np.isnan(values).sum()), int(np.isinf(values).sum())
    if nan or infinite or not values.size:
        return Statistics(nan=nan, infinite=infinite)
    return Statistics(
        float(values.max()),
        float(values.min()),
        float(values.mean()),
        nan,
        infinite,
    )


def read_statistics(path: Path) -> tuple[StatisticsRow, ...]:
    lines = csv.reader(read_text(path, _MOST_BYTES).splitlines())
    try:
        places = {name.strip().lower(): at for at, name in enumerate(next(lines, []))}
        columns = {key: places[name] for key, name in _COLUMNS.items() if name in places}
        missing = [_COLUMNS[name] for name in ("side", "index", "dtype") if name not in columns]
        if missing:
            raise bad_dump(str(path), Text("it has no column {name}", name=missing[0]))
        found = [
            {key: row[at].strip() for key, at in columns.items() if at < len(row)} for row in lines
        ]
    except csv.Error as error:
        raise bad_dump(str(path), Text("the line is not CSV: {error}", error=error)) from error
    rows = [each for each in found if each.get("side", "").lower() == "output"]
    rows.sort(key=lambda cells: _number(cells, "index") or 0)
    return tuple(map(_row, rows))


def bad_dump(file: str, message: Text, part: str | None = None) -> AtcError:
    return BAD_DUMP.error(
        message,
        place=Place(file, field=part),
        help=Text("copy the file again from where it was written, and compare the sizes"),
    )


def _row(cells: Mapping[str, str]) -> StatisticsRow:
    dims = cells.get("shape", "").split("x")[:_MOST_RANK]
    is_shape = all(dim.isascii() and dim.isdecimal() and len(dim) < 19 for dim in dims)  # noqa: PLR2004
    below, above = (_number(cells, name) for name in ("below", "above"))
    nan = _number(cells, "nan")
    return StatisticsRow(
        dtype_name(cells.get("dtype", "")),
        cells.get("layout", ""),
        tuple(map(int, dims)) if is_shape else (),
        Statistics(
            largest=_number(cells, "largest"),
            least=_number(cells, "least"),
            mean=_number(cells, "mean"),
            nan=None if nan is None else int(nan),
            infinite=None if below is None and above is None else int((below or 0) + (above or 0)),
        ),
    )


def _number(cells: Mapping[str, str], name: str) -> float | None:
    try:
        value = float(cells[name])
    except (KeyError, ValueError):
        return None
    return value if math.isfinite(value) else None
