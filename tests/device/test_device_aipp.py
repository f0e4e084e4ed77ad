"""The kernel of Aipp: recipes of colors by example, geometry pixel by pixel, steps in float16."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from atc_py.diag import AtcError
from atc_py.diag.codes import DEVICE_FAILED
from atc_py.tensor.dtypes import DType
from tests.device.models import ModelBuilder, run_model, run_operator
from tests.device.nodes import refusal

Array = NDArray[Any]

F16, U8 = DType.FLOAT16, DType.UINT8

NARROW = [298, 0, 409, 298, -100, -208, 298, 516, 0]
WIDE = [256, 0, 359, 256, -88, -183, 256, 454, 0]
BT709 = [298, 0, 459, 298, -55, -136, 298, 541, 0]
TO_YUV = [66, 129, 25, -38, -74, 112, 112, -94, -18]
TO_GRAY = [76, 150, 30, 0, 0, 0, 0, 0, 0]

RECIPES = [
    (NARROW, 16, (16, 128, 128), (0, 0, 0)),
    (NARROW, 16, (235, 128, 128), (255, 255, 255)),
    (NARROW, 16, (81, 90, 240), (255, 0, 0)),
    (NARROW, 16, (145, 54, 34), (0, 255, 1)),
    (NARROW, 16, (41, 240, 110), (0, 0, 255)),
    (NARROW, 16, (128, 100, 200), (245, 83, 74)),
    (WIDE, 0, (76, 85, 255), (254, 0, 0)),
    (WIDE, 0, (128, 100, 200), (229, 86, 78)),
    (BT709, 16, (128, 100, 200), (255, 98, 71)),
]


def settings(**changed: Any) -> dict[str, Any]:
    """Return attributes of pictures of 4 x 6 with `changed` ones."""
    return {"input_format": "RGB888_U8", "src_image_size_w": 6, "src_image_size_h": 4, **changed}


@pytest.mark.parametrize(("matrix", "bias", "yuv", "rgb"), RECIPES)
def test_recipe_of_yuv(
    matrix: list[int], bias: int, yuv: tuple[int, ...], rgb: tuple[int, ...]
) -> None:
    y, u, v = yuv
    picture = np.array([y] * 24 + [u, v] * 6, np.uint8).reshape(1, 6, 6, 1)
    attributes = settings(
        input_format="YUV420SP_U8",
        csc_switch=True,
        matrix=matrix,
        input_bias=[bias, 128, 128],
        output_bias=[16, 128, 128],  # does not count for YUV
    )
    (found,) = run_operator("Aipp", [picture], [(U8, (1, 3, 4, 6))], attributes)
    assert (found == np.array(rgb, np.uint8).reshape(1, 3, 1, 1)).all()


def test_recipes_of_rgb() -> None:
    picture = np.array([10, 200, 30] * 24, np.uint8).reshape(1, 4, 6, 3)
    given = {"csc_switch": True, "input_bias": [16, 128, 128]}  # does not count for RGB
    yuv = settings(matrix=TO_YUV, output_bias=[16, 128, 128], **given)
    (found,) = run_operator("Aipp", [picture], [(U8, (1, 3, 4, 6))], yuv)
    assert found[0, :, 0, 0].tolist() == [122, 82, 57]
    gray = settings(matrix=TO_GRAY, **given)
    (found,) = run_operator("Aipp", [picture], [(U8, (1, 1, 4, 6))], gray)
    assert (found == 124).all()


LAYOUTS = {
    "YUV420SP_U8": (6, 6, 1),
    "XRGB8888_U8": (4, 6, 4),
    "RGB888_U8": (4, 6, 3),
    "YUV400_U8": (4, 6, 1),
    "ARGB8888_U8": (4, 6, 4),
    "YUYV_U8": (4, 6, 2),
    "YUV422SP_U8": (8, 6, 1),
    "AYUV444_U8": (4, 6, 4),
}
PLAIN_YUV = {"YUV420SP_U8", "YUYV_U8", "YUV422SP_U8", "AYUV444_U8"}


def pixel(name: str, picture: Array, row: int, column: int, *, skip: bool) -> list[int]:
    """Return the channels of one pixel of a picture of 4 x 6."""
    flat = picture.reshape(-1)
    if name == "YUV420SP_U8":
        pair = 24 + row // 2 * 6 + column // 2 * 2
        return [int(flat[row * 6 + column]), int(flat[pair]), int(flat[pair + 1])]
    if name == "YUV422SP_U8":
        pair = 24 + row * 6 + column // 2 * 2
        return [int(flat[row * 6 + column]), int(flat[pair]), int(flat[pair + 1])]
    if name == "YUYV_U8":
        pair = row * 12 + column // 2 * 4
        return [int(flat[row * 12 + column * 2]), int(flat[pair + 1]), int(flat[pair + 3])]
    values = [int(value) for value in picture[row, column]]
    if len(values) == 4:
        return values[1:] if skip else values[:3]
    return values


def half(value: Fraction | float) -> Fraction:
    """Return a number rounded to float16."""
    return Fraction(float(np.float64(value).astype(np.float16)))


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("skip", [False, True])
def test_every_pixel_of_every_format(name: str, swap: bool, skip: bool) -> None:
    """A crop at odd places with a frame of other widths on each side, two pictures."""
    generator = np.random.default_rng(sum(map(ord, name)))
    pictures = generator.integers(0, 256, (2, *LAYOUTS[name])).astype(np.uint8)
    mean, low, factor = [3, 120, 255, 0], [0.1, 7.3, 0.0, 0.0], [0.0173, 1.1, 3e-5, 1.0]
    attributes = settings(
        input_format=name,
        rbuv_swap_switch=swap,
        ax_swap_switch=skip,
        crop=True,
        load_start_pos_w=1,
        load_start_pos_h=1,
        crop_size_w=4,
        crop_size_h=3,
        padding=True,
        left_padding_size=1,
        right_padding_size=3,
        top_padding_size=2,
        bottom_padding_size=0,
        padding_value=-0.3,
        mean_chn=mean,
        min_chn=low,
        var_reci_chn=factor,
    )
    channels = 1 if name == "YUV400_U8" else 3
    shape = (2, channels, 5, 8)
    (found,) = run_operator("Aipp", [pictures], [(F16, shape)], attributes)
    for n, c, row, column in np.ndindex(*shape):
        result = found[n, c, row, column]
        if row < 2 or column < 1 or column >= 5:
            assert result == np.float16(-0.3)
            continue
        values = pixel(name, pictures[n], row - 2 + 1, column - 1 + 1, skip=skip)
        if swap and len(values) == 3:
            first, second, third = values
            values = [first, third, second] if name in PLAIN_YUV else [third, second, first]
        centered = half(Fraction(values[c] - mean[c]) - half(np.float32(low[c])))
        assert Fraction(float(result)) == half(centered * half(np.float32(factor[c])))


def parameters(count: int, **changed: Any) -> Array:
    """Return a parameter buffer for `count` RGB pictures of 4 x 6, all alike."""
    data = np.zeros(64 + 96 * count, np.uint8)
    data[0] = changed.get("number", 5)
    data[4] = changed.get("batch", count)
    data[8:16] = np.array([6, 4], "<i4").view(np.uint8)
    for at in range(count):
        own = data[64 + 96 * at :][:96]
        own[0] = 1
        own[1] = changed.get("resize", 0)
        own[2] = 1
        own[8:24] = np.array([1, 0, 3, changed.get("rows", 2)], "<i4").view(np.uint8)
        own[40:56] = np.array([0, 1, 2, at], "<i4").view(np.uint8)
        own[56:64] = np.array([1, 2, 3 + at, 0], "<i2").view(np.uint8)
        own[64:72] = np.array([0.5, 0, 0, 0], "<f2").view(np.uint8)
        own[72:80] = np.array([0.25, 1, 2, 0], "<f2").view(np.uint8)
    return data


def run_dynamic(pictures: Array, params: Array, shape: tuple[int, ...]) -> Array:
    """Return the features of a run whose settings come with the data."""
    builder = ModelBuilder()
    inputs = [
        builder.input("images", "uint8", pictures.shape),
        builder.input("params", "uint8", params.shape),
    ]
    given: dict[str, Any] = {"aipp_mode": "dynamic", "max_src_image_size": pictures.size}
    (found,) = builder.node("Aipp", inputs, [("float16", shape)], given)
    builder.output("features", found)
    features: Array = run_model(builder.build(), {"images": pictures, "params": params})["features"]
    return features


def test_dynamic_settings_of_each_picture() -> None:
    generator = np.random.default_rng(3)
    pictures = generator.integers(0, 256, (1, 200)).astype(np.uint8)
    params = parameters(2)
    params[64 + 96 + 52] = 0
    found = run_dynamic(pictures, params, (2, 3, 3, 5))
    pixels = pictures[0, :144].reshape(2, 4, 6, 3).transpose(0, 3, 1, 2)
    for at in range(2):
        assert (found[at, :, 2] == 0).all()
        assert (found[at, :, :, :2] == 0).all()
        inside = pixels[at, :, :2, 1:4].astype(np.float16)
        mean = np.array([1, 2, 3 + at], np.float16).reshape(3, 1, 1)
        low = np.array([0.5, 0, 0], np.float16).reshape(3, 1, 1)
        factor = np.array([0.25, 1, 2], np.float16).reshape(3, 1, 1)
        np.testing.assert_array_equal(found[at, :, :2, 2:], (inside - mean - low) * factor)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"batch": 3}, "params are for 3 pictures, but the model takes 1"),
        ({"number": 3}, "the format of pictures must be one of 1 YUV420SP_U8"),
        ({"resize": 1}, "AIPP of this device does not resize or rotate pictures"),
        ({"rows": 1}, "params make [3, 2, 5] of picture 0, but the model takes [3, 3, 5]"),
        ({"rows": 9}, "the crop of 9 x 3 at row 0, column 1 is not inside a picture of 4 x 6"),
        ({"number": 2}, "1 pictures of 96 bytes are larger than max_src_image_size 72"),
    ],
)
def test_settings_of_a_run_are_checked(changed: dict[str, int], reason: str) -> None:
    with pytest.raises(AtcError) as caught:
        run_dynamic(np.zeros((1, 72), np.uint8), parameters(1, **changed), (1, 3, 3, 5))
    (found,) = caught.value.diagnostics
    assert found.code is DEVICE_FAILED
    assert reason in found.message


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"input_format": "RAW10"}, "input_format must be one of YUV420SP_U8, XRGB8888_U8"),
        ({"input_format": "YUV420SP_U8"}, "images of 36 bytes each do not fill uint8 1x4x6x3"),
        ({"src_image_size_w": 0}, "a picture must have pixels, found 4 rows of 0"),
        ({"crop": True, "crop_size_w": 7, "crop_size_h": 1}, "is not inside a picture of 4 x 6"),
        ({"matrix": [1]}, "matrix must have 9 elements"),
        ({"matrix": [40000] * 9}, "matrix must be -32768 to 32767"),
        ({"aipp_mode": "dynamic"}, "input 1 is absent"),
    ],
)
def test_node_that_contradicts_itself_is_refused(changed: dict[str, Any], reason: str) -> None:
    picture = np.zeros((1, 4, 6, 3), np.uint8)
    message = refusal("Aipp", [picture], [(F16, (1, 3, 4, 6))], settings(**changed))
    assert reason in message


def test_padding_of_bytes_is_clipped() -> None:
    picture = np.zeros((1, 4, 6, 3), np.uint8)
    attributes = settings(padding=True, left_padding_size=1, padding_value=300.5)
    (found,) = run_operator("Aipp", [picture], [(U8, (1, 3, 4, 7))], attributes)
    assert (found[..., 0] == 255).all()
    assert (found[..., 1:] == 0).all()
