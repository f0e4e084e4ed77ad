"""Rounding onto 16-bit grids is bit-exact, and single operations are native float16 arithmetic."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from atc_py.device.sim.execution.parallel import ELEMENTS_AT_ONCE
from atc_py.device.sim.numerics.rounding import (
    Kind,
    carrier_dtype,
    from_carrier,
    round_to_grid,
    rounding,
    to_carrier,
)
from atc_py.tensor.dtypes import DType
from tests.device.models import ModelBuilder, random_array, run_model, run_operator
from tests.failures import in_one_item
from tests.sampling import examples

HALVES = [DType.FLOAT16, DType.BFLOAT16]
DTYPES = pytest.mark.parametrize("dtype", [pytest.param(d, id=d.value) for d in HALVES])


def grid(dtype: DType) -> NDArray[np.float32]:
    """Return every value of a 16-bit float dtype, as float32."""
    with np.errstate(invalid="ignore"):
        return np.arange(65536, dtype=np.uint16).view(dtype.numpy).astype(np.float32)


def assert_rounds_like_numpy(x: NDArray[np.float32], dtype: DType) -> None:
    """Compare bits, so that the sign of zero and NaN count."""
    with np.errstate(over="ignore", invalid="ignore"):
        expected = x.astype(dtype.numpy).astype(np.float32)
    actual = round_to_grid(x, dtype)
    np.testing.assert_array_equal(actual.view(np.uint32), expected.view(np.uint32))


def neighbors(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return each element with the float32 numbers just below and above it."""
    finite = x[np.isfinite(x)]
    limit = np.float32(np.inf)
    return np.concatenate([finite, np.nextafter(finite, -limit), np.nextafter(finite, limit)])


@DTYPES
def test_rounding_keeps_all_values_of_the_grid(dtype: DType) -> None:
    assert_rounds_like_numpy(grid(dtype), dtype)


def assert_kind_rounds_like_numpy(x: NDArray[np.float32], dtype: DType, kind: Kind) -> None:
    """Compare bits of values of which something is known, rounded in place, twice over."""
    scratch, found = np.empty(2 * ELEMENTS_AT_ONCE, np.uint32), np.empty_like(x)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = x.astype(dtype.numpy).astype(np.float32)
        launch = rounding(found, dtype, scratch, kind)
        for _ in range(2):
            np.copyto(found, x)
            launch()
    np.testing.assert_array_equal(found.view(np.uint32), expected.view(np.uint32))


@DTYPES
def test_rounding_of_positive_values_is_that_of_any(dtype: DType) -> None:
    values = np.sort(grid(dtype)[np.isfinite(grid(dtype))])
    middles = ((values[:-1].astype(np.float64) + values[1:]) / 2).astype(np.float32)
    around = neighbors(np.concatenate([values, middles]))
    positive = np.abs(around[np.abs(around) < 65520])
    assert_kind_rounds_like_numpy(positive, dtype, Kind.POSITIVE)
    every_mantissa = np.arange(0x38000000, 0x39000000, 13, dtype=np.uint32).view(np.float32)
    assert_kind_rounds_like_numpy(every_mantissa, dtype, Kind.POSITIVE)
    bounded = positive[positive <= 65504]
    assert_kind_rounds_like_numpy(bounded, dtype, Kind.BOUNDED)
    assert_kind_rounds_like_numpy(every_mantissa, dtype, Kind.BOUNDED)


@DTYPES
def test_rounding_of_sums_and_differences_is_that_of_any(dtype: DType) -> None:
    finite = grid(dtype)[np.isfinite(grid(dtype))]
    rng = np.random.default_rng(7)
    left, right = (rng.choice(finite, 100_000) for _ in range(2))
    near = round_to_grid(np.ldexp(left / 8, rng.integers(0, 3, left.size)), dtype)
    with np.errstate(over="ignore"):
        sums = np.concatenate([left + right, left - near, finite, finite - finite])
    exact = sums[np.abs(sums) < 65520]
    assert_kind_rounds_like_numpy(exact, dtype, Kind.SUMS)


@pytest.mark.parametrize("kind", Kind)
def test_rounding_of_a_kind_keeps_infinities_and_nan(kind: Kind) -> None:
    odd = np.array([np.nan, np.inf, 65520, 65519, 1, 0, 2.0**-24], np.float32)
    odd = odd[~(odd > 65504)] if kind is Kind.BOUNDED else odd
    assert_kind_rounds_like_numpy(odd, DType.FLOAT16, kind)


@DTYPES
def test_rounding_takes_numbers_from_elsewhere(dtype: DType) -> None:
    source, found = neighbors(grid(dtype)), np.zeros(neighbors(grid(dtype)).shape, np.float32)
    scratch = np.empty(2 * ELEMENTS_AT_ONCE, np.uint32)
    with np.errstate(over="ignore", invalid="ignore"):
        rounding(found, dtype, scratch, source=source)()
    np.testing.assert_array_equal(found, round_to_grid(source, dtype))


@DTYPES
def test_rounding_halves_go_to_even(dtype: DType) -> None:
    values = np.sort(grid(dtype)[np.isfinite(grid(dtype))])
    middles = ((values[:-1].astype(np.float64) + values[1:]) / 2).astype(np.float32)
    everything = np.concatenate([neighbors(values), neighbors(middles)])
    assert_rounds_like_numpy(everything, dtype)
    # the same numbers one by one block of magnitudes, so that no block needs the slow way
    for low in (0.0, 1e-5, 1.0, 100.0):
        band = everything[(np.abs(everything) >= low) & (np.abs(everything) < low * 100 + 1e-4)]
        assert_rounds_like_numpy(band, dtype)


