"""`atc-py check`: check models against the operator specifications."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atc_py.cli import options
from atc_py.cli.console import print_blocks, print_bytes, progress, say
from atc_py.cli.help_text import AliasedOption
from atc_py.diag import BAD_OPTION
from atc_py.options.compile_options import CheckOptions
from atc_py.options.output_paths import output_file
from atc_py.system.cache_folders import same_path
from atc_py.system.process import import_onnx_parts
from atc_py.text import Text
from atc_py.text.language import language

if TYPE_CHECKING:
    from atc_py.check.findings import CheckReport, Standing
    from atc_py.onnx_graph.source import FileGraph
    from atc_py.report.check.document import CheckDocument

# Written out because the defining modules take long to import; a test compares them.
_FORMATS = ("text", "json", "sarif", "junit", "html", "csv")
_LEVELS = ("error", "unknown", "parser", "list", "rewrite", "aicpu", "accuracy")


@click.command()
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, type=click.Path())
@options.options_of(
    CheckOptions, "precision_mode", "precision", "soc", "input_shape", without=("semantics", "cann")
)
@options.report_option(_FORMATS)
@click.option("-o", "--output", type=click.Path(), help="File for the report.")
@click.option(
    "--fail-on",
    type=click.Choice(_LEVELS),
    default="error",
    show_default=True,
    help="Exit with 1 on findings of this level or a worse one.",
)
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="JSON report of an earlier check; only findings that are not in it fail.",
)
@click.option(
    "--check-report",
    "--check_report",
    cls=AliasedOption,
    type=click.Path(),
    metavar="FILE",
    help="File for the results in the structure of ATC's pre-check report.",
)
@options.options_of(CheckOptions, "op_specs", "cann")
@options.MAX_MEMORY
@options.LANG
@click.option(
    "-v", "--verbose", is_flag=True, help="Name every node, including those of known findings."
)
@options.REPORT_AS_JSON
@click.pass_context
def check(  # noqa: PLR0913  (one parameter an option)
    context: click.Context,
    /,
    *,
    models: tuple[str, ...],
    form: str | None,
    output: str | None,
    fail_on: str,
    baseline: Path | None,
    check_report: str | None,
    verbose: bool,
    as_json: bool,
    **checking: Any,
) -> None:
    """Check whether MODELs, ONNX files, can be compiled, and if not, report why.

    A folder stands for the .onnx files in it and below, a quoted pattern such as "nets/**/*.onnx"
    for the files that match. With several models a summary comes last; many models are checked in
    parallel processes.

    Exit status: 0 done, 1 a model has findings of the level of --fail-on or worse, 2 the command
    was called wrongly, 3 a file cannot be read or written; with several models, the worst.
    """
    import_onnx_parts()
    from atc_py.check.findings import Standing
    from atc_py.options.model_paths import model_paths
    from atc_py.report.check.baseline import read_baseline
    from atc_py.report.check.formats import exit_status
    from atc_py.report.check.json_document import check_document
    from atc_py.report.check.text import check_blocks, verdict_lines

    form = options.report_format(form, as_json=as_json)
    paths = model_paths(models)
    files = _files(output, check_report, paths)
    known = None if baseline is None else read_baseline(baseline)
    found, file_graphs = _checked(paths, checking, with_graphs=form == "html")
    document = check_document(found, language(), known)
    limit = Standing(fail_on)
    rendered = partial(_rendered, form, document, limit, found, file_graphs)
    _write(document, files, partial(rendered, verbose=verbose))
    if "--output" in files and not as_json:
        print_blocks(verdict_lines(document))
        say(Text("report: {path}", path=files["--output"]))
    elif form == "text":
        print_blocks(check_blocks(document, verbose=verbose))
    else:
        print_bytes(rendered().encode("utf-8"))
    context.exit(exit_status(document, limit))


def _checked(
    models: list[Path], given: dict[str, Any], *, with_graphs: bool
) -> tuple[CheckReport, dict[str, FileGraph] | None]:
    from atc_py import api

    file_graphs: dict[str, FileGraph] | None = {} if with_graphs else None
    with progress(quiet=False) as on_stage:
        found = api.check_models(
            models, processes=None, on_stage=on_stage, outlines=file_graphs, **given
        )
    return found, file_graphs


def _files(output: str | None, check_report: str | None, models: list[Path]) -> dict[str, Path]:
    given = {"--output": output, "--check-report": check_report}
    files = {
        option: output_file(name, models, option)
        for option, name in given.items()
        if name is not None
    }
    if len(files) > 1 and same_path(*files.values()):
        raise BAD_OPTION.error(
            Text("--output and --check-report name the same file"),
            help=Text("give each its own file"),
        )
    return files


def _rendered(
    form: str,
    document: CheckDocument,
    limit: Standing,
    found: CheckReport,
    file_graphs: Mapping[str, FileGraph] | None,
    *,
    verbose: bool = False,
) -> str:
    if form == "html":
        from atc_py.report.page.html_page import check_html

        return check_html(document, found, file_graphs)
    from atc_py.report.check.formats import render_check

    return render_check(form, document, limit, verbose=verbose)


def _write(document: CheckDocument, files: dict[str, Path], rendered: Callable[[], str]) -> None:
    from atc_py.report.check.atc_lines import check_atc
    from atc_py.system.atomic_files import write_files

    texts: dict[str, Callable[[], str]] = {"--output": rendered}
    texts["--check-report"] = partial(check_atc, document)
    write_files({path: texts[option]() for option, path in files.items()})
