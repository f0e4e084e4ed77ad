"""Inputs with dims that each run decides: as the file must have them, and why they do not compile."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from atc_py.check.findings_builder import RulesBrokenError
from atc_py.diag import (
    BAD_INPUT_SHAPE,
    OPEN_DIMS_NOT_COMPILED,
    AtcError,
    AtcFault,
    Diagnostic,
    Sink,
)
from atc_py.onnx_graph.reading.contents import DeclaredInput
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.options.auto_gears import parse_dim, unnamed_dim
from atc_py.options.input_shapes import INPUT_SHAPE_PLACE
from atc_py.options.ranges import DimRange, format_ranges
from atc_py.text import Text

_LONG = 64
"""The largest gear that is proposed where no limit is given, as a multiple of the smallest."""

Given = Mapping[str, tuple[DimRange, ...]]


def with_open_ranges(file: OnnxFile, ranges: Given) -> OnnxFile:
    """The file with open dims where ranges have several numbers, as ATC opens them."""
    sink = Sink()
    for declared in file.inputs:
        if declared.name in ranges and declared.dims is not None:
            sink.extend(_disagreements(declared, ranges[declared.name]))
    sink.raise_errors()
    inputs = tuple(_opened(each, ranges.get(each.name, ())) for each in file.inputs)
    return file if inputs == file.inputs else replace(file, inputs=inputs, declared={})


def _disagreements(declared: DeclaredInput, dims: tuple[DimRange, ...]) -> Iterator[Diagnostic]:
    own = declared.dims or ()
    if len(own) != len(dims):
        yield BAD_INPUT_SHAPE.diagnostic(
            Text(
                "input {declared} is {label} in the model (rank {count}), but --input-shape "
                "gives {count_2} dims",
                declared=repr(declared.name),
                label=declared.label,
                count=len(own),
                count_2=len(dims),
            ),
            place=INPUT_SHAPE_PLACE,
            atc=AtcFault("E10049", (str(len(dims)), str(len(own)))),
        )
        return
    for axis, (dim, given) in enumerate(zip(own, dims, strict=True)):
        if isinstance(dim, int) and not given.holds(dim):
            limits = str(given.low), str(-1 if given.high is None else given.high)
            yield BAD_INPUT_SHAPE.diagnostic(
                Text(
                    "axis {axis} of input {declared} is {dim} in the model, which is not in "
                    "the range {given}",
                    axis=axis,
                    declared=repr(declared.name),
                    dim=dim,
                    given=given,
                ),
                place=INPUT_SHAPE_PLACE,
                atc=AtcFault("E10050", (str(dim), *limits)),
            )


def _opened(declared: DeclaredInput, dims: tuple[DimRange, ...]) -> DeclaredInput:
    """An input whose dims are open where a range has several numbers."""
    if not dims or declared.dims is None:
        return declared
    opened = tuple(
        "" if given.is_open and isinstance(own, int) else own
        for own, given in zip(declared.dims, dims, strict=True)
    )
    return replace(declared, dims=opened)


@contextmanager
def gears_advised(ranges: Given, inputs: Sequence[DeclaredInput] = ()) -> Iterator[None]:
    """Add to the error that the block raises, if there are ranges, the gears that do instead."""
    try:
        yield
    except RulesBrokenError as error:
        if not ranges:
            raise
        raise RulesBrokenError(error.check, (*error.missing, _advice(ranges, inputs))) from error
    except AtcError as error:
        if not ranges:
            raise
        raise AtcError(*error.diagnostics, _advice(ranges, inputs)) from error


def _advice(ranges: Given, inputs: Sequence[DeclaredInput]) -> Diagnostic:
    shapes = ";".join(
        f"{name}:{','.join('-1' if dim.is_open else str(dim.low) for dim in dims)}"
        for name, dims in ranges.items()
    )
    every = [(axis, dim) for dims in ranges.values() for axis, dim in enumerate(dims)]
    opened = [(axis, dim) for axis, dim in every if dim.is_open]
    numbers = [(dim.low, dim.high or 2 * dim.low) for _, dim in opened]
    if all(axis == 0 for axis, _ in opened):
        low, high = max(low for low, _ in numbers), min(high for _, high in numbers)
        gears = f"--batch-sizes {low},{max(high, low + 1)}"
    else:
        ends = (",".join(str(pair[at]) for pair in numbers) for at in (0, 1))
        gears = f'--dims "{";".join(ends)}"'
    return OPEN_DIMS_NOT_COMPILED.diagnostic(
        Text(
            "--input-shape leaves the dims {ranges} to each run, which the nodes above may not "
            "support",
            ranges=format_ranges(ranges),
        ),
        place=INPUT_SHAPE_PLACE,
        help=Text(
            'compile it for a list of shapes, such as --input-shape "{shapes}" {gears}; or for '
            "powers of two, with data between them padded where that is harmless: "
            '--input-shape "{shapes}" --auto-gears "{named}"',
            shapes=shapes,
            gears=gears,
            named=_named_gears(ranges, inputs),
        ),
    )


def _named_gears(ranges: Given, inputs: Sequence[DeclaredInput]) -> str:
    """The text for --auto-gears that stands for ranges."""
    declared = {each.name: each.dims or () for each in inputs}
    found: dict[str, str] = {}
    for name, dims in ranges.items():
        own = dict(enumerate(declared.get(name, ())))
        for axis, dim in enumerate(dims):
            label = str(own.get(axis) or "") if isinstance(own.get(axis), str) else ""
            label = label or unnamed_dim(name, axis)
            if dim.is_open and parse_dim(label).is_name:
                found.setdefault(label, f"{dim.low}~{dim.high or _LONG * dim.low}")
    return ";".join(f"{name}={numbers}" for name, numbers in found.items())
