"""Everything about a model for its report: checked, compiled, estimated and compared."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from atc_py.check.findings import Standing
from atc_py.compare.model import compare_model
from atc_py.compare.targets import missed_by_all, missed_targets
from atc_py.diag import AtcError, ExitCode
from atc_py.diag.codes import BAD_OPTION
from atc_py.options.choices import chosen_mode, input_shapes, optional_path, precision_options
from atc_py.options.compile_options import CheckOptions
from atc_py.pipeline.check import check_files
from atc_py.pipeline.opened import is_offline
from atc_py.pipeline.profile import profile_model
from atc_py.results.overview import Overview
from atc_py.target import find_soc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from atc_py.cost.estimate import Fit
    from atc_py.results.compiled_model import CompiledModel
    from atc_py.source.outline import ModelOutline

__all__ = ["OverviewOptions", "overview_of"]

_DEFAULT_SOC = "sim"


@dataclass(frozen=True, slots=True)
class OverviewOptions:
    """Options of a report.

    Attributes:
        socs: SoCs to compile for; layers are compared on the first one. Empty for the generic device,
            or that of an offline model.
        compiling: as `convert` takes them, without the SoC.
        running: as `compare_model` takes them: data, samples, seed, device.
        targets: least figures of every output.
        fit: refitted factors of the cost model.
        compares: False to leave the comparison out.
        given: values of the options that were given, by name, for the page.
    """

    socs: Sequence[str] = ()
    compiling: Mapping[str, Any] = field(default_factory=dict)
    running: Mapping[str, Any] = field(default_factory=dict)
    targets: Mapping[str, float] = field(default_factory=dict)
    fit: Fit | None = None
    compares: bool = True
    given: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def overview_of(
    model: Path, options: OverviewOptions, on_stage: Callable[[str], None] | None = None
) -> Overview:
    """Return what is found out about a model; refusals are part of the answer.

    Args:
        model: an ONNX file or an offline model.
        options: how it is compiled and run.
        on_stage: called with the name of each stage as it begins.

    Raises:
        AtcError: a file cannot be read, or an option has no meaning.
    """
    announce = on_stage or (lambda _stage: None)
    done = Overview(model, options.given)
    if is_offline(model):
        announce("profile")
        return _estimated(done, options)
    announce("check")
    done = _checked(done, options)
    check = done.check
    broken = check is not None and check.standing is Standing.ERROR
    if broken and not options.compiling.get("fix"):
        return done
    announce("profile")
    done = _estimated(done, options)
    if done.compiled is None or not options.compares:
        return done
    announce("compare")
    return _compared(done, options)


def _checked(done: Overview, options: OverviewOptions) -> Overview:
    """Return it with its check and the graph of its file."""
    compiling = options.compiling
    outlines: dict[str, ModelOutline] = {}
    chosen = CheckOptions(
        soc=options.socs[0] if options.socs else _DEFAULT_SOC,
        precision_mode=chosen_mode(compiling),  # type: ignore[arg-type]
        input_shapes=input_shapes(compiling.get("input_shape", "")),
        op_specs=optional_path(compiling.get("op_specs")),
        precision=precision_options(compiling),  # type: ignore[arg-type]
    )
    check = check_files([done.model], chosen, outlines=outlines)
    _refuse_unread(check.models[0].faults, is_read=bool(check.models[0].opsets))
    return replace(done, check=check, outline=outlines.get(str(done.model)))


def _refuse_unread(faults: Sequence[Any], *, is_read: bool) -> None:
    """Refuse a file of which there is nothing to show.

    Raises:
        AtcError: it cannot be read.
    """
    if not is_read and any(found.code.exit is ExitCode.FILE for found in faults):
        raise AtcError(*faults)


def _estimated(done: Overview, options: OverviewOptions) -> Overview:
    """Return it compiled for each SoC, with what it costs there."""
    compiled: list[CompiledModel] = []
    try:
        profile = profile_model(
            done.model, options.socs, options.fit, compiled=compiled, **options.compiling
        )
    except AtcError as error:
        if error.exit_code is not ExitCode.MODEL or error.diagnostics[0].code is BAD_OPTION:
            raise
        return replace(done, refusals=error.diagnostics)
    return replace(done, profile=profile, compiled=compiled[0] if compiled else None)


def _compared(done: Overview, options: OverviewOptions) -> Overview:
    """Return it with its layers compared, or with the reason why they are not."""
    first = done.compiled.description.soc if done.compiled is not None else _DEFAULT_SOC
    try:
        found = compare_model(
            done.model,
            soc=find_soc(first).name,
            targets=options.targets,
            histograms=True,
            **options.running,
            **options.compiling,
        )
    except AtcError as error:
        if error.exit_code in {ExitCode.FILE, ExitCode.USAGE}:
            raise
        return replace(done, not_compared=error.diagnostics)
    missed = (*missed_targets(found, options.targets), *missed_by_all(found))
    return replace(done, comparison=found, missed=missed)
