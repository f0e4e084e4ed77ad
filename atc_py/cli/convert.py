"""`atc-py convert`: compile an ONNX model to an offline model."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atc_py.cli import options
from atc_py.cli.console import (
    print_blocks,
    print_json,
    print_refusal,
    print_tables,
    progress,
)
from atc_py.diag import AtcError
from atc_py.options.compile_options import CompileOptions
from atc_py.report.tables import Table
from atc_py.system.process import import_onnx_parts
from atc_py.text.language import spoken

if TYPE_CHECKING:
    from atc_py.passes.pipeline import PassRow
    from atc_py.results.conversion import Conversion


class Amount(Enum):
    """Amount of text that a command prints to standard output.

    Errors are printed in any case, and so is a JSON document that is asked for.
    """

    NOTHING = "nothing"
    SUMMARY = "summary"
    TABLES = "tables"


_VERBOSE = click.option(
    "-v", "--verbose", is_flag=True, help="Print every finding and the tables, not a summary."
)
_QUIET = click.option(
    "-q", "--quiet", is_flag=True, help="Print only errors, and JSON if asked for."
)


def amount(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add -v and -q; the command gets both as `amount`."""

    @wraps(command)
    def with_amount(*args: object, verbose: bool, quiet: bool, **kwargs: object) -> object:
        if verbose and quiet:
            raise click.UsageError("-v and -q exclude each other: give one of them")
        chosen = Amount.TABLES if verbose else Amount.NOTHING if quiet else Amount.SUMMARY
        return command(*args, amount=chosen, **kwargs)

    return _VERBOSE(_QUIET(with_amount))


def _list_passes(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    from atc_py.passes.pipeline import PIPELINE

    if context.params.get("as_json"):
        print_json(
            [
                {
                    "name": row.name,
                    "optional": row.optional,
                    "summary": row.summary,
                    "atc_names": list(row.atc_names),
                    "in_atc": row.in_atc,
                }
                for row in PIPELINE
            ]
        )
        context.exit()
    rows = [
        (
            row.name,
            spoken("optional" if row.optional else "required"),
            spoken(row.summary) + _names(row),
        )
        for row in PIPELINE
    ]
    head = ("name", "", "what it does, and ATC's name")
    print_tables([Table("Passes, in order", head, tuple(rows))])
    context.exit()


def _names(row: PassRow) -> str:
    """ATC's names of a pass as sentences, or that ATC has none."""
    if not row.in_atc:
        return " " + spoken("No counterpart in ATC.")
    return "".join(f" {name}." for name in row.atc_names)


_WHY_NOT = click.option(
    "--why-not", multiple=True, metavar="PASS",
    help="Report where PASS almost applied, and why it did not.",
)  # fmt: skip


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(), help="Offline model to write.")
@options.options_of(
    CompileOptions, "soc", "precision_mode", "precision", "semantics", "cann", ...,
    after={"fusion_switch_file": _WHY_NOT, "op_specs": options.MAX_MEMORY},
)  # fmt: skip
@click.option(
    "--passes", is_flag=True, expose_value=False, callback=_list_passes,
    help="List the passes and stop.",
)  # fmt: skip
@options.AS_JSON
@amount
@click.pass_context
def convert(
    context: click.Context,
    /,
    *,
    model: Path,
    output: str | None,
    why_not: tuple[str, ...],
    as_json: bool,
    amount: Amount,
    **compiling: Any,
) -> None:
    """Compile MODEL, an ONNX file, to an offline model.

    Prints a summary of five lines; -v also prints findings and tables.
    """
    import_onnx_parts()
    import atc_py
    from atc_py.passes.pipeline import find_passes

    try:
        find_passes(why_not)
        with progress(quiet=as_json) as on_stage:
            done = atc_py.convert(model, output, on_stage=on_stage, **compiling)
    except AtcError as error:
        context.exit(print_refusal(error, "converted", as_json=as_json))
    if as_json:
        print_json(done.as_json())
        return
    _print_conversion(done, why_not, amount)


def _print_conversion(done: Conversion, why_not: tuple[str, ...], amount: Amount) -> None:
    if amount is Amount.NOTHING:
        return
    if amount is Amount.SUMMARY:
        from atc_py.report.conversion_lines import conversion_lines

        print_blocks(map(spoken, conversion_lines(done)))
    else:
        _print_everything(done)
    if why_not:
        from atc_py.report.model.conversion import why_not_lines

        print_blocks(map(spoken, ["", *why_not_lines(done.facts.fusions, why_not)]))


def _print_everything(done: Conversion) -> None:
    from atc_py.report.diagnostics import diagnostic_text
    from atc_py.report.model.conversion import conversion_tables, found_lines

    lines = [*found_lines(done.check), *map(diagnostic_text, done.warnings)]
    print_blocks([*lines, ""] if lines else [])
    print_tables(conversion_tables(done))
