"""AscendQuant, AscendAntiQuant and AscendDequant on the device, bit for bit against formulas.

The formulas are those of CANN's kernels, element by element: fractions for what ends in integers,
numpy's float16 and float32 scalars for what ends in floats.
"""

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.tensor.dtypes import DType
from tests import sampling
from tests.device.models import Array, run_operator
from tests.device.nodes import refusal
from tests.device.rationals import HALF, SINGLE, FloatFormat, held, step
from tests.failures import in_one_item
from tests.sampling import examples

F16, F32 = DType.FLOAT16, DType.FLOAT32
FORMATS = {F16: HALF, F32: SINGLE}
BOUNDS = {DType.INT4: (-8, 7), DType.INT8: (-128, 127), DType.INT16: (-32768, 32767)}
ROUNDINGS: dict[str, Callable[[Fraction], int]] = {
    "Round": round,
    "Floor": math.floor,
    "Ceil": math.ceil,
    "Trunc": math.trunc,
}
FINITE = (
    *(
        sign * (whole + part)
        for sign in (1, -1)
        for whole in (0, 1, 2, 7)
        for part in (0, 0.5, 0.7)
    ),
    *(sign * value for sign in (1, -1) for value in (6.5, 7.5, 7.501, 8, 8.5, 9)),
    *(sign * value for sign in (1, -1) for value in (126.5, 127, 127.44, 127.5, 128, 128.5, 129)),
    *(sign * value for sign in (1, -1) for value in (32766.5, 32767, 32768, 32769, 65504, 65519)),
    *(sign * value for sign in (1, -1) for value in (2**-24, 2**-25, 3 * 2**-25, 2**-14, 2**-149)),
    *(0.1, 1 / 3, -0.1, 2049.0, 1e5, -1e38),
)
VALUES = (*FINITE, math.inf, -math.inf, math.nan)
SCALES = (1.0, 0.5, 0.1, 255.0, 65504.0, 1e5, 2**-24, 3e-8, 0.0, 1.0001)
OFFSETS = (0.0, 1.0, -128.0, 127.0, 0.5, -0.3, 3.0004, 1e6)
PAIRS = (
    *((scale, 0.0) for scale in SCALES),
    *((1.0, offset) for offset in OFFSETS[1:]),
    (0.1, -3.0),
)


