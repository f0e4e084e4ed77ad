"""The device's AIPP against the formula pixel by pixel: formats, swaps, colors, crops, borders."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from atc_py.options.aipp import AippSettings, parameter_bytes, source_shape
from atc_py.options.aipp.image_formats import IMAGE_FORMATS
from atc_py.tensor.dtypes import DType
from tests.device.models import ModelBuilder, run_model, run_operator
from tests.options.aipp.formula import expected_tensor, half
from tests.sampling import alternating, some

FORMATS = [row.name for row in IMAGE_FORMATS]
SWITCHES = [False, True]


def run_device(
    settings: AippSettings, pictures: NDArray[np.uint8], channels: int, *, as_bytes: bool
) -> NDArray[Any]:
    """Return the tensor that the device makes."""
    shape = (len(pictures), channels, *settings.output_size)
    dtype = DType.UINT8 if as_bytes else DType.FLOAT16
    attributes: dict[str, Any] = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in settings.attributes().items()
    }
    (found,) = run_operator("Aipp", [pictures], [(dtype, shape)], attributes)
    return found


def random_settings(name: str, random: np.random.Generator, **given: Any) -> AippSettings:
    """Return settings with random numbers wherever `given` says nothing."""
    drawn: dict[str, Any] = {
        "mean_chn": tuple(random.integers(0, 256, 4).tolist()),
        "min_chn": tuple(random.uniform(-3, 120, 4).tolist()),
        "var_reci_chn": tuple(random.uniform(-0.05, 2, 4).tolist()),
    }
    if given.get("csc_switch"):
        drawn["matrix"] = tuple(random.integers(-600, 601, 9).tolist())
        drawn["input_bias"] = tuple(random.integers(0, 256, 3).tolist())
        drawn["output_bias"] = tuple(random.integers(0, 256, 3).tolist())
    height, width = 2 * int(random.integers(3, 5)), 2 * int(random.integers(3, 6))
    if given.get("crop"):
        top, left = int(random.integers(0, height - 1)), int(random.integers(0, width - 1))
        drawn["load_start_pos_h"], drawn["load_start_pos_w"] = top, left
        drawn["crop_size_h"] = int(random.integers(1, height - top + 1))
        drawn["crop_size_w"] = int(random.integers(1, width - left + 1))
    if given.get("padding"):
        for side in ("left", "right", "top", "bottom"):
            drawn[f"{side}_padding_size"] = int(random.integers(0, 4))
        drawn["padding_value"] = float(np.float16(random.uniform(-300, 300)))
    return AippSettings(
        input_format=name, src_image_size_h=height, src_image_size_w=width, **drawn, **given
    )


@pytest.mark.parametrize(
    ("format_and_csc", "as_bytes"),
    alternating(
        [(name, csc) for name, csc in product(FORMATS, SWITCHES) if not csc or name != "YUV400_U8"],
        SWITCHES,
    ),
)
def test_device_follows_the_formula(format_and_csc: tuple[str, bool], as_bytes: bool) -> None:
    name, csc = format_and_csc
    random = np.random.default_rng(len(name) + 100 * csc + 10 * as_bytes)
    channels = 1 if name == "YUV400_U8" else 3
    first = (len(name) + csc + 2 * as_bytes) % 4
    for swap, ax_swap, crop, padding in some(product(SWITCHES, repeat=4), 4, first):
        settings = random_settings(
            name,
            random,
            csc_switch=csc,
            rbuv_swap_switch=swap,
            ax_swap_switch=ax_swap,
            crop=crop,
            padding=padding,
        )
        pictures = random.integers(0, 256, source_shape(settings, 2), np.uint8)
        found = run_device(settings, pictures, channels, as_bytes=as_bytes)
        for picture, tensor in zip(pictures, found, strict=True):
            wanted = expected_tensor(settings, picture, channels, as_bytes=as_bytes)
            assert tensor.dtype == wanted.dtype
            np.testing.assert_array_equal(tensor, wanted)


GRAY = (76, 150, 30, 0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "YUV400_U8"])
def test_matrix_of_one_row_gives_one_channel(name: str) -> None:
    random = np.random.default_rng(len(name))
    settings = replace(
        random_settings(name, random, csc_switch=True), matrix=GRAY, output_bias=(7, 0, 0)
    )
    assert settings.channels == 1
    pictures = random.integers(0, 256, source_shape(settings, 1), np.uint8)
    found = run_device(settings, pictures, 1, as_bytes=False)
    wanted = expected_tensor(settings, pictures[0], 1, as_bytes=False)
    np.testing.assert_array_equal(found[0], wanted)


def test_dynamic_settings_give_what_static_ones_give() -> None:
    random = np.random.default_rng(3)
    for row in IMAGE_FORMATS:
        if row.buffer_code is None:
            continue
        settings = random_settings(
            row.name, random, csc_switch=not row.is_gray, crop=True, padding=True
        )
        settings = replace(settings, padding_value=0.0)
        channels = settings.channels
        pictures = random.integers(0, 256, source_shape(settings, 2), np.uint8)
        wanted = run_device(settings, pictures, channels, as_bytes=False)
        most = pictures.size + 5
        blob = np.zeros((1, most), np.uint8)
        blob[0, : pictures.size] = pictures.reshape(-1)
        params = np.frombuffer(parameter_bytes([settings, settings]), np.uint8)
        np.testing.assert_array_equal(run_dynamic(blob, params, wanted.shape), wanted)


def run_dynamic(blob: NDArray[Any], params: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the tensor of dynamic AIPP, whose dims the model must state."""
    builder = ModelBuilder()
    inputs = [
        builder.input("images", "uint8", blob.shape),
        builder.input("params", "uint8", params.shape),
    ]
    attributes: dict[str, Any] = {"aipp_mode": "dynamic", "max_src_image_size": blob.size}
    (features,) = builder.node("Aipp", inputs, [("float16", shape)], attributes)
    builder.output("features", features)
    return run_model(builder.build(), {"images": blob, "params": params})["features"]


