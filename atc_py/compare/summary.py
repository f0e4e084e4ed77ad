"""Everything about a model for its report: checked, compiled, estimated and compared."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from atc_py.check.findings import Standing
from atc_py.compare.comparison_session import GivenSamples
from atc_py.compare.dims_of_data import shapes_with_data
from atc_py.compare.fitting_samples import FittingSamples, NoFittingSampleError
from atc_py.compare.gears import announcing, fitting_samples, refuse_if_none_fits
from atc_py.compare.model import compare_model
from atc_py.compare.targets import missed_by_all, missed_targets
from atc_py.cost.calibration import Calibration
from atc_py.cost.estimate import Fit
from atc_py.diag import BAD_OPTION, AtcError, Diagnostic, ExitCode
from atc_py.onnx_graph.source import FileGraph
from atc_py.options.compile_options import CheckOptions
from atc_py.options.gears import Gears, format_gear
from atc_py.options.input_shapes import format_input_shapes
from atc_py.options.named_gear import NamedGear
from atc_py.options.option import parse_options
from atc_py.options.ranges import refuse_ranges, shapes_and_ranges
from atc_py.package.foreign import is_offline
from atc_py.pipeline.check import check_files
from atc_py.pipeline.profile import profile_model
from atc_py.results.compiled_model import CompiledModel
from atc_py.results.summary import ModelSummary
from atc_py.system.structs import Result, replace
from atc_py.target import find_soc
from atc_py.text import Text

_DEFAULT_SOC = "sim"
_STUBS_ONLY = frozenset({"templates"})
"""Options of a compilation that concern the text of kernel stubs, which a comparison does not have."""


class SummaryOptions(Result, frozen=True):
    """Options of a report.

    Attributes:
        socs: SoCs to compile for; layers are compared on the first one. Empty for the generic device,
            or that of an offline model.
        compiling: as `convert` takes them, without the SoC and without lists of gears.
        running: as `compare_model` takes them: data, samples, seed, device, the search.
        targets: least figures of every output.
        fit: refitted factors of the cost model.
        calibration: where they come from, if they were refitted now.
        gears: shapes to report on one by one, in place of `input_shape`.
        gear: the gear of an offline model that is shown; None for the largest.
        like: the ONNX file that an offline model of Huawei's atc was made of.
        submodel: the model of such a file with several, by position or name.
        compares: False to leave the comparison out.
        given: values of the options that were given, by name, for the page.
    """

    socs: Sequence[str] = ()
    compiling: Mapping[str, Any] = msgspec.field(default_factory=dict)
    running: Mapping[str, Any] = msgspec.field(default_factory=dict)
    targets: Mapping[str, float] = msgspec.field(default_factory=dict)
    fit: Fit | None = None
    calibration: Calibration | None = None
    gears: Gears | None = None
    gear: NamedGear | None = None
    like: Path | None = None
    submodel: str | None = None
    compares: bool = True
    given: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


def summaries_of(
    model: Path, options: SummaryOptions, on_stage: Callable[[str], None] | None = None
) -> list[ModelSummary]:
    """A summary of a model, or one for each gear.

    `model` is an ONNX file or an offline model.
    """
    gears = options.gears
    if gears is None:
        return [summary_of(model, options, on_stage)]
    found = []
    samples = fitting_samples(options.running.get("samples"), gears)
    options = replace(options, running={**options.running, "samples": samples})
    for at, values in enumerate(gears.gears):
        shapes = gears.shapes_of(at)
        own = replace(options, gears=None, compiling={**options.compiling, "input_shape": shapes})
        name = format_gear(values)
        done = summary_of(model, own, announcing(on_stage, name))
        found.append(replace(done, gear=name, shape=format_input_shapes(shapes)))
    return _with_samples_left_out(found, samples)


def _with_samples_left_out(found: list[ModelSummary], samples: GivenSamples) -> list[ModelSummary]:
    """Summaries of which the first one has the samples that fit no gear."""
    if not isinstance(samples, FittingSamples):
        return found
    refuse_if_none_fits([each.not_compared for each in found])
    is_complete = all(each.compiled is not None for each in found)
    left_out = samples.of_no_gear() if is_complete else []
    if not left_out:
        return found
    first, *others = found
    return [replace(first, missed=(*first.missed, *left_out)), *others]


def summary_of(
    model: Path, options: SummaryOptions, on_stage: Callable[[str], None] | None = None
) -> ModelSummary:
    """Summary of a model; refusals are part of it.

    `model` is an ONNX file or an offline model.
    """
    announce = on_stage or (lambda _stage: None)
    given = options.compiling.get("input_shape", "")
    notes: list[Diagnostic] = []
    options = with_dims_of_data(model, options, notes)
    dims = options.compiling.get("input_shape", "")
    fitted = dims != given and not isinstance(dims, str)
    done = ModelSummary(model, options.given, shape=format_input_shapes(dims) if fitted else "")
    done = replace(done, notes=tuple(notes))
    if is_offline(model):
        announce("profile")
        return _estimated(done, options)
    announce("check")
    done = _checked(done, options)
    check = done.check
    broken = check is not None and check.standing is Standing.ERROR
    rewritten = options.compiling.get("fix") is not None or options.compiling.get("out_nodes")
    if broken and not rewritten:
        return done
    announce("profile")
    done = _estimated(done, options)
    if done.compiled is None or not options.compares:
        return done
    announce("compare")
    return _compared(done, options)


def with_dims_of_data(
    model: Path, options: SummaryOptions, notes: list[Diagnostic] | None = None
) -> SummaryOptions:
    """Options with the dims of the data for inputs that the model leaves open, as `shapes_with_data`."""
    running, compiling = options.running, options.compiling
    if not options.compares or not (running.get("inputs") or "samples" in running):
        return options
    given = running.get("inputs", ()), running.get("samples")
    named = {**compiling, **({"soc": options.socs[0]} if options.socs else {})}
    dims = shapes_with_data(model, compiling.get("input_shape", ""), *given, named, notes)
    return replace(options, compiling={**compiling, "input_shape": dims})


def _checked(done: ModelSummary, options: SummaryOptions) -> ModelSummary:
    compiling = options.compiling
    file_graphs: dict[str, FileGraph] = {}
    shapes = shapes_and_ranges(compiling.get("input_shape", ""))[0]
    soc = options.socs[0] if options.socs else _DEFAULT_SOC
    chosen = parse_options("report", CheckOptions, compiling, soc=soc, input_shape=shapes)
    check = check_files([done.model], chosen, file_graphs=file_graphs)
    faults, is_read = check.models[0].faults, bool(check.models[0].opsets)
    if not is_read and any(fault.code.exit is ExitCode.FILE for fault in faults):
        raise AtcError(*faults)
    return replace(done, check=check, file_graph=file_graphs.get(str(done.model)))


def _estimated(done: ModelSummary, options: SummaryOptions) -> ModelSummary:
    """It compiled for each SoC, with what it costs there."""
    compiled: list[CompiledModel] = []
    try:
        profile = profile_model(
            done.model, options.socs, options.fit, options.calibration, options.gear, compiled,
            like=options.like, submodel=options.submodel, **options.compiling,
        )  # fmt: skip
    except AtcError as error:
        if error.exit_code is not ExitCode.MODEL or error.diagnostics[0].code is BAD_OPTION:
            raise
        return replace(done, refusals=error.diagnostics)
    return replace(done, profile=profile, compiled=compiled[0] if compiled else None)


def _compared(done: ModelSummary, options: SummaryOptions) -> ModelSummary:
    """It with its layers compared, or with the reason why they are not."""
    compiling = {key: each for key, each in options.compiling.items() if key not in _STUBS_ONLY}
    ranges = shapes_and_ranges(compiling.get("input_shape", ""))[1]
    first = done.compiled.description.soc if done.compiled is not None else _DEFAULT_SOC
    try:
        refuse_ranges(ranges, Text("a comparison runs one shape"))
    except AtcError as error:
        return replace(done, not_compared=error.diagnostics)
    try:
        found = compare_model(
            done.model,
            soc=find_soc(first).name,
            targets=options.targets,
            histograms=True,
            **options.running,
            **compiling,
        )
    except NoFittingSampleError as error:
        return replace(done, not_compared=error.diagnostics)
    except AtcError as error:
        if error.exit_code in {ExitCode.FILE, ExitCode.USAGE}:
            raise
        return replace(done, not_compared=error.diagnostics)
    missed = (*missed_targets(found, options.targets), *missed_by_all(found))
    return replace(done, comparison=found, missed=missed)
