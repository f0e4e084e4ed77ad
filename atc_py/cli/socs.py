"""`atc-py socs`: the SoCs that `--soc` takes."""

import click

from atc_py.cli.console import print_json, print_tables
from atc_py.cli.options import AS_JSON


@click.command()
@AS_JSON
def socs(*, as_json: bool) -> None:
    """List the SoCs that --soc takes: family, cores, clock, memory, dtypes of the cube."""
    from atc_py.report.soc_table import soc_table, socs_json
    from atc_py.target import socs as known

    if as_json:
        print_json(socs_json(known()))
        return
    print_tables([soc_table(known())])
