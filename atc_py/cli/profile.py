"""`atc-py profile`: estimate the cost of a model on the SoCs that it could run on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atc_py.cli import options
from atc_py.cli.console import deliver, print_diagnostics, print_json, print_tables, say
from atc_py.cli.gear_options import profiled_gears
from atc_py.cli.help_text import AliasedOption
from atc_py.diag import Diagnostic
from atc_py.options.compile_options import CompileOptions
from atc_py.options.named_gear import NamedGear
from atc_py.options.output_paths import output_file
from atc_py.system.atomic_files import write_files
from atc_py.system.structs import replace

if TYPE_CHECKING:
    from atc_py.cost.calibration import Calibration
    from atc_py.results.compiled_model import CompiledModel
    from atc_py.results.profile import Profile

_FILE = click.Path(path_type=Path)
# Written out because the defining modules take long to import; a test compares them.
_FORMATS = ("text", "json", "csv", "html")


@click.command()
@click.argument("model", type=_FILE, required=False)
@click.option(
    "--soc", "--soc_version", "socs", cls=AliasedOption, old=["--soc-version"], multiple=True,
    metavar="NAME,...", callback=options.comma_separated,
    help="SoCs to estimate for, side by side; may be repeated. By default `sim`, or the SoC that an "
    "offline model is compiled for.",
)  # fmt: skip
@options.options_of(
    CompileOptions, "precision_mode", "precision", "semantics", "cann", "fix", "input_shape", "aipp",
    "op_specs",
)  # fmt: skip
@options.MAX_MEMORY
@options.CALIBRATE
@click.option("--save-factors", type=click.Path(), metavar="FILE", help="Save refitted factors.")
@options.FACTORS
@click.option(
    "--measured", type=_FILE, multiple=True, metavar="FILE.csv",
    help="Table of kernel times of a board to show beside the estimate: op_summary of msprof, "
    "or kernel_details; may be repeated for the parts of a table.",
)  # fmt: skip
@options.BOARD_JSON
@options.LIKE
@options.SUBMODEL
@profiled_gears
@options.report_option(_FORMATS, "html has the graph, a timeline, a roofline and memory over time")
@click.option("-o", "--output", type=click.Path(), help="File for the report.")
@click.option(
    "--trace", type=click.Path(), metavar="FILE",
    help="File for a trace in Chrome's format, which ui.perfetto.dev opens.",
)  # fmt: skip
@options.REPORT_AS_JSON
@click.option("-v", "--verbose", is_flag=True, help="List every kernel, not only the slowest.")
@click.pass_context
def profile(  # noqa: PLR0913  (one parameter an option)
    context: click.Context,
    /,
    *,
    model: Path | None,
    socs: tuple[str, ...],
    calibrate: tuple[Path, ...],
    save_factors: str | None,
    factors: Path | None,
    form: str | None,
    output: str | None,
    trace: str | None,
    gear: NamedGear | None,
    as_json: bool,
    verbose: bool,
    **compiling: Any,
) -> None:
    """Estimate the time and memory of MODEL, an ONNX file or an offline model.

    Nothing is run: figures are estimated from the SoC's rates and the model's shapes, each with a
    range; docs/cost-model.md has the formulas. With --calibrate alone no MODEL is needed.

    An offline model with gears gets a line for each gear and the full figures of the chosen one, by
    default the largest. An ONNX file with several batch sizes in --batch is treated the same way.

    Exit status: 0 done, 1 the model breaks a rule, 2 the command was called wrongly, 3 a file
    cannot be read or written.
    """
    from atc_py.pipeline.profile import fitted_factors, profile_model

    form = options.report_format(form, as_json=as_json)
    if model is not None:
        options.refuse_compiling(context, model)
    report, kept, traced = _outputs(model, socs, output, save_factors, trace, calibrate)
    _refuse_both(factors, calibrate)
    fit, done = fitted_factors(factors, calibrate, socs)
    _save(kept, done)
    if model is None:
        _show_calibration(done, form)
        return
    board = compiling.pop("measured"), compiling.pop("board_json")
    compiled: list[CompiledModel] | None = [] if form == "html" else None
    warnings: list[Diagnostic] = []
    found = profile_model(model, socs, fit, done, gear, compiled, warnings, **compiling)
    found = _with_measured(found, *board)
    _write_trace(found, traced)
    _show(found, form, report, compiled, as_json=as_json, verbose=verbose)
    if form == "text":
        print_diagnostics(warnings, as_json=False)


def _save(kept: Path | None, done: Calibration | None) -> None:
    if done is not None and kept is not None:
        from atc_py.cost.calibration import save_fit

        save_fit(kept, done)


def _refuse_both(factors: Path | None, calibrate: Sequence[Path]) -> None:
    if factors is not None and calibrate:
        raise click.UsageError("--factors and --calibrate exclude each other: give one of them")


def _with_measured(found: Profile, tables: tuple[Path, ...], board_json: Path | None) -> Profile:
    """The profile with times of a board beside it, if there are some."""
    if not tables:
        return found
    from atc_py.compare.board.times import measured_beside

    if len(found.costs) != 1:
        raise click.UsageError("--measured applies to one SoC: give --soc once")
    return replace(found, measured=measured_beside(found.costs[0], tables, board_json))


def _write_trace(found: Profile, traced: Path | None) -> None:
    if traced is None:
        return
    from atc_py.report.profile.formats import trace_json

    write_files({traced: trace_json(found.costs[0])})


def _outputs(
    model: Path | None,
    socs: tuple[str, ...],
    output: str | None,
    save_factors: str | None,
    trace: str | None,
    calibrate: tuple[Path, ...],
) -> tuple[Path | None, Path | None, Path | None]:
    """The files to write; no two are the same, and none is a file that is read."""
    if model is None and not calibrate:
        raise click.UsageError("Missing argument 'MODEL'.")
    if save_factors is not None and not calibrate:
        raise click.UsageError("--save-factors writes what --calibrate finds: give that too")
    if trace is not None and len(set(socs)) > 1:
        raise click.UsageError("a trace covers one SoC: give --soc once, or omit --trace")
    if model is None and (trace is not None or output is not None):
        raise click.UsageError("--trace and --output need a MODEL")
    read = [*calibrate] if model is None else [model, *calibrate]
    found = [
        None if given is None else output_file(given, read, name)
        for name, given in (
            ("--output", output), ("--save-factors", save_factors), ("--trace", trace)
        )
    ]  # fmt: skip
    paths = [path.absolute() for path in found if path is not None]
    if len(set(paths)) < len(paths):
        raise click.UsageError("--output, --save-factors and --trace must be different files")
    return found[0], found[1], found[2]


def _show_calibration(done: Calibration | None, form: str) -> None:
    from atc_py.report.profile.formats import calibration_json
    from atc_py.report.profile.text import calibration_tables

    if done is None:
        return
    if form == "json":
        print_json(calibration_json(done))
    else:
        print_tables(calibration_tables(done))


def _rendered(form: str, done: Profile, compiled: list[CompiledModel] | None) -> str:
    from atc_py.pipeline.onnx_facts import compiled_file_graph
    from atc_py.report.profile.formats import PROFILE_FORMATS, profile_html

    if not compiled:
        return PROFILE_FORMATS[form](done)
    return profile_html(done, compiled_file_graph(done.model, compiled[0]), compiled[0])


def _show(
    done: Profile,
    form: str,
    path: Path | None,
    compiled: list[CompiledModel] | None,
    *,
    as_json: bool,
    verbose: bool,
) -> None:
    from atc_py.report.profile.text import comparison_table, profile_tables, time_text

    def brief() -> None:
        if len(done.socs) > 1:
            print_tables([comparison_table(done)])
        else:
            say(f"{done.costs[0].soc.name}: {time_text(done.costs[0].time)}")

    deliver(
        form, path, partial(_rendered, form, done, compiled), as_json=as_json,
        whole=lambda: print_tables(profile_tables(done, every=verbose)), brief=brief,
    )  # fmt: skip
