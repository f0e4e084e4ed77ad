"""Options of commands about gears: the gear to look at, and the lists to compile."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from atc_py.cli.options import option_set, options_of
from atc_py.options.auto_gears import is_number
from atc_py.options.compile_options import CompileOptions, select_gears
from atc_py.options.gears import GearKind
from atc_py.options.named_gear import parse_named_gear
from atc_py.text import Text

_POSITION = click.option(
    "--gear", "gear", type=click.IntRange(min=0), metavar="NUMBER",
    help="Position of a gear, from 0, in an offline model with gears.",
)  # fmt: skip
_IMAGE = click.option(
    "--image", "image", default="", metavar="320,320", help="The gear of this height and width."
)
GEAR_NAMES = option_set(
    _POSITION,
    click.option("--batch", "batch", default="", metavar="4", help="The gear of this batch size."),
    _IMAGE,
)
"""Options that name a gear, but for --dims."""

_BATCHES = click.option(
    "--batch", "batch", default="", metavar="1,4,8",
    help="For an ONNX file, batch sizes to estimate side by side, with the best one marked; "
    "for an offline model, the gear of this batch size.",
)  # fmt: skip

_LISTS = ("batch_sizes", "image_sizes", "dims")
_DIMS = click.option("--dims", "dims", default="", metavar="1,16", help="The gear with these dims.")


def named_gear(command: Callable[..., Any]) -> Callable[..., Any]:

    @wraps(command)
    def with_gear(
        *args: Any, gear: int | None, batch: str, image: str, dims: str, **kwargs: Any
    ) -> Any:
        texts = {GearKind.BATCH: batch, GearKind.IMAGE: image, GearKind.DIMS: dims}
        return command(*args, gear=parse_named_gear(gear, texts), **kwargs)

    return option_set(GEAR_NAMES, _DIMS)(with_gear)


def profiled_gears(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that name a gear, taken as `gear`, or list `batches` of an ONNX file."""

    @wraps(command)
    def with_gear(
        *args: Any,
        model: Path | None,
        gear: int | None,
        batch: str,
        image: str,
        dims: str,
        **kwargs: Any,
    ) -> Any:
        from atc_py.package.foreign import is_offline

        batches: tuple[int, ...] = ()
        if batch and model is not None and not is_offline(model):
            batches, batch = _batch_sizes(batch), ""
        texts = {GearKind.BATCH: batch, GearKind.IMAGE: image, GearKind.DIMS: dims}
        named = parse_named_gear(gear, texts)
        return command(*args, model=model, gear=named, batches=batches, **kwargs)

    return option_set(option_set(_POSITION, _BATCHES, _IMAGE), _DIMS)(with_gear)


def _batch_sizes(text: str) -> tuple[int, ...]:
    numbers = [part.strip() for part in text.split(",")]
    if not all(map(is_number, numbers)):
        raise click.UsageError(
            Text("--batch must be numbers from 1, such as 1,4,8; found {text}", text=repr(text))
        )
    return tuple(map(int, numbers))


def compared_gears(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that list gears, which the command takes as one `gears`."""

    @wraps(command)
    def with_gears(*args: Any, **kwargs: Any) -> Any:
        lists = {name: kwargs.pop(name) for name in _LISTS}
        gears = select_gears({**lists, "input_shape": kwargs["input_shape"]})
        return command(*args, gears=gears, **kwargs)

    return options_of(CompileOptions, "gears")(with_gears)  # type: ignore[no-any-return]


def reported_gears(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command take options that list gears, or name one, as `gears` and `gear`.

    --dims lists those of an ONNX file, or names one of an offline model.
    """

    @wraps(command)
    def with_gears(*args: Any, model: Path, **kwargs: Any) -> Any:
        from atc_py.package.foreign import is_offline

        named = {GearKind.BATCH: kwargs.pop("batch"), GearKind.IMAGE: kwargs.pop("image")}
        gears = None
        if is_offline(model):
            named[GearKind.DIMS] = kwargs["dims"]
        else:
            gears = select_gears(kwargs)
        gear = parse_named_gear(kwargs.pop("gear"), named)
        others = {name: value for name, value in kwargs.items() if name not in _LISTS}
        return command(*args, model=model, gears=gears, gear=gear, **others)

    return with_gears
