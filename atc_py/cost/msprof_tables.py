"""Tables of msprof, of all releases: columns by name, rows one by one, kernels with median times.

A name of a column that a release has stands in `_COLUMNS`; cases and order do not matter. `N/A` and
empty cells are missing. Numbers of docs/board.md say which were seen in files of boards.
"""

import csv
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import IO, NoReturn

from atc_py.diag import BAD_BOARD_TABLE, Place
from atc_py.system.input_files import opened
from atc_py.system.structs import Result
from atc_py.text import Text

MOST_ROWS = 2_000_000
MOST_KERNELS = 100_000
_MOST_LINE = 1 << 20
_MOST_EXECUTIONS = 1000
"""Executions of a kernel that are kept; more say nothing new."""


COLUMNS = {
    "name": ("op name", "name", "kernel_name"),
    "op": ("op type", "type"),
    "unit": ("task type", "accelerator core", "core type", "kernel_type"),
    "seconds": ("task duration(us)", "duration(us)", "task_time(us)"),
    "wait": ("task wait time(us)", "wait time(us)"),
    "start": ("task start time(us)", "task start time", "start time(us)", "task_start(us)"),
    "blocks": ("block num", "block dim"),
    "model": ("model id",),
    "task": ("task id", "task_id"),
    "stream": ("stream id", "stream_id"),
    "shapes": ("input shapes",),
    "dtypes": ("input data types",),
    "formats": ("input formats",),
    "output_shapes": ("output shapes",),
    "output_dtypes": ("output data types",),
    "output_formats": ("output formats",),
}
"""Names of a column in all releases; kernel_details are the table of the same engine for PyTorch."""

_NO_MODEL = "4294967295"
_MICRO = 1e-6


class KernelRow(Result, frozen=True):
    """A task as a table has it.

    Attributes:
        name: of the op; empty where there is none.
        op: its operator.
        unit: what ran it, as AI_CORE.
        seconds: its duration.
        wait: gap to the task before it.
        blocks: cores of the main unit.
        model: number of the model; empty for an op alone.
        task: number of the task.
        stream: number of the stream.
        tensors: dims, dtypes and formats of inputs, then of outputs, as texts without marks.
    """

    name: str
    op: str
    unit: str
    seconds: float
    wait: float
    blocks: int
    model: str
    task: str
    stream: str
    tensors: tuple[str, str, str, str, str, str]


class MeasuredKernel(Result, frozen=True):
    """A kernel of a board over all executions.

    Attributes:
        name: of the op.
        op: its operator.
        unit: what ran it.
        seconds: median of its executions, the first left out where there are several.
        least: quickest of these.
        most: slowest of these.
        wait: median of the gaps before it.
        executions: how often it ran.
        blocks: cores of the main unit.
        outputs: dims, dtypes and formats of its outputs, as texts.
        inputs: those of its inputs.
    """

    name: str
    op: str
    unit: str
    seconds: float
    least: float
    most: float
    wait: float
    executions: int
    blocks: int
    outputs: tuple[str, str, str]
    inputs: tuple[str, str, str]


class MeasuredModel(Result, frozen=True):
    """The kernels of a model in tables.

    Attributes:
        kernels: in the order of the first execution.
        executions: executions of most kernels.
        left_out: rows whose duration is no number.
        files: the tables.
    """

    kernels: tuple[MeasuredKernel, ...]
    executions: int
    left_out: int
    files: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """The sum of the kernels of one execution."""
        return sum(each.seconds for each in self.kernels)

    @property
    def waits(self) -> float:
        """The gaps between the kernels of one execution, that before the first left out."""
        return sum(each.wait for each in self.kernels[1:])


def read_kernels(paths: Sequence[Path]) -> MeasuredModel:
    """The kernels of an op_summary or kernel_details, which may be cut in several files.

    Where rows of a model are there, those of ops alone are left out.

    Raises:
        AtcError: FILE_NOT_FOUND, FILE_UNREADABLE or BAD_BOARD_TABLE.
    """
    gathered = _Gathered()
    for path in paths:
        for row in kernel_rows(path, gathered.skipped):
            gathered.add(row, path)
    return gathered.measured(paths)


def kernel_rows(path: Path, left_out: Counter[str] | None = None) -> Iterator[KernelRow]:
    """The tasks of a table; `left_out` counts rows whose duration is no number, by file."""
    for cells in _rows(path, ("name", "seconds")):
        seconds = _number(cells["seconds"])
        if seconds is None or seconds < 0:
            if left_out is not None:
                left_out[str(path)] += 1
            continue
        model = cells.get("model", "")
        tensors = ("shapes", "dtypes", "formats", "output_shapes", "output_dtypes")
        yield KernelRow(
            name=cells["name"],
            op=cells.get("op", ""),
            unit=cells.get("unit", ""),
            seconds=seconds * _MICRO,
            wait=(_number(cells.get("wait", "")) or 0.0) * _MICRO,
            blocks=int(min(_number(cells.get("blocks", "")) or 0, 1 << 31)),
            model="" if model == _NO_MODEL else model,
            task=cells.get("task", ""),
            stream=cells.get("stream", ""),
            tensors=(*(cells.get(each, "") for each in tensors), cells.get("output_formats", "")),  # type: ignore[arg-type]
        )