def number(value: float) -> float:
    """Return a number as an attribute of type float has it in a file."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def quantized(x: float, scale: float, offset: float, *, squared: bool, kind: FloatFormat) -> float:
    """Return the integers that AscendQuant rounds to."""
    found, factor = kind.round(x), kind.round(scale)
    if squared and kind is SINGLE:
        factor = step(kind, operator.mul, factor, factor)
    found = step(kind, operator.mul, found, factor)
    if squared and kind is HALF:
        found = step(kind, operator.mul, found, factor)
    return step(kind, operator.add, found, kind.round(offset))


def quantize(x: Array, **attributes: Any) -> Array:
    """Return AscendQuant of `x` on the device."""
    target = DType.parse(attributes.get("dst_type", "int8"))
    (found,) = run_operator("AscendQuant", [x], [(target, x.shape)], attributes)
    return found


@in_one_item("pair", sampling.some(PAIRS, 6))
@in_one_item("compute", [F16, F32])
@in_one_item("squared", [False, True])
def test_quant_is_the_formula(pair: tuple[float, float], compute: DType, squared: bool) -> None:
    scale, offset = map(number, pair)
    kind = FORMATS[compute]
    for taken in (F16, F32):
        with np.errstate(over="ignore"):
            x = np.array(VALUES, taken.numpy)
        steps = [
            quantized(value, scale, offset, squared=squared, kind=kind) for value in x.tolist()
        ]
        for target, (mode, rounding) in product(BOUNDS, ROUNDINGS.items()):
            found = quantize(
                x, scale=scale, offset=offset, sqrt_mode=squared, round_mode=mode,
                dst_type=target.value, compute_type=compute.value,
            )  # fmt: skip
            expected = [held(value, rounding, *BOUNDS[target]) for value in steps]
            assert found.tolist() == expected, (taken, target, mode)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("Round", [0, 2, 2, 4, 0, -2, -2, 127, -128]),
        ("Floor", [0, 1, 2, 3, -1, -2, -3, 127, -128]),
        ("Ceil", [1, 2, 3, 4, 0, -1, -2, 127, -128]),
        ("Trunc", [0, 1, 2, 3, 0, -1, -2, 127, -128]),
    ],
)
def test_quant_of_ties(mode: str, expected: list[int]) -> None:
    x = np.array([0.5, 1.5, 2.5, 3.5, -0.5, -1.5, -2.5, 127.5, -128.5], np.float16)
    assert quantize(x, scale=1.0, offset=0.0, round_mode=mode).tolist() == expected


def test_quant_of_more_than_a_block_is_that_of_its_elements() -> None:
    # blocks end at 32768; a NaN, a tie and both ends of the range stand on either side of each end
    odd = np.array([np.nan, 2.5, 1e4, -1e4, -0.0, np.inf], np.float16)
    x = np.arange(-50000, 50000, dtype=np.float32).astype(np.float16) / np.float16(256)
    for end in (32768, 65536, 98304):
        x[end - 6 : end + 6] = np.concatenate([odd, odd])
    for attributes in ({"offset": 0.0}, {"offset": -3.0}, {"offset": 0.0, "sqrt_mode": True}):
        whole = quantize(x, scale=3.0, **attributes)
        apart = [quantize(part, scale=3.0, **attributes) for part in np.split(x, 25)]
        np.testing.assert_array_equal(whole, np.concatenate(apart), strict=True)


def test_quant_rounds_each_step_to_float16() -> None:
    # 2049 is no float16, and neither is 2048 + 1: both become 2048, the even neighbor
    x = np.array([2049.0, 2048.0], np.float32)
    attributes: dict[str, Any] = {"scale": 1.0, "offset": 1.0, "dst_type": "int16"}
    assert quantize(x, **attributes).tolist() == [2048, 2048]
    assert quantize(x, **attributes, compute_type="float32").tolist() == [2050, 2049]


def test_quant_with_sqrt_mode_multiplies_twice() -> None:
    x = np.array([300.0, -240.0], np.float16)
    for compute in ("float16", "float32"):
        found = quantize(x, scale=number(0.1), offset=0.0, sqrt_mode=True, compute_type=compute)
        assert found.tolist() == [3, -2], compute


def test_quant_of_nan_is_0_and_of_infinity_the_end() -> None:
    x = np.array([np.nan, np.inf, -np.inf], np.float16)
    assert quantize(x, scale=1.0, offset=-5.0).tolist() == [0, 127, -128]
    assert quantize(x, scale=0.0, offset=-5.0).tolist() == [0, 0, 0]


@given(
    st.lists(st.floats(width=32), min_size=1, max_size=40),
    st.floats(width=32),
    st.floats(width=32),
    st.booleans(),
    st.tuples(
        st.sampled_from([*ROUNDINGS]), st.sampled_from([F16, F32]), st.sampled_from([*BOUNDS])
    ),
)
@examples(150)
def test_quant_of_anything(
    values: list[float],
    scale: float,
    offset: float,
    squared: bool,
    how: tuple[str, DType, DType],
) -> None:
    mode, compute, target = how
    attributes: dict[str, Any] = {
        "sqrt_mode": squared, "round_mode": mode, "dst_type": target.value,
    }  # fmt: skip
    found = quantize(
        np.array(values, np.float32), scale=scale, offset=offset, compute_type=compute.value,
        **attributes,
    )  # fmt: skip
    kind = FORMATS[compute]
    steps = [quantized(value, scale, offset, squared=squared, kind=kind) for value in values]
    assert found.tolist() == [held(value, ROUNDINGS[mode], *BOUNDS[target]) for value in steps]


# AscendAntiQuant --------------------------------------------------------------------------------

EVERY_INT8 = np.arange(-128, 128, dtype=np.int8)


@in_one_item("compute", [F16, F32])
@in_one_item("result", [F16, F32])
@in_one_item("squared", [False, True])
@in_one_item("scale", SCALES)
@in_one_item("offset", sampling.some(OFFSETS, 3))
def test_anti_quant_is_the_formula(
    compute: DType, result: DType, squared: bool, scale: float, offset: float
) -> None:
    attributes: dict[str, Any] = {
        "scale": number(scale), "offset": number(offset), "sqrt_mode": squared,
        "dtype": result.value, "compute_type": compute.value,
    }  # fmt: skip
    (found,) = run_operator("AscendAntiQuant", [EVERY_INT8], [(result, (256,))], attributes)
    step: Any = np.float16 if compute is F16 else np.float32
    with np.errstate(all="ignore"):
        factor, addend = step(number(scale)), step(number(offset))
        expected = []
        for value in EVERY_INT8.tolist():
            y = step(step(value) + addend) * factor
            expected.append(step(y * factor) if squared else step(y))
        rounded = np.array(expected).astype(result.numpy)
    assert _same(found, rounded)


def _same(found: Array, expected: Array) -> bool:
    """Return equal bits, but that one NaN is as good as another."""
    assert found.dtype == expected.dtype
    bits = np.dtype(f"u{found.dtype.itemsize}")
    nan = np.isnan(expected)
    same = np.where(nan, np.isnan(found), found.view(bits) == expected.view(bits))
    return bool(same.all())


# AscendDequant ----------------------------------------------------------------------------------

SUMS = np.array(
    [
        *(0, 1, -1, 2, 3, -7, 100, -100, 1000, 12345, -54321, 2047, 2048, 2049, 2051, 65503),
        *(65504, 65519, 65520, -65519, -65520, 2**24 - 1, 2**24, 2**24 + 1, 2**24 + 2, 2**24 + 3),
        *(2**31 - 1, -(2**31), 2**31 - 65, -(2**31) + 129),
    ],
    np.int32,
)
FACTORS = (1.0, 0.5, 0.1, 1 / 3, 1e-3, 7.0, 65504.0, 2**-14, 2**-24, 2**-20, 3 * 2**-24, -0.25)


def dequantized_by_half(x: int, factor: np.float16, *, squared: bool, relu: bool) -> np.float16:
    """Return y of one element, with a float16 factor."""
    y: np.float16 = np.float16(np.float32(x) * np.float32(factor))
    if relu:
        y = y if np.isnan(y) or y > 0 else np.float16(0)
    return y * factor if squared else y


def dequantized_by_word(x: int, word: int, *, relu: bool) -> np.float16:
    """Return y of one element, with a word."""
    factor = np.array([word & 0xFFFFE000], np.uint32).view(np.float32)[0]
    y: np.float16 = np.float16(np.float32(x) * factor)
    return np.float16(0) if relu and not np.isnan(y) and not y > 0 else y


def word_of(factor: float) -> int:
    """Return the graph word of a factor alone."""
    return int(np.array([factor], np.float32).view(np.uint32)[0])


@in_one_item("result", [F16, F32])
@in_one_item("squared", [False, True])
@in_one_item("relu", [False, True])
@in_one_item("factor", FACTORS)
def test_dequant_by_a_float16_is_the_formula(
    result: DType, squared: bool, relu: bool, factor: float
) -> None:
    scale = np.array([factor], np.float16)
    attributes: dict[str, Any] = {
        "sqrt_mode": squared, "relu_flag": relu, "dtype": result.value,
    }  # fmt: skip
    (found,) = run_operator("AscendDequant", [SUMS, scale], [(result, SUMS.shape)], attributes)
    with np.errstate(all="ignore"):
        expected = [
            dequantized_by_half(x, scale[0], squared=squared, relu=relu) for x in SUMS.tolist()
        ]
    assert _same(found, np.array(expected).astype(result.numpy))


@in_one_item("result", [F16, F32])
@in_one_item("relu", [False, True])
@in_one_item("factor", [*FACTORS, 1e-30, 2**-149, 3e38, math.inf, math.nan])
def test_dequant_by_a_word_is_the_formula(result: DType, relu: bool, factor: float) -> None:
    word = word_of(factor) | 0xABCD_0000_0000_0000 | 0x0000_FF10_0000_0000
    attributes: dict[str, Any] = {"relu_flag": relu, "dtype": result.value}
    inputs: list[Array | None] = [SUMS, np.array([word], np.uint64)]
    (found,) = run_operator("AscendDequant", inputs, [(result, SUMS.shape)], attributes)
    with np.errstate(all="ignore"):
        expected = [dequantized_by_word(x, word, relu=relu) for x in SUMS.tolist()]
    assert _same(found, np.array(expected).astype(result.numpy))


def test_dequant_reads_19_bits_of_a_factor() -> None:
    # 1 + 2^-10 is the next factor after 1 that the device has; what lies between is cut off
    words = np.array([word_of(1 + 2.0**-10 - 2.0**-23)], np.uint64)
    x = np.array([1, 1024], np.int32)
    (found,) = run_operator("AscendDequant", [x, words], [(F32, (2,))], {})
    assert found.tolist() == [1.0, 1024.0]


@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((6,), 0),
        ((4, 6), 1),
        ((2, 6, 5), 1),
        ((2, 5, 6), 2),
        ((2, 6, 3, 4), 1),
        ((2, 6, 1, 3, 2), 1),
    ],
)
@pytest.mark.parametrize("dtype", [np.uint64, np.float16])
@pytest.mark.parametrize("scale_shape", [(6,), (1, 6, 1, 1)])
def test_dequant_per_channel(
    shape: tuple[int, ...], axis: int, dtype: type[Any], scale_shape: tuple[int, ...]
) -> None:
    x = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
    factors = np.array([1, 2, 4, 0.5, 0.25, 8], np.float32)
    scale = factors.view(np.uint32) if dtype is np.uint64 else factors
    inputs: list[Array | None] = [x, scale.astype(dtype).reshape(scale_shape)]
    (found,) = run_operator("AscendDequant", inputs, [(F32, shape)], {})
    for index in np.ndindex(shape):
        assert found[index] == x[index] * factors[index[axis]]


# What is refused --------------------------------------------------------------------------------

X = np.ones((2, 3, 4, 5), np.int32)
WORDS = np.ones(3, np.uint64)


@in_one_item(
    ("op", "inputs", "result", "attributes", "words"),
    [
        ("AscendQuant", [X.astype(np.int8)], DType.INT8, {"scale": 1.0, "offset": 0.0},
         "x must be float16 or float32"),
        ("AscendQuant", [X.astype(np.float16)], DType.INT8,
         {"scale": 1.0, "offset": 0.0, "round_mode": "Rint"},
         "round_mode must be one of Round, Floor, Ceil, Trunc, found Rint"),
        ("AscendQuant", [X.astype(np.float16)], DType.INT32,
         {"scale": 1.0, "offset": 0.0, "dst_type": "int32"}, "dst_type must be int4 or int8 or int16"),
        ("AscendQuant", [X.astype(np.float16)], DType.INT8,
         {"scale": 1.0, "offset": 0.0, "compute_type": "int8"}, "compute_type must be float16"),
        ("AscendQuant", [X.astype(np.float16)], DType.INT16, {"scale": 1.0, "offset": 0.0},
         "the result is int8 2x3x4x5"),
        ("AscendAntiQuant", [X], F16, {"scale": 1.0, "offset": 0.0}, "x must be int8"),
        ("AscendAntiQuant", [X.astype(np.int8)], F16,
         {"scale": 1.0, "offset": 0.0, "dtype": "float16", "compute_type": "int8"},
         "compute_type must be float16 or float32"),
        ("AscendAntiQuant", [X.astype(np.int8)], DType.INT8,
         {"scale": 1.0, "offset": 0.0, "dtype": "int8"}, "dtype must be float16 or float32"),
        ("AscendDequant", [X.astype(np.int16), WORDS], F32, {}, "x must be int32"),
        ("AscendDequant", [X, WORDS.astype(np.float32)], F32, {},
         "deq_scale must be uint64 or float16"),
        ("AscendDequant", [X, WORDS[:2]], F32, {},
         "deq_scale must have 1 element or 1 for each channel of int32 2x3x4x5, found uint64 2"),
        ("AscendDequant", [np.ones((2, 4, 5), np.int32), np.ones((2, 2), np.uint64)], F32, {},
         "deq_scale must have 1 element or 1 for each channel of int32 2x4x5, found uint64 2x2"),
        ("AscendDequant", [X, WORDS], F32, {"sqrt_mode": True},
         "sqrt_mode goes with float16 factors, found uint64"),
    ],
)  # fmt: skip
def test_a_bad_quantization_is_refused(
    op: str,
    inputs: Sequence[Array | None],
    result: DType,
    attributes: dict[str, Any],
    words: str,
) -> None:
    assert words in refusal(op, inputs, [(result, (2, 3, 4, 5))], attributes)
