"""`atc-py kernels`: list a model's kernels, write them, and compare them with the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atc_py.cli import options
from atc_py.cli.console import print_diagnostics, print_json, print_line, print_tables, progress
from atc_py.cli.gear_options import named_gear
from atc_py.options.compile_options import CompileOptions
from atc_py.options.named_gear import NamedGear
from atc_py.options.output_paths import output_folder
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.package.reader import OfflineModel


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(), metavar="DIRECTORY",
    help="Folder for the kernels and the headers that let them run on the host.",
)  # fmt: skip
@click.option(
    "--verify", is_flag=True,
    help="Build the kernels with the machine's C++ compiler, run the complete ones on random "
    "inputs and compare with the simulator.",
)  # fmt: skip
@click.option(
    "--sanitize", is_flag=True,
    help="With --verify: stop at undefined behavior and at accesses out of bounds.",
)  # fmt: skip
@click.option(
    "--trust", is_flag=True,
    help="With --verify of an offline model: build and run the C++ that the file carries.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True,
    help="Seed of the random inputs.",
)  # fmt: skip
@options.options_of(
    CompileOptions, "soc", "precision_mode", "precision", "input_shape", "aipp", "op_specs",
    without=("semantics", "cann"),
)  # fmt: skip
@options.LIKE
@options.SUBMODEL
@named_gear
@options.MAX_MEMORY
@options.options_of(CompileOptions, "templates")
@options.report_option(("text", "json"))
@options.AS_JSON
@click.pass_context
def kernels(  # noqa: PLR0913  (one parameter an option)
    context: click.Context,
    /,
    *,
    model: Path,
    output: str | None,
    verify: bool,
    sanitize: bool,
    trust: bool,
    seed: int,
    like: Path | None,
    gear: NamedGear | None,
    form: str | None,
    as_json: bool,
    **compiling: Any,
) -> None:
    """List the kernels of MODEL, an offline model or an ONNX model to compile.

    Options for compilation are rejected for an offline model. If it has gears, the kernels are
    those of the chosen gear, by default of the largest.

    Exit status: 0 done, 1 the model breaks a rule, 2 the command was called wrongly, 3 a file
    cannot be read or written, 4 with --verify a kernel cannot be built, faults or computes other
    numbers than the simulator, or there is no C++ compiler.
    """
    from atc_py.compare.kernels.listing import check_trust, kernel_texts
    from atc_py.kernels.kernels import write_kernels
    from atc_py.pipeline.opened import opened_model

    form = options.report_format(form, as_json=as_json)
    for name, given in (("sanitize", sanitize), ("trust", trust)):
        if given and not verify:
            raise click.UsageError(Text("--{name} needs --verify: give that too", name=name))
    folder = output_folder("--output", output)
    options.refuse_compiling(context, model, "soc", "templates")
    if verify:
        check_trust(model, trusted=trust)
    with opened_model(model, gear, like, **compiling) as opened:
        if folder is not None:
            write_kernels(kernel_texts(opened), folder)
        if verify:
            _verify(context, opened, form, sanitize=sanitize, seed=seed)
        else:
            _list(opened, form)
        if form == "text":
            print_diagnostics(opened.findings, as_json=False)


def _list(opened: OfflineModel, form: str) -> None:
    from atc_py.compare.kernels.listing import read_kernels
    from atc_py.report.kernel_tables import kernel_tables, summary

    listed = read_kernels(opened)
    if form == "json":
        print_json(listed.as_json())
        return
    print_line(summary(listed))
    if listed.kernels:
        print_line("")
        print_tables(kernel_tables(listed))


def _verify(
    context: click.Context, opened: OfflineModel, form: str, *, sanitize: bool, seed: int
) -> None:
    from atc_py.compare.kernels.toolchain import find_compiler
    from atc_py.compare.kernels.verify import verify_kernels
    from atc_py.report.kernel_tables import (
        findings,
        verified_json,
        verified_summary,
        verified_tables,
    )

    compiler = find_compiler(sanitize=sanitize)
    with progress(quiet=form == "json") as on_stage:
        checked = verify_kernels(
            opened,
            compiler,
            seed,
            lambda done, total: on_stage(Text("{done} of {total} kernels", done=done, total=total)),
        )
    found = findings(checked)
    if form == "json":
        print_json(verified_json(checked, found))
    else:
        print_tables(verified_tables(checked))
        print_line(verified_summary(checked))
        print_diagnostics(found, as_json=False)
    if found:
        context.exit(found[0].code.exit)
