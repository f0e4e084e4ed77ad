"""Options about gears that several commands share: lists to compile, and one to look at."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from atc_py.cli.option_sets import option_set

gear_lists = option_set(
    click.option(
        "--batch-sizes",
        "--dynamic_batch_size",
        "batch_sizes",
        default="",
        metavar="1,2,4",
        help="Gears: batch sizes, one graph each, for -1 on axis 0 in --input-shape.",
    ),
    click.option(
        "--image-sizes",
        "--dynamic_image_size",
        "image_sizes",
        default="",
        metavar='"320,320;640,640"',
        help="Gears: heights and widths, one graph each, for -1 in --input-shape.",
    ),
    click.option(
        "--dims",
        "--dynamic_dims",
        "dims",
        default="",
        metavar='"1,16;2,32"',
        help="Gears: numbers for every -1 in --input-shape, in its order.",
    ),
)
"""Options that list gears."""


_GEAR_CHOICES = (
    click.option(
        "--gear", "gear", type=click.IntRange(min=0), metavar="NUMBER",
        help="Position of a gear, from 0, in an offline model with gears.",
    ),
    click.option("--batch", "batch", default="", metavar="4", help="The gear of this batch size."),
    click.option(
        "--image", "image", default="", metavar="320,320",
        help="The gear of this height and width.",
    ),
    click.option(
        "--dims", "dims", default="", metavar="1,16", help="The gear of these numbers for dims."
    ),
)  # fmt: skip


def gear_choice(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that name one gear, which the command takes as one `gear`."""

    @wraps(command)
    def with_gear(
        *args: Any, gear: int | None, batch: str, image: str, dims: str, **kwargs: Any
    ) -> Any:
        from atc_py.options.gear_choice import parse_gear_choice
        from atc_py.options.gears import GearKind

        texts = {GearKind.BATCH: batch, GearKind.IMAGE: image, GearKind.DIMS: dims}
        return command(*args, gear=parse_gear_choice(gear, texts), **kwargs)

    return option_set(*_GEAR_CHOICES)(with_gear)


def compared_gears(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that list gears, which the command takes as one `gears`."""

    @wraps(command)
    def with_gears(*args: Any, batch_sizes: str, image_sizes: str, dims: str, **kwargs: Any) -> Any:
        from atc_py.options.choices import ConvertChoice, chosen_gears

        lists = ConvertChoice(batch_sizes=batch_sizes, image_sizes=image_sizes, dims=dims)
        return command(*args, gears=chosen_gears(lists, kwargs["input_shape"]), **kwargs)

    return gear_lists(with_gears)


def reported_gears(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that list gears of an ONNX file, or name one of an offline model.

    The command takes them as `gears` and `gear`. --dims lists or names, as the file demands.
    """

    @wraps(command)
    def with_gears(
        *args: Any, model: Path, batch: str, image: str, dims: str, **kwargs: Any
    ) -> Any:
        from atc_py.options.choices import ConvertChoice, chosen_gears
        from atc_py.options.gear_choice import parse_gear_choice
        from atc_py.options.gears import GearKind
        from atc_py.package.foreign import is_offline

        form, position = kwargs["input_format"], kwargs.pop("gear")
        listed = ConvertChoice(
            batch_sizes=kwargs.pop("batch_sizes"),
            image_sizes=kwargs.pop("image_sizes"),
            dims=dims,
            input_format=form,
        )
        named = {GearKind.BATCH: batch, GearKind.IMAGE: image}
        if is_offline(model):
            gears = None
            named[GearKind.DIMS] = dims
        else:
            gears = chosen_gears(listed, kwargs["input_shape"])
        gear = parse_gear_choice(position, named)
        return command(*args, model=model, gears=gears, gear=gear, **kwargs)

    *others, _ = _GEAR_CHOICES
    return gear_lists(option_set(*others)(with_gears))
