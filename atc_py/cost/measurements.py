"""Measured times of kernels, as a table in CSV: its columns, and what is wrong with a line."""

import csv
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn

from atc_py.cost.measured_tensors import (
    MeaninglessError,
    logical_tensors,
    read_dtype,
    read_shapes,
    result_shape,
    stored_tensors,
)
from atc_py.cost.msprof_tables import COLUMNS, MeasuredKernel, read_kernels
from atc_py.cost.operation import KernelEngine, LaunchGroup, Operation, Source, Tensor, Transfer
from atc_py.cost.work import TRANSPOSED, bytes_read, work_of
from atc_py.diag import BAD_MEASUREMENTS, AtcError, Diagnostic, Place
from atc_py.system.input_files import read_text
from atc_py.target import TargetOp, find_operator, operators
from atc_py.tensor.storage import blocks_of
from atc_py.text import COMMA, SEMICOLON, Text, error_text

LEAST = 4
"""Lines that a fit needs: as many as there are factors."""

_COLUMNS = {
    "op": ("op", "op type", "type"),
    "shape": ("shape", "input shapes"),
    "dtype": ("dtype", "input data types"),
    "time": ("time_us", "task duration(us)", "duration(us)"),
    "output": ("output_shape", "output shapes"),
}
"""Names of each column: ours, that of msprof's op_summary, and that of kernel_details."""

_OPTIONAL = "output"
_MODEL = "model"
_OF_NETWORKS = {
    "op": (_MODEL,),
    "time": _COLUMNS["time"],
    _OPTIONAL: ("input_shape",),
}
"""Those of a table of whole networks."""
_UNITS = {
    "time_us": 1e-6,
    "time_ms": 1e-3,
    "time_s": 1.0,
    "task duration(us)": 1e-6,
    "duration(us)": 1e-6,
}
_MICRO = 1e-6
_MOST_BYTES = 64 << 20
"""Some 500,000 lines."""

_SHOWN = 8

_VERSION = re.compile(r"(V\d+|D)$")
"""What CANN's names have at the end where there are several kernels."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measured kernel."""

    op: str
    shapes: str  # of the inputs, as text
    dtype: str  # of the first input
    seconds: float
    launch: LaunchGroup  # the kernel as the cost model takes it
    line: int  # in the file
    run: tuple[LaunchGroup, ...] = ()  # all kernels, where it is a run of a whole network


class LeftOut(NamedTuple):
    """A kind of kernels of a table that no fit takes."""

    op: str
    why: Text


_NO_OPERATOR = Text("no target operator launches it")
_AI_CORE = ("AI_CORE", "AICORE", "VECTOR", "AIV", "AIC", "MIX")
"""Parts of the names that msprof has of the AI Core, and of its parts where they are apart."""

KernelsOf = Callable[[str, str], Sequence[LaunchGroup]]
"""The kernels of a model, by its path in a table and the shapes of its inputs."""


def read_measurements(
    path: Path,
    left_out: Counter[LeftOut] | None = None,
    least: int = LEAST,
    kernels_of: KernelsOf | None = None,
) -> list[Measurement]:
    """The measurements in a CSV file, at least `least`; BAD_MEASUREMENTS with the lines at fault.

    Of a table of msprof what is no kernel of the AI Core, or has no meaning, is left out, and
    `left_out` counts it by its kind; a table written by hand with such a line is refused.

    `kernels_of` compiles the models of a table of whole networks, which has a column `model`; it
    raises MeaninglessError or AtcError for one whose kernels are not the measured ones.
    """
    kinds = Counter() if left_out is None else left_out
    text = read_text(path, _MOST_BYTES)
    head = [cell.strip().lower() for _, row in _rows(path, text.splitlines()[:1]) for cell in row]
    if all(any(name in head for name in COLUMNS[column]) for column in ("name", "seconds")):
        found = _of_board(read_kernels([path]).kernels, kinds)
        if len(found) < least:
            _refuse(path, 1, _too_few(len(found), least, kinds))
        return found
    return _parsed(path, text, kinds, least, kernels_of)


def _of_board(kernels: Sequence[MeasuredKernel], left_out: Counter[LeftOut]) -> list[Measurement]:
    """The kernels of a table of msprof, each by the median of its executions."""
    found = []
    for kernel in kernels:
        row = _operator(kernel.op)
        unit = kernel.unit.upper()
        if unit and not any(part in unit for part in _AI_CORE):
            why = Text("{unit} runs it, not the AI Core", unit=kernel.unit)
            left_out[LeftOut(kernel.op, why)] += 1
        elif row is None:
            left_out[LeftOut(kernel.op, _NO_OPERATOR)] += 1
        else:
            try:
                found.append(_of_kernel(row, kernel))
            except MeaninglessError as error:
                left_out[LeftOut(kernel.op, error_text(error))] += 1
    return found


