"""`atc-py info`: show the content of an offline model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from atc_py.cli.console import print_json, print_tables
from atc_py.cli.options import AS_JSON, gear_choice

if TYPE_CHECKING:
    from atc_py.options.gears import GearChoice

__all__ = ["info"]


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--precision",
    is_flag=True,
    help="Show the dtypes of every node with the rule that chose them, and every Cast.",
)
@click.option(
    "--layout", is_flag=True, help="Show how values are stored, and why each TransData is there."
)
@gear_choice
@AS_JSON
def info(
    *, model: Path, precision: bool, layout: bool, gear: GearChoice | None, as_json: bool
) -> None:
    """Show what MODEL, an offline model, contains; its digests are verified.

    Of one with gears it lists these, and shows the one that is named, or else the largest.
    """
    from atc_py.package.reader import open_model
    from atc_py.report.model.layout import layout_json, layout_tables
    from atc_py.report.model.offline_model import model_json, model_tables
    from atc_py.report.model.precision import precision_json, precision_tables

    if precision and layout:
        raise click.UsageError("--precision and --layout exclude each other: give one of them")
    with open_model(model) as opened:
        package = opened if gear is None else opened.at_gear(gear.position_in(opened.gears))
        if precision:
            found = precision_json(package.report, str(model))
            if as_json:
                print_json(found)
            else:
                print_tables(precision_tables(found))
            return
        if layout:
            record = layout_json(package.report, str(model))
            if as_json:
                print_json(record)
            else:
                print_tables(layout_tables(record))
            return
        size = model.stat().st_size
        if as_json:
            print_json(model_json(package, size))
            return
        print_tables(model_tables(package, size))
