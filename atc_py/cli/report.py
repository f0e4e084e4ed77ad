"""`atc-py report`: one page that shows a whole model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from atc_py.cli import comparing_options, options
from atc_py.cli.config_file import is_inverse
from atc_py.cli.console import print_blocks, print_diagnostics, print_json, progress, say
from atc_py.cli.gear_options import GEAR_NAMES, reported_gears
from atc_py.cli.help_text import AliasedOption
from atc_py.diag import ExitCode
from atc_py.options.command_options import NOT_REPORTED
from atc_py.options.compile_options import CompileOptions
from atc_py.options.option import keywords_of
from atc_py.system.atomic_files import write_files
from atc_py.text import Text
from atc_py.text.language import language

if TYPE_CHECKING:
    from atc_py.results.summary import ModelSummary

_FILE = click.Path(path_type=Path)
_RUNNING = (
    "inputs",
    "samples",
    "seed",
    "device",
    "reference",
    "aipp_settings",
    "suggest_trials",
    "suggest_samples",
    "jobs",
)
_NO = {"0", "false"}
"""Values of options that switch something off."""


@click.command()
@click.argument("model", type=_FILE)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    help="The page; by default NAME.report.html in the current folder.",
)
@click.option(
    "--soc", "--soc_version", "socs", cls=AliasedOption, old=["--soc-version"], multiple=True,
    metavar="NAME,...", callback=options.comma_separated,
    help="SoCs to compile for, side by side; may be repeated. Layers are compared on the first one. By "
    "default `sim`, or the SoC that an offline model is compiled for.",
)  # fmt: skip
@reported_gears
@options.options_of(
    CompileOptions, "precision_mode", "precision", "semantics", "cann", ..., "templates", "op_specs",
    without={"soc", *NOT_REPORTED}, after={"dims": GEAR_NAMES},
)  # fmt: skip
@options.MAX_MEMORY
@comparing_options.what_runs
@comparing_options.AIPP_SETTINGS
@comparing_options.comparing_targets
@click.option(
    "--no-compare", is_flag=True, help="Leave out the comparison, which runs the model twice."
)
@options.LIKE
@options.SUBMODEL
@options.CALIBRATE
@options.FACTORS
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
    suggest: str | None,
    calibrate: tuple[Path, ...],
    factors: Path | None,
    no_compare: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Write one page about MODEL, an ONNX file or offline model, with all that atc-py finds out.

    The page shows the verdict and what to do first, both graphs, the error of each layer and the
    estimated time; it is a single HTML file that needs no others. A model that does not compile
    gets a page, too, which shows why and where. With lists of gears the page covers every gear, and
    a line is printed for each.

    Exit status: 0 done, 1 the model does not compile, 2 the command was called wrongly, 3 a file
    cannot be read or written, 4 one of the two did not run, an output misses --fail-under, or
    --suggest found no nodes that reach the target.
    """
    from atc_py.compare.summary import SummaryOptions, summaries_of
    from atc_py.compare.targets import read_targets
    from atc_py.pipeline.profile import fitted_factors

    options.refuse_compiling(context, model, *keywords_of(CompileOptions) - {"dims"})
    page, keep = _files(model, output, suggest)
    _refuse_together(settings, calibrate, factors, suggest, no_compare=no_compare)
    running = {name: settings.pop(name) for name in _RUNNING}
    least, (fit, calibration) = read_targets(targets), fitted_factors(factors, calibrate, socs)
    chosen = SummaryOptions(
        socs=socs,
        **{name: settings.pop(name) for name in ("gears", "gear", "like", "submodel")},
        compiling=settings,
        running={**running, "suggest": None if keep is None else least},
        targets=least,
        fit=fit,
        calibration=calibration,
        compares=not no_compare,
        given=_given(context),
    )
    with progress(quiet=False) as on_stage:
        found = summaries_of(model, chosen, on_stage)
    context.exit(_close(found, page, _written(found, page, keep), as_json=as_json))


