"""`atc-py ops`: the operator specifications."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import click

from atc_py.cli import options
from atc_py.cli.completed_names import complete_operators
from atc_py.cli.console import print_diagnostics, print_json, print_line, show_help_of_bare_group
from atc_py.cli.help_text import SpokenGroup
from atc_py.diag import AtcError
from atc_py.options.compile_options import CheckOptions
from atc_py.report.tables import visible

_TWO = 2


@click.group(cls=SpokenGroup, invoke_without_command=True)
@click.pass_context
def ops(context: click.Context) -> None:
    """Look up the operators that atc-py knows."""
    show_help_of_bare_group(context)


@ops.command("list")
@click.option("--group", help="Only operators of this group: math, nn, tensor ...")
@click.option("--opset", type=click.IntRange(min=1), help="Only operators listed at this opset.")
@click.option("--dtype", help="Only operators whose first input takes this dtype.")
@click.option("--custom/--onnx", default=None, help="Only custom operators, or only ONNX's.")
@options.options_of(CheckOptions, "operator_list", "op_specs")
@options.LANG
@options.AS_JSON
def list_(*, operator_list: str, op_specs: Path | None, as_json: bool, **selection: Any) -> None:
    """List the operators with their opsets."""
    from atc_py.lowering.lower import can_lower
    from atc_py.report.operators.listing import (
        Selection,
        operator_list_json,
        operator_list_lines,
        selected,
    )
    from atc_py.spec import specifications

    library = specifications(op_specs, operator_list)
    specs = selected(library.all(), Selection(**selection))
    compiles = partial(can_lower, specs=library)
    if as_json:
        print_json(operator_list_json(specs, compiles))
        return
    _print_lines(operator_list_lines(specs, compiles))


@ops.command()
@click.argument("operator", shell_complete=complete_operators)
@options.options_of(CheckOptions, "operator_list", "op_specs")
@options.LANG
@options.AS_JSON
def show(*, operator: str, operator_list: str, op_specs: Path | None, as_json: bool) -> None:
    """Show the specification of OPERATOR: its rules and its ONNX versions.

    For an operator that ONNX has and the list does not, shows what rewrites it.
    """
    from atc_py.onnx_graph.reading.history import history
    from atc_py.report.operators.listing import find_named_spec
    from atc_py.report.operators.page import operator_json, operator_lines
    from atc_py.spec import specifications

    known = specifications(op_specs, operator_list)
    if known.lookup(operator) is None:
        from atc_py.report.operators.listing import not_listed

        refusal = not_listed(operator, known, operator_list, history())
        if refusal is not None:
            raise refusal
    spec = find_named_spec(operator, known)
    if as_json:
        print_json(operator_json(spec, history()))
        return
    others = [each.list_name for each in known.candidates(spec.op) if each is not spec]
    _print_lines(operator_lines(spec, history(), others))


@ops.command()
@options.AS_JSON
@options.LANG
def lists(*, as_json: bool) -> None:
    """Name the operator lists: release of CANN, operators, opsets, source."""
    from atc_py.report.operators.listing import lists_json, lists_lines

    if as_json:
        print_json(lists_json())
        return
    _print_lines(lists_lines())


@ops.command(context_settings={"ignore_unknown_options": True})
@click.argument("operator", required=False, shell_complete=complete_operators)
@click.argument("first", metavar="[OPSET]", required=False)
@click.argument("second", metavar="[OPSET]", required=False)
@click.option(
    "--list",
    "lists",
    metavar="NAME",
    multiple=True,
    callback=options.comma_separated,
    help="Operator lists to compare with each other, two of them; may be repeated.",
)
@options.LANG
@options.AS_JSON
def diff(
    *,
    operator: str | None,
    first: str | None,
    second: str | None,
    lists: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show what changed in ONNX's OPERATOR between two opsets, or how two lists differ.

    With --list given twice, compares OPERATOR on both lists, or all operators if OPERATOR is left
    out.
    """
    if lists:
        _diff_of_lists(operator, first, lists, as_json=as_json)
        return
    if operator is None or first is None or second is None:
        raise click.UsageError("give OPERATOR and two OPSETs, or --list twice")
    from atc_py.onnx_graph.reading.history import history
    from atc_py.report.operators.diff import diff_json, diff_lines, operator_diff

    found = operator_diff(operator, first, second, history())
    if as_json:
        print_json(diff_json(found))
        return
    _print_lines(diff_lines(found))


@ops.command()
@click.argument("paths", metavar="[PATH]...", type=click.Path(path_type=Path), nargs=-1)
@options.options_of(CheckOptions, "op_specs")
@options.AS_JSON
def validate(*, paths: tuple[Path, ...], op_specs: Path | None, as_json: bool) -> None:
    """Check the specifications in each PATH, a folder or one file, for faults.

    Without PATH and --op-specs, atc-py's own are checked.
    """
    from atc_py.check.lint import lint
    from atc_py.onnx_graph.reading.history import history
    from atc_py.report.operators.listing import lint_line
    from atc_py.spec.lists import operator_lists

    given = [*paths, *([op_specs] if op_specs is not None else [])]
    result = lint(given or [each.folder for each in operator_lists()], history())
    if result.errors:
        raise AtcError(*result.findings)
    if as_json:
        findings = [found.as_json() for found in result.findings]
        print_json({"specifications": result.count, "diagnostics": findings})
        return
    print_diagnostics(result.findings, as_json=False)
    print_line(lint_line(result))


def _diff_of_lists(
    operator: str | None, first: str | None, names: tuple[str, ...], *, as_json: bool
) -> None:
    from atc_py.report.operators.list_diff import list_diff, list_diff_lines
    from atc_py.spec import library

    if len(names) != _TWO or first is not None:
        raise click.UsageError("give --list twice and no opsets to compare two lists")
    found = list_diff((names[0], names[1]), (library(names[0]), library(names[1])), operator)
    if as_json:
        print_json(found.as_json())
        return
    _print_lines(list_diff_lines(found))


def _print_lines(lines: Iterable[str]) -> None:
    """Print lines with control characters escaped: specifications are users' texts."""
    for line in lines:
        print_line(visible(line))
