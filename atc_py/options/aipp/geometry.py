"""A configuration against a network's input: sizes that fit, defaults filled in, settings made."""

from dataclasses import dataclass, replace
from typing import Any

from atc_py.diag import AtcFault
from atc_py.options.aipp.config import AippConfig
from atc_py.options.aipp.fields import channel_fields
from atc_py.options.aipp.image_formats import ImageFormat, image_format
from atc_py.options.aipp.rules import NO_DYNAMIC, AippRules, rules_of
from atc_py.options.aipp.settings import AippSettings, completed_colors
from atc_py.text import Text, plural

_RANK = 4
_MOST = 4096
_LAYOUTS = ("NCHW", "NHWC")


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkInput:
    """An input of a network, as far as AIPP concerns it."""

    name: str
    shape: tuple[int, ...]  # in the order of `layout`; of one gear where the network has gears
    layout: str = "NCHW"  # "NCHW" or "NHWC"; another text is refused
    family: str = "sim"  # value of the SoC's `SocFamily`
    is_uint8: bool = False  # True if the network takes uint8; AIPP then gives bytes, not float16
    # True if the sizes are gears, so that pictures have the network's size
    image_gears: bool = False

    @property
    def size(self) -> tuple[int, int]:
        at = self.layout.index("H")
        return self.shape[at], self.shape[at + 1]

    @property
    def channels(self) -> int:
        return self.shape[self.layout.index("C")]


def checked(config: AippConfig, network: NetworkInput) -> AippSettings:
    """The settings of a configuration that fits a network's input.

    Of dynamic AIPP these are the mode and `max_src_image_size`; `checked_pictures` of
    `atc_py/options/aipp/dynamic.py` checks the rest at each run.

    Raises:
        AtcError: BAD_AIPP with the field at fault: ATC's E10052, or E13014 for dynamic AIPP on an
            input that is neither NCHW nor NHWC.
    """
    _check_input(config, network)
    if config["aipp_mode"] == "dynamic":
        if network.family in NO_DYNAMIC:
            message = Text("{family} has no dynamic AIPP", family=network.family)
            raise config.error(message, "aipp_mode", Text("write `aipp_mode: static`"))
        most = config.integer("max_src_image_size")
        return AippSettings(aipp_mode="dynamic", max_src_image_size=most)
    if network.image_gears:
        _check_gears(config)
    return picture_settings(config, network)


def picture_settings(
    config: AippConfig, network: NetworkInput, *, dynamic: bool = False
) -> AippSettings:
    rules, row = (
        rules_of(network.family, dynamic=dynamic),
        image_format(str(config["input_format"])),
    )
    if row.name not in rules.formats:
        raise config.error(
            Text("{family} does not read {name} pictures", family=network.family, name=row.name),
            "input_format",
            Text("it reads {formats}", formats=", ".join(rules.formats)),
        )
    settings = _normalization(config, rules, AippSettings(input_format=row.name))
    settings = completed_colors(config, settings)
    settings = _with_sizes(config, network, rules, settings)
    _check_picture(config, rules, row, settings)
    _check_output(config, network, settings)
    if rules.strict_gray and settings.is_gray and not row.is_gray:
        _check_gray(config, row, settings)
    return settings


def _check_input(config: AippConfig, network: NetworkInput) -> None:
    if network.layout not in _LAYOUTS and config["aipp_mode"] == "dynamic":
        message = Text(
            "dynamic AIPP needs an input in NCHW or NHWC, {network} is {layout}",
            network=repr(network.name),
            layout=network.layout,
        )
        fault = AtcFault("E13014", (network.layout, "input_format", network.name, message))
        raise config.error(message, "aipp_mode", Text("give --input-format NCHW"), fault)
    if len(network.shape) != _RANK or network.layout not in _LAYOUTS:
        shape = ", ".join(map(str, network.shape))
        raise config.error(
            Text(
                "AIPP needs an input with 4 dims in NCHW or NHWC, {network} is {layout} [{shape}]",
                network=repr(network.name),
                layout=network.layout,
                shape=shape,
            ),
            "related_input_rank",
        )


def _check_gears(config: AippConfig) -> None:
    """Refuse what gears of image sizes cannot go with."""
    for name in ("crop", "padding", "src_image_size_w", "src_image_size_h"):
        if config[name]:
            raise config.error(
                Text(
                    "{name} must be {which} where the network has gears of image sizes: "
                    "pictures have the gear's size",
                    name=repr(name),
                    which="0" if name.startswith("src") else "false",
                ),
                name,
            )


