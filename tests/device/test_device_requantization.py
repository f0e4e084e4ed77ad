"""AscendRequant and the S16 pair on the device, against formulas in whole numbers and fractions."""

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.tensor.dtypes import DType
from tests.device.models import Array, run_operator
from tests.device.nodes import refusal
from tests.device.rationals import SINGLE, held, step
from tests.failures import in_one_item
from tests.sampling import examples, some

I8, I16 = DType.INT8, DType.INT16
SUMS = (
    *(
        0,
        1,
        -1,
        2,
        -2,
        3,
        5,
        -5,
        7,
        126,
        127,
        128,
        129,
        -127,
        -128,
        -129,
        -130,
        255,
        256,
        257,
        1000,
    ),
    *(32766, 32767, 32768, -32767, -32768, -32769, 65535, 65536, -65536, 2**24 + 1, 2**24 + 3),
    *(2**31 - 1, 2**31 - 65, -(2**31), -(2**31) + 129),
)
FACTORS = (1.0, 0.5, 0.25, 1.5, 0.1, 1 / 3, 1e-3, 2.0**-24, 1e-40, 3e38, 0.0, -0.5)
OFFSETS = (0, 1, -1, 127, -128, 255, -256)


def word_of(factor: float, offset: int = 0, shift: int = 1, above: int = 0) -> int:
    """Return a hardware word, put together bit by bit; `above` are bits 63:46."""
    bits = int(np.array([factor], np.float32).view(np.uint32)[0])
    return bits | (shift - 1) << 32 | (offset % 512) << 37 | above << 46


def factor_of(word: int) -> float:
    """Return the factor that the device reads: a float32 without its low 13 bits."""
    return float(np.array([word & 0xFFFFE000], np.uint32).view(np.float32)[0])


def requantized(x: int, word: int, offset: int, *, relu: bool = False) -> int:
    """Return one element: x and the product rounded to float32, then to the even neighbor."""
    product = step(SINGLE, operator.mul, SINGLE.round(x), factor_of(word))
    if relu and product < 0:
        product = 0.0
    return held(product, lambda value: round(value) + offset, -128, 127)


# AscendRequant ----------------------------------------------------------------------------------


@in_one_item("relu", [False, True])
@in_one_item("offset", OFFSETS)
@in_one_item("factor", FACTORS)
def test_requant_is_the_formula(factor: float, offset: int, relu: bool) -> None:
    x = np.array(SUMS, np.int32)
    word = word_of(factor, offset, shift=16, above=0x1234)
    inputs: list[Array | None] = [x, np.array([word], np.uint64)]
    (found,) = run_operator("AscendRequant", inputs, [(I8, x.shape)], {"relu_flag": relu})
    expected = [requantized(value, word, offset, relu=relu) for value in SUMS]
    assert found.tolist() == expected


def test_requant_takes_ties_to_even_before_the_offset() -> None:
    x = np.array([1, 3, 5, -1, -3, -5], np.int32)
    inputs: list[Array | None] = [x, np.array([word_of(0.5, 1)], np.uint64)]
    (found,) = run_operator("AscendRequant", inputs, [(I8, (6,))], {})
    assert found.tolist() == [1, 3, 3, 1, -1, -1]


@pytest.mark.parametrize(("factor", "expected"), [(math.inf, [0, 127, -128]), (math.nan, [0] * 3)])
def test_requant_by_no_number(factor: float, expected: list[int]) -> None:
    inputs: list[Array | None] = [
        np.array([0, 1, -1], np.int32), np.array([word_of(factor, 7)], np.uint64),
    ]  # fmt: skip
    (found,) = run_operator("AscendRequant", inputs, [(I8, (3,))], {})
    assert found.tolist() == expected


