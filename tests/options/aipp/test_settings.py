"""Settings of an `Aipp` node: shapes of inputs, windows, attributes and back."""

import pytest

from atc_py.diag import AtcError
from atc_py.options.aipp import (
    IMAGE_FORMATS,
    AippSettings,
    image_format,
    source_bytes,
    source_shape,
)

SHAPES = {
    "YUV420SP_U8": (2, 6, 6, 1),
    "XRGB8888_U8": (2, 4, 6, 4),
    "RGB888_U8": (2, 4, 6, 3),
    "YUV400_U8": (2, 4, 6, 1),
    "ARGB8888_U8": (2, 4, 6, 4),
    "YUYV_U8": (2, 4, 6, 2),
    "YUV422SP_U8": (2, 8, 6, 1),
    "AYUV444_U8": (2, 4, 6, 4),
}


def test_shape_of_each_format() -> None:
    assert [row.name for row in IMAGE_FORMATS] == list(SHAPES)
    for name, shape in SHAPES.items():
        settings = AippSettings(input_format=name, src_image_size_w=6, src_image_size_h=4)
        assert source_shape(settings, 2) == shape
        product = shape[0] * shape[1] * shape[2] * shape[3]
        assert source_bytes(settings, 2) == product


def test_shape_of_dynamic_aipp_is_a_row_of_bytes() -> None:
    settings = AippSettings(aipp_mode="dynamic", max_src_image_size=1000)
    assert source_shape(settings, 4) == (1, 1000)


def test_window_and_output_follow_crop_and_padding() -> None:
    whole = AippSettings(src_image_size_w=6, src_image_size_h=4)
    assert whole.window == (0, 0, 4, 6)
    part = AippSettings(
        src_image_size_w=6,
        src_image_size_h=4,
        crop=True,
        load_start_pos_w=1,
        load_start_pos_h=2,
        crop_size_w=5,
        crop_size_h=1,
        padding=True,
        left_padding_size=1,
        top_padding_size=2,
    )
    assert part.window == (2, 1, 1, 5)
    assert part.output_size == (3, 6)


def test_channels_are_one_for_gray_results() -> None:
    assert AippSettings(input_format="YUV400_U8").channels == 1
    assert AippSettings().channels == 3
    gray = AippSettings(csc_switch=True, matrix=(76, 150, 30, 0, 0, 0, 0, 0, 0))
    assert gray.channels == 1
    assert AippSettings(csc_switch=True, output_bias=(0, 0, 1)).channels == 3


def test_settings_survive_as_attributes() -> None:
    settings = AippSettings(crop=True, crop_size_w=3, crop_size_h=3, padding_value=0.5)
    stored: dict[str, object] = {
        name: list(value) if isinstance(value, tuple) else int(value) if value is True else value
        for name, value in settings.attributes().items()
    }
    again = AippSettings.from_attributes({**stored, "other": 1})
    assert again == settings
    assert again.crop is True


def test_unknown_format_is_refused() -> None:
    with pytest.raises(AtcError, match="'RAW10' is not a picture format"):
        image_format("RAW10")
