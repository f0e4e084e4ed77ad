"""Runs an offline model on given or random data, saves and compares its outputs."""

import math
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from atc_py.diag import (
    BAD_OPTION,
    BAD_RUN_INPUT,
    NOT_FINITE,
    OUTPUT_MISMATCH,
    Diagnostic,
    Place,
    Sink,
)
from atc_py.options.named_gear import NamedGear
from atc_py.package.read_ahead import write_npy
from atc_py.package.schema import AIPP
from atc_py.pipeline.running.feeds import count_odd_values, odd_feeds, random_feeds, read_feeds
from atc_py.pipeline.running.folders import file_stem
from atc_py.pipeline.running.gears import Fitted, gear_of_feeds
from atc_py.pipeline.running.model import Model, Port
from atc_py.results.comparison import Comparison, compare, explained_share
from atc_py.results.run import Run
from atc_py.system.atomic_files import atomic_write, make_folder
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import format_shape
from atc_py.text import Text

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The user's options for one run."""

    inputs: tuple[str, ...] = ()  # `name=file` texts, or `file` alone
    # seed of random data for inputs without a file; None leaves them missing
    seed: int | None = None
    expect: tuple[str, ...] = ()  # `name=file` texts of expected outputs
    # largest error as a share of the output's range; None for the model's own
    tolerance: float | None = None
    output: Path | None = None  # folder for the outputs, or None
    profile: bool = False  # whether to keep the time of each node
    gear: NamedGear | None = None  # the gear that the user names, of a model with gears
    aipp_settings: Path | None = None  # file with the settings of dynamic AIPP, or None
    cast: bool = False  # convert data to the dtypes of their inputs
    archive: Path | None = None  # .npz file for all outputs, or None


def execute(model: Model, options: RunOptions) -> Run:
    """Run `model` once, then save and compare the outputs as `options` ask.

    Raises:
        AtcError: data cannot be read or does not fit, the device failed, or an output cannot be
            saved; NO_SUCH_GEAR where data or options fit no gear. Outputs that differ from the expected ones do not raise; see
            `mismatches`.
    """
    sink = Sink()
    sink.extend(model.findings)
    model, fitting, gear = _model_and_feeds(model, options, sink)
    feeds = fitting.feeds
    tolerance = _tolerance(model, options)
    expected = read_feeds(options.expect, model.outputs, sink)
    sink.extend(odd_feeds(feeds))
    feeds = _with_settings(model, options, feeds)
    if options.cast:
        feeds = cast_feeds(feeds, model.inputs)
    if options.seed is not None:
        feeds = {**random_feeds(model.inputs, options.seed), **feeds}
    started = time.perf_counter()
    outputs = fitting.cut(model.run(feeds))
    seconds = time.perf_counter() - started
    comparisons = tuple(
        compare(name, outputs[name], array, tolerance(name, array))
        for name, array in expected.items()
    )
    files = {} if options.output is None else _save(outputs, options.output)
    if options.archive is not None:
        _save_archive(outputs, options.archive)
    nodes = tuple(model.profile()) if options.profile else ()
    sink.extend(_not_finite(feeds, outputs))
    warnings = tuple(sink.diagnostics)
    return Run(seconds, outputs, files, comparisons, nodes, warnings, model.semantics, gear)


def _model_and_feeds(
    model: Model, options: RunOptions, sink: Sink
) -> tuple[Model, Fitted, tuple[int, ...] | None]:
    """The model, or that of the gear, what is fed to it, and the numbers of the gear."""
    gears = model.gears
    if gears is None or model.shape_data is None:
        if options.gear is not None:
            options.gear.position_in(None)
        return model, Fitted(0, _given(model, model.inputs, options, sink)), None
    chosen = None if options.gear is None else options.gear.position_in(gears)
    one = model if chosen is None else model.at_gear(chosen)
    given = _given(one, (*one.inputs, model.shape_data), options, sink)
    fitting = gear_of_feeds(gears, given, chosen)
    return model.at_gear(fitting.gear), fitting, gears.gears[fitting.gear]


