"""`atc-py report`: one page that shows a whole model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atc_py.cli import options
from atc_py.cli.console import print_diagnostics, print_json, print_line, progress
from atc_py.diag.language import spoken
from atc_py.options.compile_options import PrecisionMode

if TYPE_CHECKING:
    from atc_py.results.overview import Overview

__all__ = ["report"]

_FILE = click.Path(path_type=Path)
_RUNNING = ("inputs", "samples", "seed", "device")


@click.command()
@click.argument("model", type=_FILE)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    help="The page; by default NAME.report.html in the current folder.",
)
@click.option(
    "--soc", "--soc-version", "--soc_version", "socs", multiple=True, metavar="NAME",
    help="SoC to compile for; repeat it to compare several. Layers are compared on the first one. By "
    "default `sim`, or the SoC that an offline model is compiled for.",
)  # fmt: skip
@options.precision_mode(PrecisionMode, default=None)
@options.precision_controls
@options.semantics
@options.fix_rules
@options.INPUT_SHAPE
@options.OP_SPECS
@options.MAX_MEMORY
@click.option(
    "-i", "--input", "inputs", multiple=True, metavar="[NAME=]FILE",
    help="Data for an input, as `compare` takes it; the others get random data.",
)  # fmt: skip
@click.option(
    "--samples", type=click.IntRange(min=1), default=1, show_default=True,
    help="Number of runs, each with different random data.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True,
    help="Seed of the random data.",
)  # fmt: skip
@click.option(
    "--device", default="sim", show_default=True,
    help="Device that runs the compiled model: `sim`, or `ort` (onnxruntime), which is faster.",
)  # fmt: skip
@click.option(
    "--fail-under", "targets", multiple=True, metavar="FIGURE=NUMBER",
    help="Exit with 4 if an output of the model is below the figure: cosine=0.99 or snr=40 (dB).",
)  # fmt: skip
@click.option("--factors", type=_FILE, metavar="FILE", help="Estimate with saved factors.")
@click.option(
    "--no-compare", is_flag=True, help="Leave out the comparison, which runs the model twice."
)
@options.LANG
@options.AS_JSON
@click.pass_context
def report(  # noqa: PLR0913  (one parameter an option)
    context: click.Context,
    /,
    *,
    model: Path,
    output: str | None,
    socs: tuple[str, ...],
    targets: tuple[str, ...],
    factors: Path | None,
    no_compare: bool,
    lang: str,
    as_json: bool,
    **settings: Any,
) -> None:
    """Write one page about MODEL, an ONNX file or an offline model: all that atc-py finds out.

    It has the verdict and what to do first, both graphs, the error of each layer and the estimated
    time; it is one HTML file that needs nothing else. A model that does not compile gets a page,
    too, which shows why and where.

    Exit status: 0 done, 1 the model does not compile, 2 the command was called wrongly, 3 a file
    cannot be read or written, 4 one of the two did not run, or an output misses --fail-under.
    """
    from atc_py.compare.overview import OverviewOptions, overview_of
    from atc_py.compare.targets import read_targets
    from atc_py.options.output_paths import report_output
    from atc_py.pipeline.profile import fit_of

    options.refuse_compiling(context, model)
    path = report_output("--output", output or f"{model.stem}.report.html", [model])
    running = {name: settings.pop(name) for name in _RUNNING}
    chosen = OverviewOptions(
        socs=socs,
        compiling=settings,
        running=running,
        targets=read_targets(targets),
        fit=None if factors is None else fit_of(factors, socs),
        compares=not no_compare,
        given=_given(context),
    )
    with progress(quiet=False) as on_stage:
        done = overview_of(model, chosen, on_stage)
    _write(done, path, lang)
    context.exit(_close(done, path, as_json=as_json))


def _given(context: click.Context) -> dict[str, tuple[str, ...]]:
    """Return the options on the command line that concern the model, as they are spelled."""
    from click.core import ParameterSource

    left_out = {"model", "output", "lang", "no_compare", "max_memory", "as_json"}
    found = {}
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if name in left_out or source is not ParameterSource.COMMANDLINE:
            continue
        spelled = next(each for each in parameter.opts if each.startswith("--"))
        value = context.params.get(name)
        is_flag = isinstance(parameter, click.Option) and parameter.is_flag
        found[spelled] = () if is_flag else _texts(value)
    return found


def _texts(value: object) -> tuple[str, ...]:
    """Return an option's values as they are written on a command line."""
    if isinstance(value, dict):
        pairs = (
            (name, each if isinstance(each, tuple) else (each,)) for name, each in value.items()
        )
        return tuple(f"{name}={':'.join(map(str, each))}" for name, each in pairs)
    return tuple(map(str, value if isinstance(value, tuple) else (value,)))


def _write(done: Overview, path: Path, language: str) -> None:
    """Write the page."""
    from atc_py.report.overview.html_page import overview_html
    from atc_py.system.atomic_files import atomic_write

    data = overview_html(done, language).encode("utf-8")
    with atomic_write(path) as file:
        file.write(data)


def _close(done: Overview, path: Path, *, as_json: bool) -> int:
    """Print the verdict and where the page is; return the exit status."""
    from atc_py.check.findings import Standing
    from atc_py.diag import ExitCode
    from atc_py.diag.language import spoken_diagnostic
    from atc_py.report.escape import visible

    broken = done.check is not None and done.check.standing is Standing.ERROR
    refused = done.compiled is None and (broken or bool(done.refusals))
    found = (*done.refusals, *done.not_compared, *done.missed)
    verdict = "does not compile" if refused else "compiles"
    if as_json:
        findings = [spoken_diagnostic(each).as_json() for each in found]
        facts = {"model": str(done.model), "verdict": verdict, "report": str(path)}
        print_json({**facts, "diagnostics": findings})
    else:
        print_diagnostics(found, as_json=False)
        print_line(spoken(visible(f"{done.model.name}: {verdict}")))
        print_line(spoken(visible(f"report: {path}")))
    if refused:
        return int(ExitCode.MODEL)
    late = (*done.not_compared, *done.missed)
    return int(late[0].code.exit) if late else int(ExitCode.DONE)
