"""`atc-py board compare`: what came back from a board beside the simulator and the original."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atc_py.cli import options
from atc_py.cli.console import deliver, print_diagnostics, print_tables, progress, say
from atc_py.diag import Diagnostic, ExitCode
from atc_py.options.output_paths import output_file
from atc_py.report.tables import Table, plain_lines
from atc_py.system.json_text import format_json
from atc_py.system.structs import replace
from atc_py.text import Text
from atc_py.text.language import language

if TYPE_CHECKING:
    from atc_py.results.board import BoardReport
    from atc_py.results.summary import ModelSummary

_FORMATS = ("text", "json", "html")
_FILE = click.Path(path_type=Path)


@click.command("compare")
@click.argument("kit", type=_FILE)
@click.argument("results", type=_FILE)
@click.option(
    "--variant", "variants", multiple=True, metavar="NAME,...", callback=options.comma_separated,
    help="Variants of the kit to compare, all by default; may be repeated.",
)  # fmt: skip
@click.option(
    "--sample", "samples", multiple=True, metavar="NAME,...", callback=options.comma_separated,
    help="Runs of the kit to compare, all by default; may be repeated.",
)  # fmt: skip
@click.option(
    "--save-factors", type=click.Path(), metavar="FILE",
    help="Save factors fitted to the measured kernels, for --factors.",
)  # fmt: skip
@options.MAX_MEMORY
@options.report_option(_FORMATS, "html is a page of all tables")
@click.option("-o", "--output", type=click.Path(), help="File for the report.")
@options.REPORT_AS_JSON
@click.option("-v", "--verbose", is_flag=True, help="List every layer, node and kernel.")
@click.pass_context
def compare_board(  # noqa: PLR0913  (one parameter an option)
    context: click.Context,
    /,
    *,
    kit: Path,
    results: Path,
    variants: tuple[str, ...],
    samples: tuple[str, ...],
    save_factors: str | None,
    form: str | None,
    output: str | None,
    as_json: bool,
    verbose: bool,
) -> None:
    """Compare RESULTS, which `run_on_board.py` packed, with the expectations in KIT.

    For each output and layer, the board, the simulator and the original are compared side by side.
    The report shows the first layer where only the board differs, apart from errors that the
    simulator has too; what became of each node; launches that differ; measured times of kernels
    beside their estimates; and whether results and kit match.

    Exit status: 0 done, 2 the command was called wrongly, 3 a file cannot be read or written, 4 a run
    failed, or the board differs.
    """
    from atc_py.adapters.board.comparing import BoardRequest, compare_kit
    from atc_py.cost.calibration import save_fit

    form = options.report_format(form, as_json=as_json)
    path = None if output is None else output_file(output, [kit, results], "--output")
    kept = (
        None
        if save_factors is None
        else output_file(save_factors, [kit, results], "--save-factors")
    )
    with progress(quiet=form == "json") as on_stage:
        done = compare_kit(kit, results, BoardRequest(variants, samples), on_stage)
    if kept is not None and done.factors is not None:
        save_fit(kept, done.factors)
    show_board(done.report, done.models, form, path, as_json=as_json, verbose=verbose)
    if kept is not None and not as_json:
        text = Text("factors: {path}", path=kept)
        say(text if done.factors is not None else Text("no factors: too few kernels were measured"))
    context.exit(board_status(done.report))


def compare_dump(
    model: Path, board: tuple[Path, Path | None], settings: dict[str, Any], shown: dict[str, Any]
) -> int:
    """Compare dumps alone, show what was found, and return the exit status.

    `board` is a folder of dumps, and the JSON of the model that ran; `shown` is for `show_board`.
    """
    from atc_py.compare.board.run import BoardFiles, compare_run
    from atc_py.compare.model import compiling
    from atc_py.results.board import BoardReport

    take = settings.pop
    data = take("inputs"), take("aipp_settings")
    draws = take("samples"), take("seed")
    files = model, take("reference"), take("submodel")
    named = take("soc"), take("input_shape"), take("op_specs")
    device = take("device")
    settings.pop("suggest_trials")
    compilation = compiling(files, settings, named)
    with progress(quiet=shown["form"] == "json") as on_stage:
        came = BoardFiles(dumps=board[0], om_json=board[1])
        done = compare_run(compilation, came, data, draws, on_stage, device)
    soc = done.comparison.simulator.soc
    report = BoardReport("", str(board[0]), soc, "", (done.comparison,))
    show_board(report, (done.model,), **shown)
    return board_status(report)


def board_status(report: BoardReport) -> int:
    """The exit status: 4 where the board differs or results do not belong together."""
    serious = {"ATC7080", "ATC7083"}
    found = any(each.code.id in serious for each in report.all_findings)
    return ExitCode.DEVICE if found else ExitCode.DONE


def show_board(
    report: BoardReport,
    models: Sequence[ModelSummary],
    form: str,
    path: Path | None,
    *,
    as_json: bool,
    verbose: bool,
) -> None:
    """Print the report, or write it to `path`; a page shows the models of all runs whole."""
    from atc_py.report.board.tables import board_tables

    tables = list(board_tables(report, whole=verbose))

    def show(count: int | None) -> None:
        print_tables(tables[:count])
        print_diagnostics(report.all_findings, as_json=False)

    deliver(
        form, path, partial(_rendered, report, models, form, tables), as_json=as_json,
        whole=lambda: show(None), brief=lambda: show(1),
    )  # fmt: skip


def _rendered(
    report: BoardReport, models: Sequence[ModelSummary], form: str, tables: Sequence[Table]
) -> str:
    from atc_py.report.page.html_page import summaries_html

    if form == "json":
        return format_json(report.as_json())
    if form == "html":
        return summaries_html(
            [_with_findings(each, report.findings) for each in models], language()
        )
    return "\n".join("\n".join([*plain_lines(table), ""]) for table in tables)


def _with_findings(model: ModelSummary, findings: Sequence[Diagnostic]) -> ModelSummary:
    """The model of a run with the findings of the whole before its own."""
    board = model.board
    if board is None:
        return model
    return replace(model, board=replace(board, findings=(*findings, *board.findings)))