@dataclass(slots=True)
class _Times:
    row: KernelRow
    seconds: list[float]
    waits: list[float]


class _Gathered:
    """Tasks by name, number, stream and dims of inputs, while rows come."""

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()
        self._times: dict[tuple[str, ...], _Times] = {}
        self._rows = 0

    def add(self, row: KernelRow, path: Path) -> None:
        self._rows += 1
        if self._rows > MOST_ROWS:
            _refuse(path, 0, Text("the tables have more than {most} rows", most=MOST_ROWS))
        key = row.model, row.name, row.task, row.stream, row.tensors[0]
        times = self._times.get(key)
        if times is None:
            if len(self._times) >= MOST_KERNELS:
                _refuse(path, 0, Text("it has more than {most} kernels", most=MOST_KERNELS))
            times = self._times[key] = _Times(row, [], [])
        if len(times.seconds) < _MOST_EXECUTIONS:
            times.seconds.append(row.seconds)
            times.waits.append(row.wait)

    def measured(self, paths: Iterable[Path]) -> MeasuredModel:
        rows = list(self._times.values())
        if any(each.row.model for each in rows):
            rows = [each for each in rows if each.row.model]
        kernels = tuple(_kernel(each) for each in rows if each.row.name)
        counts = Counter(each.executions for each in kernels)
        executions = counts.most_common(1)[0][0] if counts else 0
        files = tuple(map(str, paths))
        return MeasuredModel(kernels, executions, sum(self.skipped.values()), files)


def _kernel(times: _Times) -> MeasuredKernel:
    """A kernel; the first of several executions warms up, and is left out."""
    row, kept = times.row, slice(1 if len(times.seconds) > 1 else 0, None)
    seconds = times.seconds[kept]
    return MeasuredKernel(
        name=row.name,
        op=row.op,
        unit=row.unit,
        seconds=median(seconds),
        least=min(seconds),
        most=max(seconds),
        wait=median(times.waits[kept]),
        executions=len(times.seconds),
        blocks=row.blocks,
        outputs=row.tensors[3:],
        inputs=row.tensors[:3],
    )


def _rows(path: Path, needed: Iterable[str]) -> Iterator[Mapping[str, str]]:
    """Yield the cells of each row by what they are; `needed` ones are there, and not empty."""
    with opened(path) as file:
        reader = csv.reader(_lines(path, file))
        try:
            head = next(reader, [])
            columns = _columns(path, head, needed)
            for count, row in enumerate(reader):
                if count >= MOST_ROWS:
                    _refuse(path, count, Text("it has more than {most} rows", most=MOST_ROWS))
                cells = {name: _cell(row[at]) for name, at in columns.items() if at < len(row)}
                if all(cells.get(name) for name in needed):
                    yield cells
        except csv.Error as error:
            _refuse(path, reader.line_num, Text("the line is not CSV: {error}", error=error))


def _lines(path: Path, file: IO[bytes]) -> Iterator[str]:
    """Yield the lines of a file, none of which is longer than tables have them."""
    first = True
    for number in range(1, 2 * MOST_ROWS):
        line = file.readline(_MOST_LINE)
        if not line:
            return
        if len(line) == _MOST_LINE:
            _refuse(path, number, Text("the line has more than {most} bytes", most=_MOST_LINE))
        text = line.decode("utf-8", "replace")
        if "\0" in text:
            _refuse(path, number, Text("the line is not text"))
        yield text.removeprefix("\ufeff") if first else text
        first = False
    _refuse(path, number, Text("it has more than {most} rows", most=MOST_ROWS))


def _columns(path: Path, head: Sequence[str], needed: Iterable[str]) -> dict[str, int]:
    """Positions of the columns that are there, the needed ones among them."""
    places = {name.strip().lower(): at for at, name in reversed(list(enumerate(head)))}
    found = {
        column: places[spelling]
        for column, spellings in COLUMNS.items()
        for spelling in reversed(spellings)
        if spelling in places
    }
    for name in needed:
        if name not in found:
            shown = ", ".join(each.strip() for each in head)[:200] or Text("none")
            text = Text(
                "it has no column {name}, found {shown}", name=COLUMNS[name][0], shown=shown
            )
            _refuse(path, 1, text)
    return found


def _cell(text: str) -> str:
    """A cell without the marks that releases set around it; missing ones are empty."""
    plain = text.strip().strip('"').strip()
    return "" if plain == "N/A" else plain


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _refuse(path: Path, line: int, message: Text) -> NoReturn:
    raise BAD_BOARD_TABLE.error(message, place=Place(str(path), line=line or None))