VECTORS = [
    ((298, 0, 409, 298, -100, -208, 298, 516, 0), 16, (16, 128, 128), (0, 0, 0)),
    ((298, 0, 409, 298, -100, -208, 298, 516, 0), 16, (235, 128, 128), (255, 255, 255)),
    ((298, 0, 409, 298, -100, -208, 298, 516, 0), 16, (81, 90, 240), (255, 0, 0)),
    ((298, 0, 409, 298, -100, -208, 298, 516, 0), 16, (145, 54, 34), (0, 255, 1)),
    ((298, 0, 409, 298, -100, -208, 298, 516, 0), 16, (41, 240, 110), (0, 0, 255)),
    ((298, 0, 409, 298, -100, -208, 298, 516, 0), 16, (128, 100, 200), (245, 83, 74)),
    ((256, 0, 359, 256, -88, -183, 256, 454, 0), 0, (76, 85, 255), (254, 0, 0)),
    ((256, 0, 359, 256, -88, -183, 256, 454, 0), 0, (128, 100, 200), (229, 86, 78)),
    ((298, 0, 459, 298, -55, -136, 298, 541, 0), 16, (128, 100, 200), (255, 98, 71)),
]
"""Recipes of YUV: matrix, bias of Y, a color and its result."""

RGB_VECTORS = [
    ((66, 129, 25, -38, -74, 112, 112, -94, -18), (16, 128, 128), (255, 0, 0), (82, 90, 240)),
    ((66, 129, 25, -38, -74, 112, 112, -94, -18), (16, 128, 128), (10, 200, 30), (122, 82, 57)),
    (GRAY, (0, 0, 0), (10, 200, 30), (124,)),
]


@pytest.mark.parametrize(("matrix", "bias", "yuv", "rgb"), VECTORS)
def test_vector_of_yuv(
    matrix: tuple[int, ...], bias: int, yuv: tuple[int, ...], rgb: tuple[int, ...]
) -> None:
    luma, u, v = yuv
    settings = AippSettings(
        input_format="YUV420SP_U8",
        src_image_size_w=2,
        src_image_size_h=2,
        csc_switch=True,
        matrix=matrix,
        input_bias=(bias, 128, 128),
        output_bias=(16, 128, 128),
    )
    picture = np.array([luma] * 4 + [u, v], np.uint8).reshape(1, 3, 2, 1)
    _same_color(settings, picture, rgb)
    packed = replace(settings, input_format="AYUV444_U8")
    _same_color(packed, np.array([[*yuv, 9]] * 4, np.uint8).reshape(1, 2, 2, 4), rgb)


@pytest.mark.parametrize(("matrix", "bias", "rgb", "yuv"), RGB_VECTORS)
def test_vector_of_rgb(
    matrix: tuple[int, ...], bias: tuple[int, ...], rgb: tuple[int, ...], yuv: tuple[int, ...]
) -> None:
    settings = AippSettings(
        src_image_size_w=2, src_image_size_h=2, csc_switch=True, matrix=matrix, output_bias=bias
    )
    _same_color(settings, np.array([rgb] * 4, np.uint8).reshape(1, 2, 2, 3), yuv)


def _same_color(settings: AippSettings, picture: NDArray[np.uint8], color: tuple[int, ...]) -> None:
    """Compare formula and device with one color."""
    wanted = np.array(color, np.uint8).reshape(-1, 1, 1)
    formula = expected_tensor(settings, picture[0], len(color), as_bytes=True)
    assert (formula == wanted).all()
    device = run_device(settings, picture, len(color), as_bytes=True)
    assert (device[0] == wanted).all()


def test_formula_rounds_as_float16_does() -> None:
    random = np.random.default_rng(0)
    for value in [*random.uniform(-6e4, 6e4, 500), *random.uniform(-1e-4, 1e-4, 500), 2049.0, 3e-8]:
        assert float(half(Fraction(float(value)))) == float(np.float16(value))
