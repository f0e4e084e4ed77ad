"""`atc-py aipp`: what an AIPP configuration does to a picture."""

from pathlib import Path

import click

from atc_py.cli.console import print_diagnostics, print_json, print_tables
from atc_py.cli.help_text import AliasedOption
from atc_py.cli.options import AS_JSON, MAX_MEMORY
from atc_py.options.input_shapes import parse_size
from atc_py.options.output_paths import output_file


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.argument("picture", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(), metavar="FILE", help="File for the tensor, .npy."
)
@click.option(
    "--size",
    metavar="H,W",
    help="Height and width of the network's input; by default those that the configuration "
    "produces.",
)
@click.option(
    "--rank", "rank", cls=AliasedOption, old=["--input"], type=click.IntRange(min=0), metavar="RANK",
    help="Take the configuration with that `related_input_rank`; needed where there are several.",
)  # fmt: skip
@click.option(
    "--soc", "--soc_version", cls=AliasedOption, old=["--soc-version"], default="sim",
    show_default=True, metavar="NAME", help="SoC whose limits apply.",
)  # fmt: skip
@click.option(
    "--resize", is_flag=True, help="Resize a picture of another size, which is refused otherwise."
)
@click.option(
    "--swapped", is_flag=True,
    help="Store R and B, or U and V, in swapped order: BGR, and NV21 in place of NV12.",
)  # fmt: skip
@click.option("--uint8", is_flag=True, help="The network takes bytes: nothing is normalized.")
@MAX_MEMORY
@AS_JSON
def aipp(  # noqa: PLR0913  (one parameter an option)
    *,
    config: Path,
    picture: Path,
    output: str | None,
    size: str | None,
    rank: int | None,
    soc: str,
    resize: bool,
    swapped: bool,
    uint8: bool,
    as_json: bool,
) -> None:
    """Show what CONFIG, an AIPP configuration, does to PICTURE.

    CONFIG is a file for `convert --aipp`, or one with the settings of a run of dynamic AIPP.
    PICTURE is an image file, or .npy with uint8 [height, width, 3]. The steps are computed by the
    simulated device.
    """
    from atc_py.pipeline.running.aipp_preview import PreviewOptions, preview
    from atc_py.report.model.offline_model import preview_tables

    options = PreviewOptions(
        size=None if size is None else parse_size(size),
        input=rank,
        soc=soc,
        resize=resize,
        swapped=swapped,
        as_bytes=uint8,
        output=None
        if output is None
        else output_file(output, (config, picture), example="tensor.npy"),
    )
    done = preview(config, picture, options)
    if as_json:
        print_json(done.as_json())
        return
    print_tables(preview_tables(done))
    print_diagnostics(done.warnings, as_json=False)
