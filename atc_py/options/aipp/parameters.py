"""The parameter buffer of dynamic AIPP: 64 bytes for all pictures of a run and 96 for each.

The layout is published with AscendCL, little endian. Bytes that it reserves are 0 as written and
are not looked at as read. Fields for what the SoCs here do not have, resizing and rotation, must
be 0. A border has the value 0: the buffer has no place for another.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from struct import Struct
from struct import error as struct_error
from typing import Any

from atc_py.diag import BAD_AIPP, AtcError, Place
from atc_py.options.aipp.image_formats import IMAGE_FORMATS, image_format
from atc_py.options.aipp.settings import AippSettings
from atc_py.text import Text

_HEADER = Struct("<B4b3x2i9h6x3B3B18x")
_BATCH = Struct("<4b4x2i2i16x4i4h4e4e16x")
HEADER_BYTES, BATCH_BYTES = _HEADER.size, _BATCH.size
COUNT_AT = 4
"""Offset of the number of pictures, a signed byte."""

MOST_PICTURES = 127
"""Pictures of a run: their number is a signed byte."""

_LARGEST_FLOAT16 = 65504.0
_SWITCHES = ("csc_switch", "rbuv_swap_switch", "ax_swap_switch")
_IN_HEADER = {
    "src_image_size_w": 1,
    "src_image_size_h": 1,
    "matrix": 9,
    "output_bias": 3,
    "input_bias": 3,
}
"""Settings of the header after its switches, in its order, with how many numbers each has."""

_SHARED = ("input_format", *_SWITCHES, *_IN_HEADER)
"""Settings of the header, which all pictures of a run have in common."""

_OF_PICTURE = {
    "load_start_pos_w": 1,
    "load_start_pos_h": 1,
    "crop_size_w": 1,
    "crop_size_h": 1,
    "top_padding_size": 1,
    "bottom_padding_size": 1,
    "left_padding_size": 1,
    "right_padding_size": 1,
    "mean_chn": 4,
    "min_chn": 4,
    "var_reci_chn": 4,
}
"""The same of what each picture has of its own."""

_BY_CODE = {row.buffer_code: row.name for row in IMAGE_FORMATS if row.buffer_code is not None}


def _numbers(settings: AippSettings, counts: Mapping[str, int]) -> Iterator[float]:
    for name, count in counts.items():
        value = getattr(settings, name)
        yield from [value] if count == 1 else value


def _named(numbers: Iterable[float], counts: Mapping[str, int]) -> dict[str, Any]:
    rest = iter(numbers)
    return {
        name: next(rest) if count == 1 else tuple(islice(rest, count))
        for name, count in counts.items()
    }


def _check_shared(pictures: Sequence[AippSettings]) -> None:
    """Refuse pictures that differ in what a run has once."""
    first = pictures[0]
    for at, other in enumerate(pictures):
        for name in _SHARED:
            if getattr(other, name) != getattr(first, name):
                raise _refusal(
                    Text(
                        "all pictures of a run must have the same {name}: it is {getattr} for "
                        "picture 0 and {getattr_2} for picture {at}",
                        name=repr(name),
                        getattr=getattr(first, name),
                        getattr_2=getattr(other, name),
                        at=at,
                    ),
                    name,
                )


def parameter_bytes(pictures: Sequence[AippSettings]) -> bytes:
    """The buffer for the settings of a run's pictures, one entry a picture.

    Raises:
        AtcError: BAD_AIPP for no pictures or more than 127, settings of the header in which they
            differ, a format that has no number, a border's value, and numbers without room.
    """
    if not 1 <= len(pictures) <= MOST_PICTURES:
        raise _refusal(
            Text(
                "a run has 1 to {most_pictures} pictures, found {count}",
                most_pictures=MOST_PICTURES,
                count=len(pictures),
            )
        )
    first = pictures[0]
    _check_shared(pictures)
    code = image_format(first.input_format).buffer_code
    if code is None:
        known = ", ".join(_BY_CODE.values())
        raise _refusal(
            Text(
                "dynamic AIPP does not take {input_format}; it takes {known}",
                input_format=first.input_format,
                known=known,
            ),
            "input_format",
        )
    switches = (getattr(first, name) for name in _SWITCHES)
    header = _pack(_HEADER, code, *switches, len(pictures), *_numbers(first, _IN_HEADER))
    return header + b"".join(map(_picture_bytes, pictures))


def _pack(layout: Struct, *values: float) -> bytes:
    try:
        return layout.pack(*values)
    except (struct_error, OverflowError) as error:
        raise _refusal(Text("a number does not fit in the buffer: {error}", error=error)) from None


def _picture_bytes(settings: AippSettings) -> bytes:
    if settings.padding_value:
        raise _refusal(
            Text(
                "borders of dynamic AIPP are 0, found 'padding_value' {padding_value}",
                padding_value=f"{settings.padding_value:g}",
            ),
            "padding_value",
        )
    for name in ("min_chn", "var_reci_chn"):
        for value in getattr(settings, name):
            if not abs(value) <= _LARGEST_FLOAT16:
                raise _refusal(
                    Text(
                        "{name} must be within float16, found {value}",
                        name=repr(name),
                        value=f"{value:g}",
                    ),
                    name,
                )
    switches = settings.crop, 0, settings.padding, 0
    return _pack(_BATCH, *switches, *_numbers(settings, _OF_PICTURE))


def settings_of_bytes(data: bytes, file: str | None = None) -> tuple[AippSettings, ...]:
    """The settings that a buffer has, one entry a picture.

    `min_chn` and `var_reci_chn` are float16 in the buffer, so they may differ from those that it
    was made of; the results of AIPP do not, as it computes with float16.

    `file` is the path of the buffer, for messages.

    Raises:
        AtcError: BAD_AIPP for another number of bytes than its number of pictures needs, an
            unknown format, and switches for what is not there.
    """
    if len(data) < HEADER_BYTES:
        raise _refusal(
            Text(
                "a buffer has {header_bytes} bytes or more, found {count}",
                header_bytes=HEADER_BYTES,
                count=len(data),
            ),
            file=file,
        )
    code, csc, swap, ax_swap, count, *numbers = _HEADER.unpack_from(data)
    _check_count(data, count, file)
    if code not in _BY_CODE:
        known = ", ".join(f"{each} {name}" for each, name in _BY_CODE.items())
        raise _refusal(
            Text(
                "the format's number must be one of {known}, found {code}", known=known, code=code
            ),
            file=file,
        )
    shared = AippSettings(
        aipp_mode="dynamic",
        input_format=_BY_CODE[code],
        csc_switch=bool(csc),
        rbuv_swap_switch=bool(swap),
        ax_swap_switch=bool(ax_swap),
        **_named(numbers, _IN_HEADER),
    )
    starts = range(HEADER_BYTES, len(data), BATCH_BYTES)
    return tuple(_picture_settings(shared, data, start, file) for start in starts)


def _check_count(data: bytes, count: int, file: str | None) -> None:
    """Refuse a buffer of another size than its pictures take."""
    if count < 1 or len(data) != HEADER_BYTES + BATCH_BYTES * count:
        raise _refusal(
            Text(
                "a buffer for {count} pictures has {header_bytes} + {batch_bytes} x {count} "
                "bytes, found {count_2}",
                count=count,
                header_bytes=HEADER_BYTES,
                batch_bytes=BATCH_BYTES,
                count_2=len(data),
            ),
            "batchNum",
            file,
        )


def _picture_settings(
    shared: AippSettings, data: bytes, start: int, file: str | None
) -> AippSettings:
    crop, resize, padding, rotation, *numbers = _BATCH.unpack_from(data, start)
    if resize or rotation:
        name = "scfSwitch" if resize else "rotateSwitch"
        raise _refusal(
            Text("{name} must be 0: pictures are not resized or rotated", name=repr(name)),
            name,
            file,
        )
    if padding not in {0, 1}:
        raise _refusal(
            Text(
                "'paddingSwitch' must be 0 or 1, found {padding}: borders are not copies of "
                "the picture",
                padding=padding,
            ),
            "paddingSwitch",
            file,
        )
    own = _named(numbers, _OF_PICTURE)
    return replace(shared, crop=bool(crop), padding=bool(padding), **own)


def _refusal(message: Text, field: str | None = None, file: str | None = None) -> AtcError:
    """Build the error about a buffer; AscendCL refuses it at a run, so there is no code of ATC."""
    return BAD_AIPP.error(message, place=Place(file, field=field))
