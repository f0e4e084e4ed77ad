"""Scale words: both packings bit by bit, there and back, and what does not fit."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.tensor.scale_words import (
    GraphWords,
    HardwareWords,
    WordRangeError,
    channel_axis,
    decode_graph,
    decode_hardware,
    encode_graph,
    encode_hardware,
)
from tests.failures import in_one_item
from tests.sampling import examples

ONE = 0x3F800000  # the bits of 1.0
FACTORS = st.floats(width=32, allow_nan=False, allow_infinity=False)
WORD = st.integers(0, 2**64 - 1)


def graph(scale: float = 1.0, shift: int = 0, offset_w: int = 0) -> GraphWords:
    return GraphWords(np.array([scale], np.float32), np.array([shift]), np.array([offset_w]))


def hardware(
    scale: float = 1.0, shift: int = 1, offset: int = 0, *, relu: bool = False, signed: bool = False
) -> HardwareWords:
    return HardwareWords(
        np.array([scale], np.float32),
        np.array([shift]),
        np.array([offset]),
        np.array([relu]),
        np.array([signed]),
    )


@pytest.mark.parametrize(
    ("parts", "word"),
    [
        (graph(), ONE),
        (graph(-0.0), 0x80000000),
        (graph(2.0**-149), 1),
        (graph(shift=1), ONE | 1 << 32),
        (graph(shift=16), ONE | 1 << 36),
        (graph(shift=255), ONE | 0xFF << 32),
        (graph(offset_w=127), ONE | 0x7F << 40),
        (graph(offset_w=-1), ONE | 0xFF << 40),
        (graph(offset_w=-128), ONE | 0x80 << 40),
    ],
)
def test_graph_word_bit_by_bit(parts: GraphWords, word: int) -> None:
    assert encode_graph(parts).tolist() == [word]
    found = decode_graph(np.array([word | 0xFFFF << 48], np.uint64))
    assert found.scale.tobytes() == parts.scale.tobytes()
    assert (found.shift, found.offset_w) == (parts.shift, parts.offset_w)


@pytest.mark.parametrize(
    ("parts", "word"),
    [
        (hardware(), ONE),
        (hardware(shift=2), ONE | 1 << 32),
        (hardware(shift=16), ONE | 15 << 32),
        (hardware(offset=255), ONE | 0xFF << 37),
        (hardware(offset=-1), ONE | 0x1FF << 37),
        (hardware(offset=-256), ONE | 0x100 << 37),
        (hardware(signed=True), ONE | 1 << 46),
        (hardware(relu=True), ONE | 1 << 47),
        (hardware(1 + 2.0**-10), ONE | 1 << 13),
    ],
)
def test_hardware_word_bit_by_bit(parts: HardwareWords, word: int) -> None:
    assert encode_hardware(parts).tolist() == [word]
    meaningless = 0xFFFF << 48 | 1 << 36 | 0x1FFF
    found = decode_hardware(np.array([word | meaningless], np.uint64))
    assert found.scale.tobytes() == parts.scale.tobytes()
    assert (found.shift, found.offset) == (parts.shift, parts.offset)
    assert (found.relu, found.signed) == (parts.relu, parts.signed)


def test_hardware_factor_is_cut_off_toward_zero() -> None:
    for sign in (1, -1):
        words = encode_hardware(hardware(sign * (1 + 2.0**-10 - 2.0**-23)))
        assert decode_hardware(words).scale == sign


@given(st.lists(WORD, max_size=9))
@examples(200)
def test_words_come_back(words: list[int]) -> None:
    array = np.array(words, np.uint64)
    finite = array[np.isfinite(decode_graph(array).scale)]
    assert np.array_equal(encode_graph(decode_graph(finite)), finite & np.uint64(2**48 - 1))
    kept = np.uint64(0xFFEF_FFFF_E000)
    assert np.array_equal(encode_hardware(decode_hardware(finite)), finite & kept)


@given(FACTORS, st.integers(0, 255), st.integers(-128, 127))
@examples(200)
def test_graph_parts_come_back(scale: float, shift: int, offset: int) -> None:
    found = decode_graph(encode_graph(graph(scale, shift, offset)))
    assert found.scale.tobytes() == np.float32(scale).tobytes()
    assert (found.shift[0], found.offset_w[0]) == (shift, offset)


@given(FACTORS, st.integers(1, 16), st.integers(-256, 255), st.booleans(), st.booleans())
@examples(200)
def test_hardware_parts_come_back(
    scale: float, shift: int, offset: int, relu: bool, signed: bool
) -> None:
    parts = hardware(scale, shift, offset, relu=relu, signed=signed)
    found = decode_hardware(encode_hardware(parts))
    assert abs(float(found.scale[0])) <= abs(scale)
    assert abs(float(found.scale[0]) - scale) <= max(abs(scale) * 2.0**-10, 2.0**-136)
    assert (found.shift[0], found.offset[0]) == (shift, offset)
    assert (found.relu[0], found.signed[0]) == (relu, signed)


def test_arrays_of_any_shape_are_taken() -> None:
    words = np.arange(6, dtype=np.uint64).reshape(2, 3) << np.uint64(37)
    assert decode_hardware(words).offset.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert decode_graph(words[:0]).scale.shape == (0, 3)


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (graph(float("inf")), "scale must be finite"),
        (graph(float("nan")), "scale must be finite"),
        (graph(shift=-1), "shift must be in [0, 255], found -1"),
        (graph(shift=256), "shift must be in [0, 255], found 256"),
        (graph(offset_w=-129), "offset_w must be in [-128, 127], found -129"),
        (graph(offset_w=128), "offset_w must be in [-128, 127], found 128"),
        (hardware(float("-inf")), "scale must be finite"),
        (hardware(shift=0), "shift must be in [1, 16], found 0"),
        (hardware(shift=17), "shift must be in [1, 16], found 17"),
        (hardware(offset=-257), "offset must be in [-256, 255], found -257"),
        (hardware(offset=256), "offset must be in [-256, 255], found 256"),
    ],
)
def test_what_does_not_fit_is_refused(parts: Any, text: str) -> None:
    encode: Any = encode_graph if isinstance(parts, GraphWords) else encode_hardware
    with pytest.raises(WordRangeError) as caught:
        encode(parts)
    assert str(caught.value) == text


@in_one_item(
    ("shape", "count", "axis"),
    [
        ((), 1, None),
        ((3,), 3, 0),
        ((3,), 2, None),
        ((2, 3), 3, 1),
        ((2, 3), 2, None),
        ((2, 3, 4), 3, 1),
        ((2, 3, 4), 4, 2),
        ((2, 3, 4), 2, None),
        ((2, 4, 4), 4, 1),
        ((1, 8, 5, 6), 8, 1),
        ((1, 8, 5, 6), 6, 3),
        ((1, 8, 5, 6), 5, None),
        ((1, 8, 3, 5, 6), 8, 1),
        ((2, 0), 0, 1),
    ],
)
def test_channel_axis(shape: Sequence[int], count: int, axis: int | None) -> None:
    assert channel_axis(tuple(shape), count) == axis