def _normalization(config: AippConfig, rules: AippRules, settings: AippSettings) -> AippSettings:
    low, high = rules.least_min, rules.most_min
    for name in channel_fields("min_chn"):
        value = config.number(name)
        if not low <= value <= high:
            raise config.error(
                Text(
                    "{name} must be in [{low}, {high}] on this SoC, found {value}",
                    name=repr(name),
                    low=f"{low:g}",
                    high=f"{high:g}",
                    value=f"{value:g}",
                ),
                name,
                Text("put whole parts into `mean_chn`"),
            )
    return replace(
        settings,
        ax_swap_switch=config.switch("ax_swap_switch"),
        rbuv_swap_switch=config.switch("rbuv_swap_switch"),
        mean_chn=tuple(map(config.integer, channel_fields("mean_chn"))),
        min_chn=tuple(map(config.number, channel_fields("min_chn"))),
        var_reci_chn=tuple(map(config.number, channel_fields("var_reci_chn"))),
    )


def _with_sizes(
    config: AippConfig, network: NetworkInput, rules: AippRules, settings: AippSettings
) -> AippSettings:
    crop, padding = config.switch("crop"), config.switch("padding")
    height, width = network.size
    sizes: dict[str, Any] = {}
    for side, own in (("w", width), ("h", height)):
        name = f"src_image_size_{side}"
        given = config.integer(name)
        if (crop or padding) and not given:
            switch = "crop" if crop else "padding"
            raise config.error(
                Text(
                    "{name} must be given where {switch} is true",
                    name=repr(name),
                    switch=repr(switch),
                ),
                name,
            )
        sizes[name] = given or own
        if crop:
            sizes |= _crop_side(config, side, own, sizes[name])
    settings = replace(settings, crop=crop, **sizes)
    if not padding:
        return settings
    return replace(
        settings,
        padding=True,
        left_padding_size=config.integer("left_padding_size"),
        right_padding_size=config.integer("right_padding_size"),
        top_padding_size=config.integer("top_padding_size"),
        bottom_padding_size=config.integer("bottom_padding_size"),
        padding_value=_padding_value(config, network, rules),
    )


def _crop_side(config: AippConfig, side: str, own: int, source: int) -> dict[str, int]:
    """Start and size of a crop along one side, "w" or "h"."""
    start, size = f"load_start_pos_{side}", f"crop_size_{side}"
    first, count = config.integer(start), config.integer(size)
    if not count and config.switch("padding"):
        raise config.error(
            Text("{size} must be given where 'padding' is true", size=repr(size)), size
        )
    count = count or own
    if first >= source:
        raise config.error(
            Text(
                "{start} is {first}, but the picture has {source} {places}",
                start=repr(start),
                first=first,
                source=source,
                places=_places(side),
            ),
            start,
        )
    if first + count > source:
        raise config.error(
            Text(
                "the crop ends beyond the picture: {start} {first} and {size} {count} make "
                "{first_2}, of {source} {places}",
                start=repr(start),
                first=first,
                size=repr(size),
                count=count,
                first_2=first + count,
                source=source,
                places=_places(side),
            ),
            size if size in config else start,
        )
    return {start: first, size: count}


def _places(side: str) -> Text:
    return Text("columns" if side == "w" else "rows", context="picture")


def _padding_value(config: AippConfig, network: NetworkInput, rules: AippRules) -> float:
    value = config.number("padding_value")
    is_inside = rules.clips_padding or 0 <= value <= 255  # noqa: PLR2004  (bounds of uint8)
    is_whole = rules.cuts_padding or value.is_integer()
    if network.is_uint8 and not (is_inside and is_whole):
        raise config.error(
            Text(
                "'padding_value' must be a whole number in [0, 255] for an input of uint8, "
                "found {value}",
                value=f"{value:g}",
            ),
            "padding_value",
        )
    return value