def _of_kernel(row: TargetOp, kernel: MeasuredKernel) -> Measurement:
    shapes, dtypes, _ = kernel.inputs
    made = stored_tensors(kernel.outputs, dtypes.partition(";")[0])
    sides = logical_tensors(row, stored_tensors(kernel.inputs), made)
    seconds = _seconds(str(kernel.seconds), 1)
    try:
        return Measurement(row.name, shapes, dtypes, seconds, _kernel(row, *sides), 0)
    except _MisfitError as error:
        raise MeaninglessError(Text("its dims are not those of {name}", name=row.name)) from error


def _rows(path: Path, lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines)
    try:
        yield from ((reader.line_num, row) for row in reader)
    except csv.Error as error:
        _refuse(path, reader.line_num, Text("the line is not CSV: {error}", error=error))


def _parsed(
    path: Path, text: str, left_out: Counter[LeftOut], least: int, kernels_of: KernelsOf | None
) -> list[Measurement]:
    """The lines of a file, or everything that is wrong with them."""
    numbered = _rows(path, text.splitlines())
    rows = [(at, row) for at, row in numbered if any(cell.strip() for cell in row)]
    if not rows:
        _refuse(path, 1, Text("the file is empty"))
    head = [cell.strip().lower() for cell in rows[0][1]]
    of_kernels = _MODEL not in head or any(name in head for name in _COLUMNS["op"])
    networks = None if of_kernels else kernels_of
    known = _COLUMNS if networks is None else _OF_NETWORKS
    columns = _columns(path, rows[0][0], head, known)
    unit = _UNITS.get(head[columns["time"]], _MICRO)
    found: list[Measurement] = []
    wrong = []
    for line, texts in rows[1:]:
        cells = {name: texts[at].strip() if at < len(texts) else "" for name, at in columns.items()}
        row = None if networks else _operator(cells["op"])
        if row is None and networks is None:
            left_out[LeftOut(cells["op"], _NO_OPERATOR)] += 1
            continue
        try:
            if networks is not None:
                found.append(_run(networks, cells, unit, line))
            elif row is not None:
                found.append(_measurement(row, cells, unit, line))
        except (AtcError, MeaninglessError) as error:
            wrong.append(_wrong(error, cells["op"], Place(str(path), line=line)))
    if wrong:
        raise AtcError(*wrong[:_SHOWN])
    if len(found) < least:
        _refuse(path, rows[-1][0], _too_few(len(found), least, left_out), known)
    return found


def _wrong(error: AtcError | MeaninglessError, name: str, place: Place) -> Diagnostic:
    """The finding at a line, whose model `name` may not open or compile."""
    if isinstance(error, MeaninglessError):
        return BAD_MEASUREMENTS.diagnostic(
            error_text(error), place=place, help=Text("correct the line, or take it out")
        )
    return BAD_MEASUREMENTS.diagnostic(
        Text("{model}: {problem}", model=name, problem=error.diagnostics[0].message),
        place=place,
        help=Text(
            "model is a path from the folder of the table, input_shape has all dims of an ONNX "
            "model; correct the line, or take it out"
        ),
    )


def _too_few(count: int, least: int, left_out: Mapping[LeftOut, int]) -> Text:
    text = Text("a fit needs {least} measurements or more, found {count}", least=least, count=count)
    for line in left_out_lines(left_out.items())[:_SHOWN]:
        text += SEMICOLON + line
    return text


def left_out_lines(left_out: Iterable[tuple[LeftOut, int]]) -> list[Text]:
    """A line for each reason, with the operators that it holds for and their kernels."""
    names: dict[Text, list[str]] = {}
    for (op, why), count in left_out:
        names.setdefault(why, []).append(f"{op} ({count})")
    return [Text("{why}: {names}", why=why, names=COMMA.join(each)) for why, each in names.items()]


def _run(kernels_of: KernelsOf, cells: Mapping[str, str], unit: float, line: int) -> Measurement:
    seconds, shapes = _seconds(cells["time"], unit), cells.get("output", "")
    if not cells["op"]:
        raise MeaninglessError(Text("model must name a file, found nothing"))
    kernels = tuple(kernels_of(cells["op"], shapes))
    if not kernels:
        raise MeaninglessError(Text("{model} launches nothing", model=cells["op"]))
    return Measurement(cells["op"], shapes, "", seconds, kernels[0], line, kernels)


def _refuse(
    path: Path, line: int, message: Text, known: Mapping[str, Sequence[str]] = _COLUMNS
) -> NoReturn:
    layout = Text(
        'the columns are op, shape, dtype and time_us, e.g. `MatMulV2,"256,512;512,64",float16,12.5`'
    )
    if known is _OF_NETWORKS:
        layout = Text(
            'the columns are model, input_shape and time_us, e.g. `net.onnx,"x:1,3,224,224",349`'
        )
    raise BAD_MEASUREMENTS.error(message, place=Place(str(path), line=line), help=layout)


