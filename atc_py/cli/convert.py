"""`atc-py convert`: compile an ONNX model to an offline model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from atc_py.cli import options
from atc_py.cli.console import print_error, print_json, print_line, print_tables, progress
from atc_py.config import PrecisionMode

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from atc_py.api import PrecisionChoice

__all__ = ["convert"]

_FOLDER = click.Path(file_okay=False)


def _list_passes(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    """Print the passes and stop."""
    if not wanted:
        return
    from atc_py.passes.manager import PIPELINE
    from atc_py.report.tables import Table

    rows = [
        (
            row.name,
            "optional" if row.optional else "required",
            row.summary + "".join(f" {name}." for name in row.atc_names),
        )
        for row in PIPELINE
    ]
    head = ("name", "", "what it does, and ATC's name")
    print_tables([Table("Passes, in order", head, tuple(rows))])
    context.exit()


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(), help="Offline model to write.")
@options.SOC
@options.precision_mode(PrecisionMode, default=None)
@options.precision_controls
@options.INPUT_SHAPE
@click.option("--kernels", type=_FOLDER, help="Folder for a copy of the kernel stubs.")
@click.option("--dump-ir", type=_FOLDER, help="Folder for the graph's text after each stage.")
@click.option("--disable-pass", multiple=True, metavar="NAME", help="Leave out an optional pass.")
@options.OP_SPECS
@click.option("--verify", is_flag=True, help="Check the graph after every pass.")
@click.option(
    "--passes", is_flag=True, is_eager=True, expose_value=False, callback=_list_passes,
    help="List the passes and stop.",
)  # fmt: skip
@options.AS_JSON
@click.pass_context
def convert(  # noqa: PLR0913  (one parameter an option)
    context: click.Context,
    *,
    model: Path,
    output: str | None,
    soc: str,
    input_shape: str,
    kernels: str | None,
    dump_ir: str | None,
    disable_pass: tuple[str, ...],
    op_specs: Path | None,
    verify: bool,
    as_json: bool,
    **precision: Unpack[PrecisionChoice],
) -> None:
    """Compile MODEL, an ONNX file, to an offline model."""
    import atc_py
    from atc_py.check.refusal import RulesBrokenError
    from atc_py.report.conversion import conversion_tables
    from atc_py.report.conversion_check import found_lines
    from atc_py.report.diagnostics import diagnostic_text

    try:
        with progress(quiet=as_json) as on_stage:
            done = atc_py.convert(
                model,
                output,
                soc=soc,
                input_shape=input_shape,
                disable_pass=disable_pass,
                dump_ir=dump_ir,
                kernels=kernels,
                verify=verify,
                op_specs=op_specs,
                on_stage=on_stage,
                **precision,
            )
    except RulesBrokenError as error:
        if as_json:
            raise
        for line in found_lines(error.check, error.missing):
            print_error(line)
        context.exit(error.exit_code)
    if as_json:
        print_json(done.as_json())
        return
    lines = [*found_lines(done.check), *map(diagnostic_text, done.warnings)]
    for line in [*lines, ""] if lines else []:
        print_line(line)
    print_tables(conversion_tables(done))
