"""`atc-py fix`: write a refused model in a form that the list takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from atc_py.cli import options
from atc_py.cli.console import print_diagnostics, print_json, print_line, print_tables
from atc_py.options.compile_options import PrecisionMode

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from atc_py.options.choices import FixChoice

__all__ = ["fix"]


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(),
    help="ONNX file to write; by default NAME.fixed.onnx in the folder of MODEL.",
)  # fmt: skip
@options.rule_choice
@click.option("--all", "all_findings", is_flag=True, help="Remove findings of level rewrite, too.")
@click.option(
    "--dry-run", is_flag=True,
    help="Write nothing; show the differences between the two graphs, node by node.",
)  # fmt: skip
@click.option(
    "--verbose", is_flag=True, help="Show every node, also those that are rewritten alike."
)
@click.option(
    "--seeds", type=click.IntRange(min=0), default=3, show_default=True,
    help="Random inputs on which both models run; 0 for no proof.",
)  # fmt: skip
@click.option("--external-data", is_flag=True, help="Write weights to a separate file.")
@options.precision_mode(PrecisionMode, default=None)
@options.precision_controls
@options.SOC
@options.INPUT_SHAPE
@options.OP_SPECS
@options.MAX_MEMORY
@options.LANG
@options.AS_JSON
@click.pass_context
def fix(  # noqa: PLR0913  (one parameter an option)
    context: click.Context,
    *,
    model: Path,
    output: str | None,
    soc: str,
    input_shape: str,
    op_specs: Path | None,
    lang: str,
    verbose: bool,
    as_json: bool,
    **choice: Unpack[FixChoice],
) -> None:
    """Write MODEL, an ONNX file, in an equivalent form that the operator list takes.

    Exit status: 0 done, 1 findings are left that no rule removes, 2 the command was called wrongly,
    3 a file cannot be read or written, 4 a rewrite differs from the original.
    """
    from atc_py import api
    from atc_py.report.fix.diff_text import diff_lines
    from atc_py.report.fix.tables import fixing_tables

    done = api.fix_model(
        model,
        output,
        soc=soc,
        input_shape=input_shape,
        op_specs=op_specs,
        **choice,
    )
    if as_json:
        print_json(done.as_json())
    else:
        if choice.get("dry_run"):
            for line in diff_lines(done, lang, verbose=verbose):
                print_line(line)
        print_tables(fixing_tables(done, lang))
        print_diagnostics(done.diagnostics, as_json=False)
    context.exit(1 if done.left else 0)