def _columns(
    path: Path, line: int, head: Sequence[str], known: Mapping[str, Sequence[str]]
) -> dict[str, int]:
    found = {}
    for name, spellings in known.items():
        names = (*spellings, *_UNITS) if name == "time" else spellings
        at = next((head.index(each) for each in names if each in head), None)
        if at is not None:
            found[name] = at
        elif name != _OPTIONAL:
            shown = ", ".join(head) or Text("none")
            _refuse(
                path,
                line,
                Text(
                    "there must be a column {spellings}, found {shown}",
                    spellings=spellings[0],
                    shown=shown,
                ),
                known,
            )
    return found


def _operator(name: str) -> TargetOp | None:
    """The target operator of a kernel, whose name may have another version: Gelu is GeluV2."""
    row = find_operator(name)
    if row is None:
        stem = _VERSION.sub("", name)
        alike = [row for row in operators() if stem and _VERSION.sub("", row.name) == stem]
        row = alike[0] if len(alike) == 1 else None
    return row if row is not None and row.launches_kernel else None


def _measurement(row: TargetOp, cells: Mapping[str, str], unit: float, line: int) -> Measurement:
    dtype = read_dtype(cells["dtype"].split(";", maxsplit=1)[0])
    inputs = [Tensor(shape, dtype) for shape in read_shapes(cells["shape"])]
    outputs = [Tensor(shape, dtype) for shape in read_shapes(cells.get("output", ""))]
    seconds = _seconds(cells["time"], unit)
    try:
        launch = _kernel(row, inputs, outputs)
    except _MisfitError as error:
        raise MeaninglessError(
            Text("the shapes {cells} do not fit {name}", cells=cells["shape"], name=row.name)
        ) from error
    return Measurement(row.name, cells["shape"], dtype.value, seconds, launch, line)


def _kernel(
    row: TargetOp, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]
) -> LaunchGroup:
    """A kernel; where it has no outputs they follow from the inputs."""
    present = [each for each in inputs if each is not None]
    if not present:
        raise MeaninglessError(Text("shape must have the dims of an input, found nothing"))
    if not outputs:
        outputs = [Tensor(result_shape(row, [each.shape for each in present]), present[0].dtype)]
    try:
        return _launch(row, inputs, outputs)
    except (IndexError, ValueError) as error:
        raise _MisfitError from error


class _MisfitError(ValueError):
    """An operator has no such dims."""


def _seconds(text: str, unit: float) -> float:
    try:
        seconds = float(text) * unit
    except ValueError:
        raise MeaninglessError(
            Text("the time must be a number, found {text}", text=repr(text))
        ) from None
    if not math.isfinite(seconds) or seconds <= 0:
        raise MeaninglessError(Text("the time must be more than 0, found {text}", text=text))
    return seconds


def _launch(
    row: TargetOp, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]
) -> LaunchGroup:
    """A kernel alone, whose right operand is weights if it multiplies; an error of misfit dims."""
    attributes: tuple[tuple[str, object], ...] = ()
    if row.family == "conv" and inputs[0] is not None:
        ends = (outputs[0], inputs[0]) if row.name in TRANSPOSED else (inputs[0], outputs[0])
        attributes = (("strides", _strides(*ends)), ("groups", _groups(row, inputs[0], inputs[1])))
    elif row.family == "matmul" and inputs[0] is not None:
        attributes = _turned(row, inputs[0], inputs[1], outputs[0])
    operation = Operation(row, tuple(inputs), tuple(outputs), attributes)
    work_of(operation)
    is_product = row.family in {"conv", "matmul"}
    reads = [
        Transfer(
            bytes_read(operation, position, tensor),
            Source.WEIGHTS if position and is_product else Source.RESULT,
        )
        for position, tensor in enumerate(inputs)
        if tensor is not None
    ]
    writes = [Transfer(tensor.nbytes, Source.RESULT) for tensor in outputs]
    return LaunchGroup((operation,), KernelEngine.AICORE, tuple(reads), tuple(writes))


def _groups(row: TargetOp, data: Tensor, filters: Tensor | None) -> int:
    """Groups of a convolution, by the channels that a filter reads, unless blocks alone hide them."""
    if filters is None or row.name in TRANSPOSED:
        return 1
    if data.stored is not None and filters.stored is None:
        return 1
    return blocks_of(data.shape[1], filters.shape[1])


def _strides(large: Tensor, small: Tensor) -> tuple[int, ...]:
    """Strides of a convolution, by the dims before and after, or after and before if transposed."""
    pairs = zip(large.shape[2:], small.shape[2:], strict=True)
    return (1, 1, *(max(1, round(more / less)) for more, less in pairs))


def _turned(
    row: TargetOp, left: Tensor, right: Tensor | None, out: Tensor
) -> tuple[tuple[str, object], ...]:
    """True if the left matrix stands on its side, by the rows of the result."""
    name = "transpose_x1" if row.attribute("transpose_x1") else "adj_x1"
    is_turned = left.shape[-2] != out.shape[-2] == left.shape[-1]
    length = left.shape[-2 if is_turned else -1]
    if right is not None and left.stored is right.stored is None and length not in right.shape[-2:]:
        raise ValueError
    return ((name, is_turned),)
