"""`atc-py exec`: run a program with its onnxruntime sessions on the simulated NPU."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from atc_py.cli import options
from atc_py.cli.console import print_error, print_tables
from atc_py.diag import BAD_OPTION, Severity
from atc_py.options.compile_options import CompileOptions
from atc_py.options.output_paths import output_file
from atc_py.report.tables import clipped
from atc_py.text import Text
from atc_py.text.language import spoken

if TYPE_CHECKING:
    from atc_py.adapters.exec.launch import Notice
    from atc_py.results.program_run import ProgramRun


_SUFFIXES = (".json", ".html")


@click.command("exec", context_settings={"allow_interspersed_args": False})
@click.argument("command", metavar="-- PROGRAM...", nargs=-1, type=click.UNPROCESSED)
@options.options_of(
    CompileOptions, "soc", "precision_mode", "precision", "semantics", "cann", "fix", "disable_pass",
    "op_specs",
)  # fmt: skip
@click.option("--device", default="sim", show_default=True, help="Back end that sessions run on.")
@click.option(
    "--keep", type=click.IntRange(min=1), metavar="N",
    help="Sets of shapes that each session keeps compiled; 4 by default.",
)  # fmt: skip
@click.option(
    "--strict", is_flag=True,
    help="End the program where a model cannot be compiled, instead of running it in onnxruntime.",
)  # fmt: skip
@click.option("--shadow", is_flag=True, help="Run each model in onnxruntime, too, and compare.")
@click.option(
    "--shadow-return", type=click.Choice(["npu", "onnxruntime"]), default="npu", show_default=True,
    help="With --shadow: the side whose results the program gets.",
)  # fmt: skip
@click.option(
    "--report", "reports", multiple=True, type=click.Path(), metavar="FILE.json|FILE.html",
    help="File for the report; may be repeated.",
)  # fmt: skip
@click.option(
    "--max-memory", metavar="SIZE",
    help="Refuse compilations and runs that need more memory than this, such as 4G; by default "
    "three quarters of what is available to each process.",
)  # fmt: skip
@click.pass_context
def program(  # noqa: PLR0913  (one parameter an option)
    context: click.Context,
    /,
    *,
    command: tuple[str, ...],
    device: str,
    keep: int | None,
    strict: bool,
    shadow: bool,
    shadow_return: str,
    reports: tuple[str, ...],
    max_memory: str | None,
    **compiling: Any,
) -> None:
    """Run PROGRAM with every onnxruntime session in it and its children on the simulated NPU.

    The program is not changed: `atc-py exec -- python evaluate.py data`. Models that cannot be
    compiled run in onnxruntime. Tables on standard error show at the end which model ran where.

    Exit status: that of PROGRAM, 128 + N if signal N ended it; with --strict, that of `convert` for
    a model that cannot be compiled. Before PROGRAM starts: 2 the command was called wrongly, 3 a
    file cannot be read or written.
    """
    if not command:
        raise click.UsageError("Missing argument 'PROGRAM', such as `-- python evaluate.py`.")

    given = context.get_parameter_source("shadow_return") is ParameterSource.COMMANDLINE
    if given and not shadow:
        raise click.UsageError("--shadow-return has no effect without --shadow")
    paths = _report_files(reports)
    from atc_py.adapters.exec.run import require_sense, run_program

    require_sense(compiling, device=device, max_memory=max_memory)

    session = _session({**compiling, "device": device, "keep": keep})
    done = run_program(
        command,
        session,
        _say,
        strict=strict,
        shadow=shadow,
        returned=shadow_return if shadow else "",
        max_memory=max_memory,
    )
    _write(done, paths)
    _print(done)
    context.exit(done.status)


def _report_files(given: Sequence[str]) -> list[Path]:
    paths = [output_file(each, [], "--report") for each in given]
    for path in paths:
        if path.suffix.lower() not in _SUFFIXES:
            raise BAD_OPTION.error(
                Text(
                    "--report {path}: the suffix chooses the format, and {suffix} is not one",
                    path=path,
                    suffix=repr(path.suffix),
                ),
                help=Text("use {suffixes}", suffixes=Text(" or ").join(_SUFFIXES)),
            )
    if len({path.absolute() for path in paths}) < len(paths):
        raise BAD_OPTION.error(
            Text("--report names the same file twice"), help=Text("give each its own file")
        )
    return [path.absolute() for path in paths]


def _session(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of each session: paths do not depend on the program's folder."""
    return {
        name: os.path.abspath(value) if isinstance(value, Path) else value  # noqa: PTH100
        for name, value in keywords.items()
        if value is not None or name not in {"op_specs", "keep"}
    }


def _say(notice: Notice) -> None:
    from atc_py.report.diagnostics import level_text
    from atc_py.report.exec.tables import finding_text

    finding = notice.finding
    if notice.status is None:
        level = level_text(Severity(finding["severity"]))
        print_error(clipped(f"atc-py: {level}[{finding['code']}]: {spoken(finding['message'])}"))
        return
    for each in notice.more:
        print_error(finding_text(each))
    print_error(
        clipped(
            spoken(Text("atc-py: --strict ends the program: {finding}", finding=finding["message"]))
        )
    )


def _write(done: ProgramRun, paths: Sequence[Path]) -> None:
    if not paths:
        return
    from atc_py.report.exec.tables import program_html, program_json
    from atc_py.system.atomic_files import write_files

    forms = {".html": program_html, ".json": program_json}
    write_files({path: forms[path.suffix.lower()](done) for path in paths})


def _print(done: ProgramRun) -> None:
    """Print tables and findings to standard error; standard output is the program's."""
    from atc_py.report.exec.tables import finding_text, program_tables

    print_tables(program_tables(done), err=True)
    for each in done.diagnostics:
        print_error(finding_text(each))