@given(
    st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=40),
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    st.integers(-256, 255),
    st.booleans(),
)
@examples(100)
def test_requant_of_anything(values: list[int], factor: float, offset: int, relu: bool) -> None:
    word = word_of(factor, offset)
    inputs: list[Array | None] = [np.array(values, np.int32), np.array([word], np.uint64)]
    attributes: dict[str, Any] = {"relu_flag": relu}
    (found,) = run_operator("AscendRequant", inputs, [(I8, (len(values),))], attributes)
    assert found.tolist() == [requantized(value, word, offset, relu=relu) for value in values]


@pytest.mark.parametrize(
    ("shape", "axis"), [((5, 3), 1), ((2, 3, 4), 1), ((2, 4, 3), 2), ((2, 3, 2, 2), 1)]
)
def test_requant_per_channel(shape: tuple[int, ...], axis: int) -> None:
    x = np.arange(math.prod(shape), dtype=np.int32).reshape(shape) - 9
    parts = [(0.5, 3), (1.0, -100), (2.0, 0)]
    words = np.array([word_of(*part) for part in parts], np.uint64)
    (found,) = run_operator("AscendRequant", [x, words], [(I8, shape)], {})
    for index in np.ndindex(shape):
        at = index[axis]
        assert found[index] == requantized(int(x[index]), int(words[at]), parts[at][1]), index


# AscendRequantS16 -------------------------------------------------------------------------------

EDGES = (0, 1, -1, 2, 100, -100, 127, 128, -129, 20000, -20000, 32766, 32767, -32767, -32768)


def summed(one: int, other: int) -> int:
    """Return the sum of two int16, which saturates."""
    return min(max(one + other, -32768), 32767)


@in_one_item("dual", [False, True])
@in_one_item("relu", [False, True])
@in_one_item("with_addend", [False, True])
@in_one_item(("factor", "offset"), [(1.0, 0), (0.5, 5), (1 / 256, -256), (0.003, 255)])
def test_requant_s16_is_the_formula(
    dual: bool, relu: bool, with_addend: bool, factor: float, offset: int
) -> None:
    pairs = [(one, other) for one in EDGES for other in EDGES]
    x0, x1 = np.array(pairs, np.int16).T.reshape(2, 1, 1, -1)
    word = word_of(factor, offset)
    inputs: list[Array | None] = [x0, np.array([word], np.uint64)]
    inputs += [x1] if with_addend else []
    attributes: dict[str, Any] = {"dual_output": dual, "relu_flag": relu}
    outputs = [(I8, x0.shape), (I16, x0.shape)][: 2 if dual else 1]
    found = run_operator("AscendRequantS16", inputs, outputs, attributes)
    totals = [summed(one, other) if with_addend else one for one, other in pairs]
    if relu:
        totals = [max(total, 0) for total in totals]
    assert found[0].reshape(-1).tolist() == [requantized(x, word, offset) for x in totals]
    if dual:
        assert found[1].reshape(-1).tolist() == totals


def test_requant_s16_per_channel() -> None:
    x = np.array([[[[100]], [[100]]]], np.int16)
    words = np.array([word_of(0.5, 1), word_of(0.25, -1)], np.uint64)
    (found,) = run_operator("AscendRequantS16", [x, words], [(I8, x.shape)], {})
    assert found.reshape(-1).tolist() == [51, 24]


# AscendDequantS16 -------------------------------------------------------------------------------


def test_requant_s16_of_a_scalar() -> None:
    x, words = np.array(-7, np.int16), np.array([word_of(0.5)], np.uint64)
    (y,) = run_operator("AscendRequantS16", [x, words, x], [(I8, ())], {"relu_flag": False})
    assert y.tolist() == -7
    (y,) = run_operator("AscendRequantS16", [x, words], [(I8, ())], {"relu_flag": True})
    assert y.tolist() == 0