def _files(model: Path, output: str | None, suggest: str | None) -> tuple[Path, Path | None]:
    name = output or f"{model.stem}.report.html"
    _, keep = comparing_options.report_and_suggestion(model, name, suggest)
    return Path(name), keep


def _refuse_together(
    settings: dict[str, Any],
    calibrate: tuple[Path, ...],
    factors: Path | None,
    suggest: str | None,
    *,
    no_compare: bool,
) -> None:
    if factors is not None and calibrate:
        raise click.UsageError("--factors and --calibrate exclude each other: give one of them")
    if suggest is not None and no_compare:
        raise click.UsageError("--suggest needs the comparison: leave --no-compare out")
    if suggest is not None and settings["gears"] is not None:
        raise click.UsageError("--suggest is for one shape: give a gear's dims with --input-shape")


def _given(context: click.Context) -> dict[str, tuple[str, ...]]:
    """The options on the command line that concern the model, as they are spelled."""
    left_out = {"model", "output", "no_compare", "max_memory", "as_json", "suggest"}
    found: dict[str, tuple[str, ...]] = {}
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if (
            name in left_out
            or not parameter.expose_value
            or source is not ParameterSource.COMMANDLINE
        ):
            continue
        spelled = next(each for each in parameter.opts if each.startswith("--"))
        value = context.params.get(name)
        if isinstance(parameter, click.Option) and parameter.is_flag:
            found[spelled if value or is_inverse(parameter) else parameter.secondary_opts[0]] = ()
        elif isinstance(value, bool) and isinstance(parameter.type, click.Choice):
            chosen = [each for each in parameter.type.choices if (each not in _NO) is value]
            found[spelled] = tuple(chosen[:1])
        else:
            found[spelled] = _texts(value)
    return found


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, dict):
        pairs = (
            (name, each if isinstance(each, tuple) else (each,)) for name, each in value.items()
        )
        return tuple(f"{name}={':'.join(map(str, each))}" for name, each in pairs)
    return tuple(map(str, value if isinstance(value, tuple) else (value,)))


def _written(found: Sequence[ModelSummary], page: Path, keep: Path | None) -> list[str]:
    """Write the page, and the suggestions; lines about these."""
    from atc_py.report.page.html_page import summaries_html

    write_files({page: summaries_html(found, language())})
    compared = [each.comparison for each in found if each.comparison is not None]
    lines = [comparing_options.suggestion_line(each, keep) for each in compared]
    return [line for line in lines if line]


def _close(
    found: Sequence[ModelSummary], path: Path, lines: Sequence[str], *, as_json: bool
) -> int:
    from atc_py.report.page.verdict import is_refused, outputs_word, verdict_line

    findings = [
        finding
        for each in found
        for finding in (*each.notes, *each.refusals, *each.not_compared, *each.missed)
    ]
    if as_json:
        first = found[0]
        verdicts = ["does not compile" if is_refused(each) else "compiles" for each in found]
        facts: dict[str, object] = {
            "model": str(first.model),
            "verdict": "compiles" if {*verdicts} == {"compiles"} else "does not compile",
            "outputs": outputs_word(found),
            "gears": [
                {"gear": each.gear, "verdict": verdict, "outputs": outputs_word([each])}
                for each, verdict in zip(found, verdicts, strict=True)
                if each.gear
            ],
            "report": str(path),
        }
        print_json(
            {**facts, "diagnostics": [each.in_language(language()).as_json() for each in findings]}
        )
    else:
        print_diagnostics(findings, as_json=False)
        say(*map(verdict_line, found))
        print_blocks(lines)
        say(Text("report: {path}", path=path))
    if any(map(is_refused, found)):
        return int(ExitCode.MODEL)
    late = any(each.not_compared or each.missed for each in found)
    return int(ExitCode.DEVICE if late else ExitCode.DONE)
