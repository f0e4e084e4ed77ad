"""`atc-py fix`: write a refused model in a form that the list takes."""

from pathlib import Path
from typing import Any

import click

from atc_py.cli import options
from atc_py.cli.console import print_blocks, print_bytes, print_json, print_tables, say
from atc_py.diag import BAD_OPTION
from atc_py.options.command_options import FixOptions
from atc_py.options.output_paths import output_file
from atc_py.results.fixing import Fixing
from atc_py.system.json_text import finite, format_json
from atc_py.text import Text

_FORMATS = ("text", "json", "html")
_VERBOSE = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Show every node, including those that are rewritten alike.",
)


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(),
    help="ONNX file to write; by default NAME.fixed.onnx in the folder of MODEL.",
)  # fmt: skip
@options.options_of(
    FixOptions, "rules", "dry_run", "seeds", "data", "simulate", "external_data", "keep_qdq",
    "precision_mode", "precision", "cann", "soc", "input_shape", "op_specs",
    without=("semantics",), after={"dry_run": _VERBOSE},
)  # fmt: skip
@options.MAX_MEMORY
@options.LANG
@options.report_option(_FORMATS, "with --report, that of the file, by default by its suffix")
@click.option("--report", type=click.Path(), metavar="FILE", help="File for the report.")
@options.AS_JSON
@click.pass_context
def fix(  # noqa: PLR0913  (one parameter an option)
    context: click.Context,
    /,
    *,
    model: Path,
    output: str | None,
    verbose: bool,
    form: str | None,
    report: str | None,
    as_json: bool,
    **fixing: Any,
) -> None:
    """Rewrite MODEL, an ONNX file, in an equivalent form that the operator list accepts.

    Exit status: 0 done, 1 findings are left that no rule removes, or the fixed model does not run
    on the target or has outputs that are not finite there, 2 the command was called wrongly, 3 a
    file cannot be read or written, 4 a rewrite differs from the original.
    """
    from atc_py import api

    path, form = _report_file(report, form, model, output, as_json=as_json)
    done = api.fix_model(model, output, **fixing)
    if path is not None:
        _write(done, path, form)
    if as_json or (form == "json" and path is None):
        print_json(done.as_json())
    elif form == "html" and path is None:
        from atc_py.report.fix.tables import fixing_html

        print_bytes(fixing_html(done).encode("utf-8"))
    else:
        _print(done, path, dry_run=fixing["dry_run"], verbose=verbose)
    context.exit(0 if done.is_sound else 1)


def _report_file(
    report: str | None, form: str | None, model: Path, output: str | None, *, as_json: bool
) -> tuple[Path | None, str]:
    if report is None:
        return None, options.report_format(form, as_json=as_json)
    path = output_file(report, [model], "--report")
    if output is not None and Path(output).absolute() == path.absolute():
        raise BAD_OPTION.error(
            Text("--output and --report both name {path}: they cannot be the same file", path=path)
        )
    suffix = path.suffix.removeprefix(".").lower()
    return path, form or (suffix if suffix in _FORMATS else "text")


def _write(done: Fixing, path: Path, form: str) -> None:
    from atc_py.report.fix.tables import fixing_html, fixing_text
    from atc_py.system.atomic_files import write_files

    if form == "html":
        text = fixing_html(done)
    else:
        text = format_json(finite(done.as_json())) if form == "json" else fixing_text(done)
    write_files({path: text})


def _print(done: Fixing, path: Path | None, *, dry_run: bool, verbose: bool) -> None:
    from atc_py.report.fix.diff_text import diff_lines
    from atc_py.report.fix.tables import fixing_tables, title_line

    print_blocks((title_line(done), ""))
    if dry_run:
        print_blocks(diff_lines(done, verbose=verbose))
    print_tables(fixing_tables(done))
    if path is not None:
        say(Text("report: {path}", path=path))