@in_one_item("shift", some(range(1, 17), 5))
@in_one_item("relu", [False, True])
def test_dequant_s16_is_the_formula(shift: int, relu: bool) -> None:
    x = np.array(SUMS, np.int32).reshape(1, 1, 1, -1)
    word = word_of(1.5, offset=-3, shift=shift, above=0x3)  # what is not N means nothing here
    for addend in (None, *EDGES):
        inputs: list[Array | None] = [x, np.array([word], np.uint64)]
        inputs += [] if addend is None else [np.array([addend], np.int16)]
        (found,) = run_operator("AscendDequantS16", inputs, [(I16, x.shape)], {"relu_flag": relu})
        low = 0 if relu else -32768
        shifted = [min(max(math.floor(value / 2**shift), low), 32767) for value in SUMS]
        assert found.reshape(-1).tolist() == [summed(value, addend or 0) for value in shifted]


@pytest.mark.parametrize(("shape", "axis"), [((5, 3), 1), ((2, 3, 2, 2), 1)])
def test_dequant_s16_per_channel(shape: tuple[int, ...], axis: int) -> None:
    x = (np.arange(math.prod(shape), dtype=np.int32).reshape(shape) - 7) * 99
    shifts, addends = [1, 4, 16], [0, 300, -5]
    words = np.array([word_of(0, shift=shift) for shift in shifts], np.uint64)
    inputs: list[Array | None] = [x, words, np.array(addends, np.int16)]
    (found,) = run_operator("AscendDequantS16", inputs, [(I16, shape)], {})
    for index in np.ndindex(shape):
        at = index[axis]
        assert found[index] == (int(x[index]) >> shifts[at]) + addends[at], index


def test_dequant_s16_adds_a_whole_tensor() -> None:
    x, addend = np.full((1, 2, 2, 1), 8, np.int32), np.arange(4, dtype=np.int16)
    inputs: list[Array | None] = [x, np.array([0], np.uint64), addend.reshape(x.shape)]
    (found,) = run_operator("AscendDequantS16", inputs, [(I16, x.shape)], {})
    assert found.reshape(-1).tolist() == [4, 5, 6, 7]


# What is refused --------------------------------------------------------------------------------

X = np.ones((2, 3, 4, 5), np.int32)
SHORT = X.astype(np.int16)
WORDS = np.ones(3, np.uint64)


@in_one_item(
    ("op", "inputs", "results", "attributes", "words"),
    [
        ("AscendRequant", [SHORT, WORDS], [I8], {}, "x must be int32"),
        ("AscendRequant", [X, WORDS.astype(np.int64)], [I8], {}, "req_scale must be uint64"),
        ("AscendRequant", [X, WORDS[:0]], [I8], {}, "1 element or 1 for each channel"),
        ("AscendRequant", [X, WORDS], [I16], {}, "the result is int8"),
        ("AscendRequantS16", [X, WORDS], [I8], {}, "x0 must be int16"),
        ("AscendRequantS16", [SHORT, WORDS[:2]], [I8], {}, "1 element or 1 for each channel"),
        ("AscendRequantS16", [SHORT, WORDS, SHORT[:1]], [I8], {}, "like x0, found int16 1x3x4x5"),
        ("AscendRequantS16", [SHORT, WORDS, X], [I8], {}, "like x0, found int32"),
        ("AscendRequantS16", [SHORT, WORDS], [I8, I16], {}, "the result is int8 2x3x4x5, but"),
        ("AscendRequantS16", [SHORT, WORDS], [I8], {"dual_output": True}, "int16 2x3x4x5, but"),
        ("AscendDequantS16", [SHORT, WORDS], [I16], {}, "x0 must be int32"),
        ("AscendDequantS16", [X, WORDS, X], [I16], {}, "x1 must be int16"),
        ("AscendDequantS16", [X, WORDS, SHORT[0, 0]], [I16], {}, "x1 must have 1 element or 1 for"),
    ],
)  # fmt: skip
def test_a_bad_requantization_is_refused(
    op: str,
    inputs: Sequence[Array | None],
    results: Sequence[DType],
    attributes: dict[str, Any],
    words: str,
) -> None:
    assert words in refusal(op, inputs, [(dtype, (2, 3, 4, 5)) for dtype in results], attributes)
