"""`atc-py diff`: compare two offline models, of atc-py or of Huawei's atc."""

from pathlib import Path

import click

from atc_py.cli import options
from atc_py.cli.console import print_json, print_tables
from atc_py.cli.options import AS_JSON
from atc_py.options.output_paths import output_file
from atc_py.results.model_diff import ModelDiff


@click.command()
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@click.option(
    "--html", type=click.Path(), metavar="FILE", help="Write the differences as a page, too."
)
@click.option(
    "--fail-under", type=click.FloatRange(0, 1), metavar="SCORE",
    help="Exit with status 1 where the score is below SCORE.",
)  # fmt: skip
@options.MAX_MEMORY
@AS_JSON
@click.pass_context
def diff(
    context: click.Context,
    /,
    *,
    first: Path,
    second: Path,
    html: str | None,
    fail_under: float | None,
    as_json: bool,
) -> None:
    """Compare offline models FIRST and SECOND, each of atc-py or of Huawei's own atc.

    Launches are matched by the nodes of the network that they compute. The report shows launches
    that differ in fusion, operators, dtypes or formats; conversions that only one model has;
    constants that are equal in bytes, only in value, or not at all; and memory. The score is the
    share of launches that are equal.

    Exit status: 0 done, 1 the score is below --fail-under, 2 the command was called wrongly, 3 a
    file cannot be read or written.
    """
    from atc_py.compare.offline.diff import diff_models

    page = None if html is None else output_file(html, [first, second], "--html", "diff.html")
    found = diff_models(first, second)
    if page is not None:
        _write(found, page)
    if as_json:
        print_json(found.as_json())
    else:
        from atc_py.report.diff.tables import diff_tables

        print_tables(diff_tables(found))
    if fail_under is not None and found.score < fail_under:
        context.exit(1)


def _write(found: ModelDiff, path: Path) -> None:
    from atc_py.report.diff.tables import diff_html
    from atc_py.system.atomic_files import atomic_write

    with atomic_write(path) as file:
        file.write(diff_html(found).encode("utf-8"))
