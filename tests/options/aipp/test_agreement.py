"""Random configurations and buffers: the checks accept what the device computes, and nothing else."""

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from atc_py.diag import AtcError
from atc_py.options.aipp import (
    AippSettings,
    NetworkInput,
    checked,
    checked_pictures,
    parameter_bytes,
    settings_of_bytes,
    source_bytes,
    source_shape,
)
from atc_py.options.aipp.fields import AIPP_FIELDS
from atc_py.options.aipp.file import check_values, parse_aipp
from atc_py.options.aipp.image_formats import IMAGE_FORMATS
from tests.options.aipp.formula import expected_tensor
from tests.options.aipp.test_formula import run_device, run_dynamic
from tests.sampling import examples

SIZE = st.sampled_from([6, 8, 8, 6, 8, 7, 0])
START = st.sampled_from([0, 2, 0, 2, 1, 4])
PART = st.sampled_from([4, 4, 2, 3, 1, 6, 0])
SWITCH = st.sampled_from(["true", "false"])
VALUES = {
    "input_format": st.sampled_from([row.name for row in IMAGE_FORMATS]),
    "src_image_size_w": SIZE,
    "src_image_size_h": SIZE,
    "crop": SWITCH,
    "load_start_pos_w": START,
    "load_start_pos_h": START,
    "crop_size_w": PART,
    "crop_size_h": PART,
    "padding": SWITCH,
    "left_padding_size": st.integers(0, 3),
    "top_padding_size": st.integers(0, 3),
    "padding_value": st.integers(-300, 300),
    "csc_switch": SWITCH,
    "matrix_r0c0": st.integers(-400, 400),
    "rbuv_swap_switch": SWITCH,
    "ax_swap_switch": SWITCH,
    "mean_chn_0": st.integers(-3, 258),
    "var_reci_chn_1": st.sampled_from(["0.5", "-2", "1e-3"]),
}
"""Small values of most fields; pictures of these sizes are computed pixel by pixel."""


SIZES = {"input_format", "src_image_size_w", "src_image_size_h", "crop_size_w", "crop_size_h"}
"""Fields that are always there."""


@st.composite
def configurations(draw: st.DrawFn) -> tuple[str, tuple[int, int]]:
    """Return a configuration of static AIPP and a network's size, which mostly fit."""
    given = {
        name: draw(values)
        for name, values in VALUES.items()
        if name in SIZES or draw(st.booleans())
    }
    fields = "\n".join(f"{name}: {value}" for name, value in given.items())
    return f"aipp_op {{ aipp_mode: static\n{fields} }}", (
        made(given, "h", "top") + draw(ODDLY),
        made(given, "w", "left") + draw(ODDLY),
    )


ODDLY = st.sampled_from([0, 0, 0, 0, 0, 0, 0, 1])
"""What a size is off by."""


def made(values: dict[str, Any], side: str, border: str) -> int:
    """Return height or width of what a configuration makes."""
    size: int = values.get(f"src_image_size_{side}", 0) or 4
    if values.get("crop") == "true":
        size = values.get(f"crop_size_{side}", 0) or size
    if values.get("padding") == "true":
        size += values.get(f"{border}_padding_size", 0)
    return size


def picture_of(found: AippSettings, seed: int) -> NDArray[np.uint8]:
    """Return the bytes of random pictures."""
    shape = source_shape(replace(found, aipp_mode="static"), 1)
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


@examples(150)
@given(configurations(), st.booleans(), st.integers(0, 9))
def test_accepted_configuration_runs_and_is_right(
    drawn: tuple[str, tuple[int, int]], as_bytes: bool, seed: int
) -> None:
    text, size = drawn
    (config,) = parse_aipp("f", text).configs
    channels = 1 if "YUV400" in text else 3
    network = NetworkInput(name="x", shape=(1, channels, *size), is_uint8=as_bytes)
    try:
        check_values(config)
        found = checked(config, network)
    except AtcError as error:
        (cause,) = error.diagnostics
        place = cause.place
    else:
        picture = picture_of(found, seed)
        tensor = run_device(found, picture, channels, as_bytes=as_bytes)
        assert tensor.shape == network.shape
        wanted = expected_tensor(found, picture[0], channels, as_bytes=as_bytes)
        np.testing.assert_array_equal(tensor[0], wanted)
        return
    assert cause.code.id == "ATC2022"
    assert place is not None
    assert place.line
    assert place.field in {row.name for row in AIPP_FIELDS}


BASE = AippSettings(
    aipp_mode="dynamic",
    src_image_size_w=6,
    src_image_size_h=4,
    crop=True,
    crop_size_w=4,
    crop_size_h=2,
    padding=True,
    left_padding_size=1,
)
NETWORK = NetworkInput(name="x", shape=(2, 3, 2, 5))
MOST = 300


@examples(150)
@given(
    st.sampled_from([row.name for row in IMAGE_FORMATS if row.buffer_code]),
    st.lists(st.tuples(st.integers(0, 255), st.integers(0, 255)), max_size=3),
)
def test_accepted_buffer_runs(name: str, changes: list[tuple[int, int]]) -> None:
    data = bytearray(parameter_bytes([replace(BASE, input_format=name)] * 2))
    for at, value in changes:
        data[at] = value
    try:
        pictures = settings_of_bytes(bytes(data))
        checked_pictures(pictures, NETWORK, MOST)
    except AtcError as error:
        assert {found.code.id for found in error.diagnostics} == {"ATC2022"}  # noqa: PT017
        return
    assert source_bytes(pictures[0], 2) <= MOST
    blob = np.random.default_rng(0).integers(0, 256, (1, MOST), np.uint8)
    found = run_dynamic(blob, np.frombuffer(bytes(data), np.uint8), NETWORK.shape)
    assert found.shape == NETWORK.shape


@given(st.data())
def test_settings_survive_as_bytes(data: st.DataObject) -> None:
    def numbers(low: int, high: int, count: int) -> tuple[int, ...]:
        drawn: list[Any] = data.draw(
            st.lists(st.integers(low, high), min_size=count, max_size=count)
        )
        return tuple(drawn)

    halves = st.integers(0, 0x7BFF).map(lambda bits: float(np.uint16(bits).view(np.float16)))
    four = st.tuples(halves, halves, halves, halves)
    size, start, crop = numbers(0, 4096, 2), numbers(0, 4095, 2), numbers(0, 4096, 2)
    made = AippSettings(
        aipp_mode="dynamic",
        input_format=data.draw(
            st.sampled_from([row.name for row in IMAGE_FORMATS if row.buffer_code])
        ),
        src_image_size_w=size[0],
        src_image_size_h=size[1],
        crop=data.draw(st.booleans()),
        load_start_pos_w=start[0],
        load_start_pos_h=start[1],
        crop_size_w=crop[0],
        crop_size_h=crop[1],
        csc_switch=data.draw(st.booleans()),
        matrix=numbers(-32677, 32676, 9),
        input_bias=numbers(0, 255, 3),
        output_bias=numbers(0, 255, 3),
        mean_chn=numbers(0, 255, 4),
        min_chn=data.draw(four),
        var_reci_chn=data.draw(four),
    )
    assume(made.src_image_size_w)
    assert settings_of_bytes(parameter_bytes([made])) == (made,)
