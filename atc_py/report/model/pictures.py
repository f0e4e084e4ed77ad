"""The part of `info` on inputs that hold pictures: settings of AIPP and bytes."""

from collections.abc import Sequence

from atc_py.aipp import AippSettings
from atc_py.report.tables import Table
from atc_py.results.picture_inputs import PictureInput
from atc_py.text import Text
from atc_py.text.language import spoken


def picture_tables(inputs: Sequence[PictureInput]) -> list[Table]:
    """Return a table of settings for each input that AIPP reads."""
    return [
        Table(
            Text("Pictures for input {name} (AIPP)", name=each.name), ("", ""), tuple(_rows(each))
        )
        for each in inputs
    ]


def _rows(found: PictureInput) -> list[tuple[str, str]]:
    """Return what is fed, what is done to it, and what the network gets."""
    settings = found.settings
    dims = ",".join(map(str, found.shape))
    rows: list[tuple[str, str]] = [
        (
            "input",
            Text(
                "{nbytes} bytes, uint8 [{dims}] {format}",
                nbytes=found.nbytes,
                dims=dims,
                format=found.format,
            ),
        )
    ]
    if found.is_dynamic:
        rows += [
            (
                "mode",
                Text("dynamic: settings of a run in {parameters}", parameters=found.parameters),
            ),
            (
                "pictures",
                Text(
                    "at most {max_src_image_size} bytes, all together",
                    max_src_image_size=settings.max_src_image_size,
                ),
            ),
        ]
    else:
        size = f"{settings.src_image_size_w} x {settings.src_image_size_h}"
        rows += [
            ("mode", spoken("static")),
            (
                "pictures",
                Text(
                    "{input_format}, {size} (width x height)",
                    input_format=settings.input_format,
                    size=size,
                ),
            ),
            *_steps(settings),
        ]
    result = ",".join(map(str, found.features))
    return [*rows, ("output", f"{found.dtype.value} [{result}] NCHW")]


def _steps(settings: AippSettings) -> list[tuple[str, str]]:
    """Return the steps that are switched on, in their order."""
    rows: list[tuple[str, str]] = []
    swaps = {
        "rbuv_swap_switch": settings.rbuv_swap_switch,
        "ax_swap_switch": settings.ax_swap_switch,
    }
    on = [name for name, is_on in swaps.items() if is_on]
    if on:
        rows.append(("swaps", ", ".join(on)))
    if settings.crop:
        place = f"{settings.load_start_pos_w},{settings.load_start_pos_h}"
        size = f"{settings.crop_size_w} x {settings.crop_size_h}"
        rows.append(("crop", Text("{size} from column, row {place}", size=size, place=place)))
    if settings.csc_switch:
        matrix = " / ".join(_numbers(settings.matrix[at : at + 3]) for at in (0, 3, 6))
        rows.append(("colors", Text("matrix {matrix}", matrix=matrix)))
        rows.append(("input bias", _numbers(settings.input_bias)))
        rows.append(("output bias", _numbers(settings.output_bias)))
    rows += [
        ("mean", _numbers(settings.mean_chn)),
        ("min", _numbers(settings.min_chn)),
        ("var reci", _numbers(settings.var_reci_chn)),
    ]
    if settings.padding:
        borders = Text(
            "left {left}, right {right}, top {top}, bottom {bottom}, of {value}",
            left=settings.left_padding_size,
            right=settings.right_padding_size,
            top=settings.top_padding_size,
            bottom=settings.bottom_padding_size,
            value=f"{settings.padding_value:g}",
        )
        rows.append(("padding", borders))
    return rows


def _numbers(values: Sequence[float]) -> str:
    """Return numbers side by side."""
    return ",".join(f"{value:g}" for value in values)