def test_rounding_float16_overflows_where_numpy_does() -> None:
    edge = np.array([65504, 65519.996, 65520, 65536, 1e9, np.inf, np.nan, 32768], np.float32)
    for value in np.concatenate([edge, -edge]):
        assert_rounds_like_numpy(np.array([value, 1.0, 0.1], np.float32), DType.FLOAT16)


def test_rounding_keeps_the_sign_of_zero() -> None:
    tiny = np.array([-0.0, 0.0, -1e-9, 1e-9, -(2.0**-25), 2.0**-25], np.float32)
    assert_rounds_like_numpy(tiny, DType.FLOAT16)
    assert np.signbit(round_to_grid(tiny, DType.FLOAT16)).tolist() == [1, 0, 1, 0, 1, 0]


@DTYPES
@given(bits=st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=50))
@examples(150)
def test_rounding_agrees_on_any_bits(dtype: DType, bits: list[int]) -> None:
    assert_rounds_like_numpy(np.array(bits, np.uint32).view(np.float32), dtype)


@DTYPES
@given(values=st.lists(st.floats(-2.0, 2.0, width=32), min_size=1, max_size=50))
@examples(100)
def test_rounding_agrees_on_small_values(dtype: DType, values: list[float]) -> None:
    assert_rounds_like_numpy(np.array(values, np.float32), dtype)


@DTYPES
def test_rounding_agrees_across_blocks_and_in_place(dtype: DType) -> None:
    generator = np.random.default_rng(5)
    x = (generator.standard_normal((7, 20001)) * 10.0 ** generator.integers(-9, 5, (7, 1))).astype(
        np.float32
    )
    x[3, ::1000] = np.nan
    assert_rounds_like_numpy(x, dtype)
    expected, target = round_to_grid(x, dtype), x.copy()
    assert round_to_grid(target, dtype, target) is target
    np.testing.assert_array_equal(target, expected)


def test_rounding_leaves_other_dtypes_alone() -> None:
    x = np.array([0.1, 1e9], np.float32)
    np.testing.assert_array_equal(round_to_grid(x, DType.FLOAT32), x)
    assert round_to_grid(np.empty((0, 3), np.float32), DType.FLOAT16).shape == (0, 3)


@in_one_item("dtype", [pytest.param(d, id=d.value) for d in DType])
def test_carrier_comes_back_unchanged(dtype: DType) -> None:
    values = np.array([[0, 1, 0], [1, 1, 0]]).astype(dtype.numpy)
    carrier = to_carrier(values.T, dtype)
    assert carrier.dtype == carrier_dtype(dtype)
    assert carrier.flags.c_contiguous
    back = from_carrier(carrier, dtype)
    assert back.dtype == dtype.numpy
    np.testing.assert_array_equal(back, values.T)


def test_carrier_of_a_scalar_keeps_rank_zero() -> None:
    assert to_carrier(np.array(2.5, np.float16), DType.FLOAT16).shape == ()


@pytest.mark.parametrize(("op", "native"), [("Add", np.add), ("Mul", np.multiply)])
def test_single_operations_are_native_float16(op: str, native: np.ufunc) -> None:
    generator = np.random.default_rng(11)
    bits = generator.integers(0, 65536, (2, 300_000), dtype=np.uint32).astype(np.uint16)
    left, right = bits.view(np.float16)
    near: NDArray[Any] = generator.standard_normal((2, 300_000)).astype(np.float16)
    for a, b in ((left, right), (near[0], near[1])):
        with np.errstate(all="ignore"):
            expected = native(a, b)
        (actual,) = run_operator(op, [a, b], [(DType.FLOAT16, a.shape)])
        ordinary = ~np.isnan(expected)
        np.testing.assert_array_equal(
            actual.view(np.uint16)[ordinary], expected.view(np.uint16)[ordinary]
        )
        np.testing.assert_array_equal(np.isnan(actual), ~ordinary)


@DTYPES
def test_every_node_rounds_before_the_next_reads(dtype: DType) -> None:
    shape, name = (500,), dtype.value
    arrays = [random_array(seed, shape, dtype) for seed in range(3)]
    builder = ModelBuilder()
    x, y, z = (builder.input(f"x{index}", name, shape) for index in range(3))
    (product,) = builder.node("Mul", [x, y], [(name, shape)])
    (total,) = builder.node("Add", [product, z], [(name, shape)])
    (wide,) = builder.node("Cast", [total], [("float32", shape)], {"dst_type": "float32"})
    builder.output("y", wide)
    outputs = run_model(builder.build(), {f"x{i}": array for i, array in enumerate(arrays)})
    expected = (arrays[0] * arrays[1]) + arrays[2]
    assert expected.dtype == dtype.numpy
    np.testing.assert_array_equal(outputs["y"], expected.astype(np.float32))


@DTYPES
def test_cast_rounds_before_the_next_node_reads(dtype: DType) -> None:
    x = random_array(4, (500,))
    builder = ModelBuilder()
    (narrow,) = builder.node(
        "Cast", [builder.input("x", "float32", (500,))], [(dtype.value, (500,))],
        {"dst_type": dtype.value},
    )  # fmt: skip
    (wide,) = builder.node("Cast", [narrow], [("float32", (500,))], {"dst_type": "float32"})
    builder.output("y", wide)
    y = run_model(builder.build(), {"x": x})["y"]
    np.testing.assert_array_equal(y, x.astype(dtype.numpy).astype(np.float32))


@pytest.mark.parametrize("least", [2.0**-25, 2.0**-26, 2.0**-24])
def test_what_rounds_to_zero_keeps_its_sign(least: float) -> None:
    x = np.array([-least, least, -1.0], np.float32)
    assert_rounds_like_numpy(x, DType.FLOAT16)
    assert_kind_rounds_like_numpy(x, DType.FLOAT16, Kind.ANY)
