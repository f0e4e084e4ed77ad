"""`atc-py compare`: compare a compiled model with its original, layer by layer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import atc_py
from atc_py.cli import comparing_options, options
from atc_py.cli.console import (
    deliver,
    print_blocks,
    print_diagnostics,
    print_report,
    progress,
    say,
)
from atc_py.cli.gear_options import compared_gears
from atc_py.cli.help_text import AliasedOption
from atc_py.diag import Diagnostic, ExitCode
from atc_py.options.compile_options import CompileOptions
from atc_py.options.gears import Gears
from atc_py.options.option import keywords_of
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.compare.gears import GearComparisons
    from atc_py.results.compiled_model import CompiledModel
    from atc_py.results.layer_comparison import LayerComparison

# Written out because the defining modules take long to import; a test compares them.
_FORMATS = ("text", "json", "csv", "html")
_OF_GEARS = ("text", "json", "html")
_SEARCHING = ("suggest_trials", "suggest_samples", "jobs")


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@comparing_options.what_runs
@options.options_of(
    CompileOptions, "soc", "precision_mode", "precision", "semantics", "cann", "fix", "input_shape",
    "aipp",
)  # fmt: skip
@comparing_options.AIPP_SETTINGS
@click.option(
    "--input-format", "--input_format", cls=AliasedOption, type=click.Choice(["NCHW", "NHWC"]), default="NCHW",
    show_default=True, help="Layout of the inputs, for AIPP.",
)  # fmt: skip
@click.option(
    "--board-dump", type=click.Path(path_type=Path), metavar="DIR",
    help="Also compare with dumps of a board that ran MODEL on the same data: the folder that "
    "dump_path named.",
)  # fmt: skip
@options.BOARD_JSON
@compared_gears
@options.options_of(CompileOptions, "op_specs")
@options.SUBMODEL
@options.MAX_MEMORY
@options.report_option(_FORMATS, "csv has the columns of Ascend's msit first")
@click.option("-o", "--output", type=click.Path(), help="File for the report.")
@comparing_options.comparing_targets
@options.REPORT_AS_JSON
@click.option("-v", "--verbose", is_flag=True, help="List every layer, not only the worst.")
@click.pass_context
def compare(  # noqa: PLR0913  (one parameter an option)
    context: click.Context,
    /,
    *,
    model: Path,
    input_shape: str,
    gears: Gears | None,
    form: str | None,
    output: str | None,
    targets: tuple[str, ...],
    suggest: str | None,
    as_json: bool,
    verbose: bool,
    **settings: Any,
) -> None:
    """Compile MODEL, an ONNX file, and compare each layer with the original.

    MODEL may be an .om of Huawei's own atc; --reference is then the ONNX file that it was compiled
    from. With lists of gears, each gear is compared on the samples that fit its shapes. With --aipp
    a folder of samples may hold pictures. The original runs unchanged, in onnxruntime or onnx's
    evaluator. A layer of floats or of quantized codes fails if its relative distance is over 0.05
    or if values become NaN or infinite; a layer of other integers fails if over 1 % of the values
    differ. An error is introduced at a layer if it is more than twice the largest error among the
    layer's inputs; errors of the original itself are taken out and reported.

    Exit status: 0 done, 1 the model breaks a rule, 2 the command was called wrongly, 3 a file
    cannot be read or written, 4 one of the two did not run, an output misses --fail-under, or
    --suggest found no nodes that reach the target.
    """
    from atc_py.compare.targets import read_targets

    options.refuse_compiling(context, model, *keywords_of(CompileOptions))
    form, least = options.report_format(form, as_json=as_json), read_targets(targets)
    path, keep = comparing_options.report_and_suggestion(model, output, suggest)
    board = settings.pop("board_dump"), settings.pop("board_json")
    if board[0] is not None:
        refused = gears is not None or keep is not None
        shown = {"form": form, "path": path, "as_json": as_json, "verbose": verbose}
        context.exit(_board_status(model, board, settings, input_shape, shown, refused=refused))
    if gears is not None:
        context.exit(_compare_each_gear(model, gears, (form, path), least, keep, settings))
    compiled: list[CompiledModel] | None = [] if form == "html" else None
    with progress(quiet=form == "json", lines=keep is not None) as on_stage:
        done = atc_py.compare_model(
            model, input_shape=input_shape, targets=least, suggest=None if keep is None else least,
            histograms=form == "html", compiled=compiled, on_stage=on_stage, **settings,
        )  # fmt: skip
    page = form, path
    context.exit(_shown(done, page, (least, keep), compiled, as_json=as_json, verbose=verbose))


def _shown(
    done: LayerComparison,
    page: tuple[str, Path | None],
    wanted: tuple[dict[str, float], Path | None],
    compiled: list[CompiledModel] | None,
    *,
    as_json: bool,
    verbose: bool,
) -> int:
    """Write and print what was found; return the exit status.

    `page` is form and file of the report, `wanted` the targets and the file of the suggestion.
    """
    from atc_py.compare.targets import missed_by_all, missed_targets
    from atc_py.report.layers.text import layer_blocks, layer_lines

    (form, path), (least, keep) = page, wanted
    written = comparing_options.suggestion_line(done, keep)
    missed = [*missed_targets(done, least), *missed_by_all(done)]
    lines = layer_lines(done)
    deliver(
        form, path, partial(_page, form, done, missed, compiled), as_json=as_json,
        whole=lambda: print_blocks(layer_blocks(done, whole=verbose)),
        brief=lambda: print_blocks(lines[: lines.index("")]),
    )  # fmt: skip
    if not as_json:
        print_blocks([written] if written and (form == "text" or path is not None) else [])
        print_diagnostics((*done.warnings, *missed), as_json=False)
    return missed[0].code.exit if missed else ExitCode.DONE


def _board_status(
    model: Path,
    board: tuple[Path, Path | None],
    settings: dict[str, Any],
    input_shape: str,
    shown: dict[str, Any],
    *,
    refused: bool,
) -> int:
    """Compare with dumps of a board, and return the exit status."""
    from atc_py.cli.board_comparing import compare_dump

    if refused or shown["form"] == "csv":
        raise click.UsageError("--board-dump takes no gears, no --suggest and no csv")
    return compare_dump(model, board, {**settings, "input_shape": input_shape}, shown)


def _page(
    form: str,
    done: LayerComparison,
    findings: Iterable[Diagnostic],
    compiled: list[CompiledModel] | None,
) -> str:
    from atc_py.pipeline.onnx_facts import compiled_file_graph
    from atc_py.report.layers.formats import render_layers

    own = compiled[0] if compiled else None
    file_graph = None if own is None else compiled_file_graph(done.model, own)
    return render_layers(form, done, findings, file_graph, own)


def _compare_each_gear(
    model: Path,
    gears: Gears,
    report: tuple[str, Path | None],
    least: Mapping[str, float],
    keep: Path | None,
    settings: Mapping[str, Any],
) -> int:
    """Compare a model for each gear; print or write one report, and return the exit status.

    `report` is its form and file, `settings` are those of `compare_model`. A suggestion, `keep`, is
    refused.
    """
    from atc_py.compare.gears import compare_gears
    from atc_py.compare.targets import missed_targets

    form, path = report
    if form not in _OF_GEARS or keep is not None:
        raise click.UsageError(
            "gears are compared only as --format text, json or html and without --suggest; for "
            "anything else give one gear's dims with --input-shape"
        )
    chosen = {name: each for name, each in settings.items() if name not in _SEARCHING}
    pages = {"histograms": True, "keeps_compiled": True} if form == "html" else {}
    with progress(quiet=form == "json") as on_stage:
        done = compare_gears(model, gears, on_stage, targets=least, **pages, **chosen)
    findings = [
        each.not_compared if each.done is None else tuple(missed_targets(each.done, least))
        for each in done.gears
    ]
    _report_gears(_rendered_gears(form, model, done, findings), form, path, done)
    every = [found for own in (*findings, done.left_out) for found in own]
    if form != "json":
        print_diagnostics(every, as_json=False)
    return max((found.code.exit for found in every), default=ExitCode.DONE)


def _report_gears(text: str, form: str, path: Path | None, done: GearComparisons) -> None:
    from atc_py.report.layers.formats import gear_title
    from atc_py.system.atomic_files import write_files

    if path is not None:
        write_files({path: text})
    if path is None or form == "json":
        print_report(text, form)
    elif form == "html":
        print_blocks(map(gear_title, done.gears))
        say(Text("report: {path}", path=path))


def _rendered_gears(
    form: str, model: Path, done: GearComparisons, findings: list[tuple[Diagnostic, ...]]
) -> str:
    from atc_py.report.layers.formats import gears_document, gears_html, gears_text

    if form == "text":
        return gears_text(done.gears)
    if form == "json":
        return gears_document(done.gears, findings, done.left_out)
    return gears_html(model, done.gears, findings, done.left_out)
