"""Options that several commands share: one spelling, one help text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from atc_py.config import PrecisionMode
from atc_py.diag import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["AS_JSON", "INPUT_SHAPE", "LANG", "OP_SPECS", "SOC", "precision_mode"]

SOC = click.option(
    "--soc", "--soc-version", "--soc_version", default="sim", help="SoC that the model is for."
)

INPUT_SHAPE = click.option(
    "--input-shape",
    "--input_shape",
    default="",
    metavar='"x:1,3,224,224;y:..."',
    help="Extents of inputs that the model leaves open.",
)

OP_SPECS = click.option(
    "--op-specs",
    "--op_specs",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of operator specifications that replace or extend atc-py's own.",
)

LANG = click.option(
    "--lang",
    type=click.Choice(LANGUAGES),
    default=LANGUAGES[0],
    show_default=True,
    help="Language of the text.",
)

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def precision_mode(
    modes: Iterable[PrecisionMode],
) -> Callable[[click.decorators.FC], click.decorators.FC]:
    """The option for one of `modes`."""
    return click.option(
        "--precision-mode",
        "--precision_mode",
        type=click.Choice([mode.value for mode in modes]),
        default=PrecisionMode.FORCE_FP16.value,
        show_default=True,
        help="How dtypes may change.",
    )