def _check_picture(
    config: AippConfig, rules: AippRules, row: ImageFormat, settings: AippSettings
) -> None:
    """Refuse pictures and crops that the format or the SoC does not have."""
    width, height = settings.src_image_size_w, settings.src_image_size_h
    for name, value, least in (
        ("src_image_size_w", width, rules.least_width),
        ("src_image_size_h", height, rules.least_height),
    ):
        if not least <= value <= _MOST:
            raise config.error(
                Text(
                    "{name} must be in [{least}, {most}], found {value}",
                    name=repr(name),
                    least=least,
                    most=_MOST,
                    value=value,
                ),
                name,
            )
    needed = [("src_image_size_w", row.even_width), ("src_image_size_h", row.even_height)]
    if settings.crop and rules.even_start:
        needed += [("load_start_pos_w", row.even_width), ("load_start_pos_h", row.even_height)]
    if settings.crop and rules.even_crop:
        needed += [("crop_size_w", row.even_width), ("crop_size_h", row.even_height)]
    for name, even in needed:
        if even and getattr(settings, name) % 2:
            raise config.error(
                Text(
                    "{name} must be even for {name_2}, whose pixels share chroma, found {getattr}",
                    name=repr(name),
                    name_2=row.name,
                    getattr=getattr(settings, name),
                ),
                name,
            )
    in_row = width * row.columns
    if in_row % rules.row_bytes:
        raise config.error(
            Text(
                "a row must have a multiple of {row_bytes} bytes on this SoC, {width} pixels "
                "of {name} have {in_row}",
                row_bytes=rules.row_bytes,
                width=width,
                name=row.name,
                in_row=in_row,
            ),
            "src_image_size_w",
        )


def _check_gray(config: AippConfig, row: ImageFormat, settings: AippSettings) -> None:
    """Refuse a gray result that the kernel would make three channels of."""
    around = (*settings.matrix[1:3], *settings.input_bias)
    if any(around if row.is_yuv else settings.output_bias):
        raise config.error(
            Text(
                "a gray result needs {what} on this SoC",
                what=Text("factors of U and V and all input biases of 0")
                if row.is_yuv
                else Text("all output biases of 0"),
            ),
            "csc_switch",
        )


_MEANS = {
    (False, False): "the picture makes {given} {places}, but input {network} has {wanted}",
    (True, False): "crop makes {given} {places}, but input {network} has {wanted}",
    (False, True): "padding makes {given} {places}, but input {network} has {wanted}",
    (True, True): "crop and padding make {given} {places}, but input {network} has {wanted}",
}
"""What is said of a tensor of another size, by whether a crop and borders make it."""


def _check_output(config: AippConfig, network: NetworkInput, settings: AippSettings) -> None:
    (height, width), found = network.size, settings.output_size
    template = _MEANS[settings.crop, settings.padding]
    for side, wanted, given in (("w", width, found[1]), ("h", height, found[0])):
        if wanted != given:
            name = f"crop_size_{side}" if settings.crop else f"src_image_size_{side}"
            raise config.error(
                Text(
                    template,
                    given=given,
                    places=_places(side),
                    network=repr(network.name),
                    wanted=wanted,
                ),
                name,
                _size_advice(settings, side, wanted),
            )
    limit = rules_of(network.family).padded_width
    if settings.padding and width > limit:
        raise config.error(
            Text(
                "a tensor with borders may have {limit} columns on this SoC, found {width}",
                limit=limit,
                width=width,
            ),
            "padding",
        )
    if settings.channels != network.channels:
        raise config.error(
            plural(
                settings.channels,
                "AIPP makes {n} channel of {input_format}, but input {network} has {channels_2}",
                "AIPP makes {n} channels of {input_format}, but input {network} has {channels_2}",
                input_format=settings.input_format,
                network=repr(network.name),
                channels_2=network.channels,
            ),
            "csc_switch" if settings.csc_switch else "input_format",
            _channel_advice(settings, network.channels),
        )


def _size_advice(settings: AippSettings, side: str, wanted: int) -> Text:
    sides = ("left", "right") if side == "w" else ("top", "bottom")
    borders = sum(getattr(settings, f"{side}_padding_size") for side in sides)
    name = f"crop_size_{side}" if settings.crop else f"src_image_size_{side}"
    rest = Text("borders have {n}, so ", n=borders) if borders else ""
    return Text(
        "{rest}`{name}: {wanted}` fits", rest=rest, name=name, wanted=max(wanted - borders, 0)
    )


def _channel_advice(settings: AippSettings, wanted: int) -> Text:
    if wanted == 1 and not settings.is_gray:
        return Text(
            "rows 1 and 2 of the matrix must be 0, with output biases of 0, for a gray result"
        )
    if wanted == 3 and settings.is_gray and settings.csc_switch:  # noqa: PLR2004  (three colors)
        return Text(
            "give rows 1 and 2 of the matrix the numbers of row 0 for gray in every channel"
        )
    return Text("RGB and YUV pictures have 3 channels, YUV400_U8 and matrices of one row have 1")
