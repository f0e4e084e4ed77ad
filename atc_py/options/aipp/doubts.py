"""Warnings about configurations that are valid and most likely not meant so."""

from collections.abc import Iterator

import numpy as np

from atc_py.diag import DOUBTFUL_AIPP, Diagnostic, Place
from atc_py.options.aipp.config import AippConfig
from atc_py.options.aipp.fields import BIASES, MATRIX, channel_fields
from atc_py.options.aipp.file import AippFile
from atc_py.options.aipp.image_formats import image_format
from atc_py.options.aipp.settings import default_matrix
from atc_py.text import Text

_MOST_FACTORS = 32767 * 256 // 255
"""The sum of a row's factors in 1/256 up to which results of bytes stay within int16."""

_NEEDED = (
    ("crop", ("load_start_pos_w", "load_start_pos_h", "crop_size_w", "crop_size_h")),
    (
        "padding",
        (
            "left_padding_size",
            "right_padding_size",
            "top_padding_size",
            "bottom_padding_size",
            "padding_value",
        ),
    ),
    ("csc_switch", MATRIX + BIASES),
)
"""Switches, and the fields that have no effect without them."""

_NORMALIZING = tuple(
    name for prefix in ("mean_chn", "min_chn", "var_reci_chn") for name in channel_fields(prefix)
)


def config_doubts(config: AippConfig, *, is_uint8: bool = False) -> list[Diagnostic]:
    """The warnings for a configuration that `checked` accepts; `is_uint8` is the network's input."""
    results = [
        *_without_switch(config),
        *_filled_in(config),
        *_beyond_int16(config),
        *_vanishing(config),
    ]
    input_format = str(config["input_format"])
    swaps = input_format and config.switch("ax_swap_switch")
    if swaps and not image_format(input_format).skips_one:
        results.append(
            _doubt(
                config,
                "ax_swap_switch",
                Text("has no effect on {input_format} pictures", input_format=input_format),
            )
        )
    # Fields that have another value than the one without effect.
    plain = {name: 1.0 if name.startswith("var") else 0 for name in _NORMALIZING}
    given = [name for name in plain if name in config and config[name] != plain[name]]
    if is_uint8 and given:
        results.append(
            _doubt(config, given[0], "has no effect: the network takes the bytes unchanged")
        )
    return results


def file_doubts(file: AippFile) -> list[Diagnostic]:
    if file.configs:
        return []
    message = Text("{path} has no `aipp_op`, so all inputs stay as they are", path=file.path)
    return [DOUBTFUL_AIPP.diagnostic(message, place=Place(file.path))]


def _doubt(config: AippConfig, name: str, message: str) -> Diagnostic:
    return DOUBTFUL_AIPP.diagnostic(
        Text("{field} {message}", field=repr(name), message=Text(message)),
        place=config.place_of(name),
    )


def _without_switch(config: AippConfig) -> Iterator[Diagnostic]:
    """Yield a warning for each switch that is off though fields that need it are given."""
    for switch, names in _NEEDED:
        given = [name for name in names if config[name] and name in config]
        if given and not config.switch(switch):
            message = Text("has no effect without `{switch}: true`", switch=switch)
            if given[1:]:
                message = Text(
                    "and {count} more have no effect without `{switch}: true`",
                    count=len(given) - 1,
                    switch=switch,
                )
            yield _doubt(config, given[0], message)


def _filled_in(config: AippConfig) -> Iterator[Diagnostic]:
    """Yield a warning if the matrix is not given whole, as ATC completes it entry by entry."""
    missing = [name for name in MATRIX if name not in config]
    if not missing or not config.switch("csc_switch"):
        return
    input_format = str(config["input_format"])
    values = dict(zip(MATRIX, default_matrix(input_format), strict=True))
    filled = ", ".join(f"{name} {values[name]}" for name in missing)
    goal = Text("YUV to BGR") if input_format == "YUV420SP_U8" else Text("RGB to YUV")
    yield _doubt(
        config,
        "csc_switch",
        Text(
            "is true and {count} of 9 entries of the matrix are missing; ATC fills in those "
            "of BT.601, {goal}: {filled}",
            count=len(missing),
            goal=goal,
            filled=filled,
        ),
    )


def _beyond_int16(config: AippConfig) -> Iterator[Diagnostic]:
    """Yield a warning for each row of the matrix whose results may leave int16."""
    for row in range(3) if config.switch("csc_switch") else ():
        names = MATRIX[3 * row : 3 * row + 3]
        total = sum(abs(config.integer(name)) for name in names)
        if total > _MOST_FACTORS:
            yield _doubt(
                config,
                names[0],
                Text(
                    "and the rest of its row add up to {total} in magnitude; beyond "
                    "{most_factors}, results may not fit in int16, which is undefined on a "
                    "device",
                    total=total,
                    most_factors=_MOST_FACTORS,
                ),
            )


def _vanishing(config: AippConfig) -> Iterator[Diagnostic]:
    """Yield a warning for each factor that is 0, or is 0 in float16."""
    for name in channel_fields("var_reci_chn"):
        value = config.number(name)
        if np.float16(value) == 0:
            shown = (
                "is 0"
                if not value
                else Text("is {value}, which is 0 in float16", value=f"{value:g}")
            )
            yield _doubt(
                config, name, Text("{shown}: every value of the channel becomes 0", shown=shown)
            )
