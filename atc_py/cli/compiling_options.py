"""Options that decide what is compiled, which `convert` and `report` share."""

from pathlib import Path

import click

from atc_py.cli.option_sets import option_set
from atc_py.options.input_format import InputFormat

INPUT_FORMAT = click.option(
    "--input-format", "--input_format", type=click.Choice([each.value for each in InputFormat]),
    default=InputFormat.NCHW.value, show_default=True,
    help="What the axes of inputs are, for AIPP and gears of image sizes; data are not moved.",
)  # fmt: skip

OUT_NODES = click.option(
    "--out-nodes", "--out_nodes", default="", metavar='"tensor;..."|"node:0;..."',
    help="Results that become the outputs, in this order; what they do not need is left out.",
)  # fmt: skip

VERIFY = click.option("--verify", is_flag=True, help="Check the graph after every pass.")

pass_choices = option_set(
    click.option(
        "--disable-pass", multiple=True, metavar="NAME", help="Leave out an optional pass."
    ),
    click.option(
        "--fusion-switch-file",
        "--fusion_switch_file",
        type=click.Path(path_type=Path),
        help="ATC's file that switches passes on and off: lines `PassName:off`, or JSON.",
    ),
)
"""Options that leave passes out."""

memory_choices = option_set(
    click.option(
        "--disable-reuse-memory", "--disable_reuse_memory", type=click.Choice(["0", "1"]),
        default="0", show_default=True, callback=lambda _context, _option, value: value == "1",
        help="1: give every value its own address; needs more memory but makes debugging easier.",
    ),
    click.option(
        "--enable-small-channel", "--enable_small_channel", type=click.Choice(["0", "1"]),
        default="0", show_default=True, callback=lambda _context, _option, value: value == "1",
        help="1: store filters of at most 4 channels in FRACTAL_Z_C04, with 4 for each tap.",
    ),
)  # fmt: skip
"""Options on addresses and on the storage of filters."""