def _given(
    model: Model, ports: Sequence[Port], options: RunOptions, sink: Sink
) -> dict[str, Array]:
    """The data that the user gives; pictures and settings of AIPP as their inputs take them.

    A model with gears is asked for those of its largest.
    """
    path, nodes = options.aipp_settings, model.description.nodes
    if path is None and not any(node.op == AIPP for node in nodes):
        return read_feeds(options.inputs, ports, sink)
    from atc_py.pipeline.running.picture_files import picture_feeds

    return picture_feeds(model.description, options.inputs, ports, path, sink)


def _with_settings(model: Model, options: RunOptions, feeds: dict[str, Array]) -> dict[str, Array]:
    """Feeds with the settings of dynamic AIPP: with random data, those of whole pictures."""
    if not model.takes_settings:
        return feeds
    from atc_py.pipeline.running.pictures import require_settings, whole_picture_settings

    if options.seed is not None:
        return {**whole_picture_settings(model.description), **feeds}
    require_settings(model.description, feeds)
    return feeds


def _tolerance(model: Model, options: RunOptions) -> Callable[[str, Array], float]:
    """The largest error that passes: the user's, or else the one that the model's arithmetic explains."""
    given = options.tolerance
    if given is None:
        return partial(explained_share, model.description)
    if not math.isfinite(given):
        raise BAD_OPTION.error(
            Text("the tolerance must be a finite number, found {given}", given=given),
            help=Text("give a share of the output's range such as 1e-3, or leave --tolerance out"),
        )
    return lambda _name, _array: given


def mismatches(done: Run) -> tuple[Diagnostic, ...]:
    return tuple(_mismatch(row) for row in done.comparisons if not row.passed)


def _not_finite(feeds: Mapping[str, Array], outputs: Mapping[str, Array]) -> Iterator[Diagnostic]:
    """Yield a warning for each output with infinities or NaN that no input had."""
    if any(count_odd_values(array) for array in feeds.values()):
        return
    for name, array in outputs.items():
        count = count_odd_values(array)
        if count:
            yield NOT_FINITE.diagnostic(
                Text(
                    "{count} of {size} values of {name} are infinite or NaN",
                    count=count,
                    size=array.size,
                    name=name,
                ),
                place=Place(field=Text("output {at}", at=name)),
                help=Text(
                    "with float16, an intermediate value was beyond 65504; compare with "
                    "--precision-mode must_keep_origin_dtype"
                ),
            )


def _mismatch(row: Comparison) -> Diagnostic:
    place = Place(field=Text("output {at}", at=row.name))
    if row.other_shapes is not None:
        found, expected = map(format_shape, row.other_shapes)
        return OUTPUT_MISMATCH.diagnostic(
            Text(
                "{name} has the shape {actual}, but the expected data have {expected}",
                name=row.name,
                actual=found,
                expected=expected,
            ),
            place=place,
            help=Text(
                "give expected data that were computed from the same inputs, for this output"
            ),
        )
    return OUTPUT_MISMATCH.diagnostic(
        Text(
            "{name} differs by {range_error} of its range; at most {tolerance} is allowed",
            name=row.name,
            range_error=f"{row.range_error:.2e}",
            tolerance=f"{row.tolerance:.2e}",
        ),
        place=place,
        help=Text("compare with --precision-mode must_keep_origin_dtype, or set --tolerance"),
    )


def _save(outputs: Mapping[str, Array], folder: Path) -> dict[str, Path]:
    make_folder(folder)
    files: dict[str, Path] = {}
    for position, (name, array) in enumerate(outputs.items()):
        stem = file_stem(name) or f"output{position}"
        path = folder / f"{stem}.npy"
        if path in files.values():
            path = folder / f"{stem}.{position}.npy"
        with atomic_write(path, durable=False) as file:
            write_npy(file, array)
        files[name] = path
    return files


def _save_archive(outputs: Mapping[str, Array], path: Path) -> None:
    with atomic_write(path, durable=False) as file, zipfile.ZipFile(file, "w") as archive:
        for name, array in outputs.items():
            # A member made from its name alone has a fixed date: equal outputs make equal files.
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                write_npy(member, array)


def cast_feeds(feeds: Mapping[str, Array], ports: Iterable[Port]) -> dict[str, Array]:
    """`feeds` with the dtypes of their ports; floats are rounded to narrower floats."""
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
