"""Constants: what they read as, what casting clamps, what computing promises."""

import numpy as np
import numpy.typing as npt
import pytest

from atc_py.ir import CastConst, ConstData, DeferredConst, DenseConst, OpaqueConst, SplatConst
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape


def cast(values: object, source: str, target: DType) -> npt.NDArray[np.generic]:
    array = CastConst(DenseConst(np.array(values, dtype=source)), target).numpy()
    assert array.dtype == target.numpy
    return array


def test_dense_const_takes_dtype_and_shape_from_its_array() -> None:
    array = np.zeros((2, 3), np.int16)
    const = DenseConst(array)
    assert (const.dtype, const.shape) == (DType.INT16, (2, 3))
    assert const.numpy() is array
    const.release()
    assert isinstance(const, ConstData)


def test_splat_const_repeats_one_element_in_memory() -> None:
    array = SplatConst(0.5, DType.BFLOAT16, (1 << 20, 1 << 20)).numpy()
    assert array.strides == (0, 0)
    assert float(array[-1, -1]) == 0.5
    assert not array.flags.writeable


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (True, DType.BOOL, True),
        (2**64 - 1, DType.UINT64, 2**64 - 1),
        (-3, DType.INT8, -3),
        (7, DType.FLOAT32, 7.0),
        (1e300, DType.FLOAT16, np.inf),
        (1e300, DType.FLOAT32, np.inf),
    ],
)
def test_splat_const_is_of_its_dtype(value: float, dtype: DType, expected: float) -> None:
    scalar = SplatConst(value, dtype, ()).numpy()
    assert (scalar.dtype, scalar.shape) == (dtype.numpy, ())
    assert scalar.item() == expected


def test_splat_const_can_be_empty() -> None:
    assert SplatConst(1.0, DType.FLOAT32, (0, 4)).numpy().shape == (0, 4)


BF16_LIMIT = 254 * 2.0**120
"""3.38e38 as bfloat16: the neighbor below its largest number, 255 * 2^120."""


@pytest.mark.parametrize(
    ("target", "limit"), [(DType.FLOAT16, 65504.0), (DType.BFLOAT16, BF16_LIMIT)]
)
@pytest.mark.parametrize("source", ["float32", "float64"])
def test_cast_const_clamps_infinities_like_other_numbers(
    source: str, target: DType, limit: float
) -> None:
    """Source: CANN's graph engine (2026), which clips what is above or below the limits.

    These are 65504 and 3.38e38, which is less than the largest bfloat16; NaN compares with nothing.
    """
    array = cast([3.402e38, -3.402e38, np.inf, -np.inf, np.nan, 1.5], source, target)
    found = [float(element) for element in array]
    assert found[:4] == [limit, -limit, limit, -limit]
    assert np.isnan(found[4])
    assert found[5] == 1.5


def test_cast_const_clamps_a_lone_infinity_and_leaves_a_lone_nan() -> None:
    assert cast([-np.inf, 0.0], "float32", DType.FLOAT16).tolist() == [-65504.0, 0.0]
    assert np.isnan(cast([np.nan], "float32", DType.FLOAT16)).all()


def test_cast_const_keeps_infinities_that_are_not_clipped() -> None:
    const = CastConst(DenseConst(np.array([-np.inf, 1e6], np.float32)), DType.FLOAT16, clip=False)
    assert const.numpy().tolist() == [-np.inf, np.inf]


def test_cast_const_rounds_at_the_edge_like_the_dtype() -> None:
    # 65520 is halfway between 65504 and the first value that float16 does not have.
    assert cast([65519.0, 65520.0, -65520.0], "float32", DType.FLOAT16).tolist() == [
        65504.0,
        65504.0,
        -65504.0,
    ]


def test_cast_const_clamps_a_scalar() -> None:
    assert cast(1e300, "float64", DType.FLOAT32).item() == np.finfo(np.float32).max


def test_cast_const_to_a_wider_float_changes_nothing() -> None:
    assert cast([65504.0, np.inf], "float16", DType.FLOAT64).tolist() == [65504.0, np.inf]


def test_cast_const_between_other_dtypes_is_numpys_cast() -> None:
    assert cast([1.9, -1.9], "float32", DType.INT32).tolist() == [1, -1]
    assert cast([0, 2], "int64", DType.BOOL).tolist() == [False, True]
    assert cast([300], "int64", DType.UINT8).tolist() == [44]
    assert cast([100_000], "int32", DType.FLOAT16).tolist() == [np.inf]


def test_cast_const_to_an_integer_is_silent_about_nan() -> None:
    assert cast([np.nan], "float32", DType.INT8).shape == (1,)


def test_cast_const_does_not_write_to_its_source() -> None:
    array = np.array([1e6], np.float32)
    CastConst(DenseConst(array), DType.FLOAT16).numpy()
    assert array.tolist() == [1e6]


class Released:
    """A constant that counts its releases."""

    dtype = DType.FLOAT32
    shape: Shape = (2,)

    def __init__(self) -> None:
        self.count = 0

    def numpy(self) -> npt.NDArray[np.generic]:
        return np.ones(2, np.float32)

    def release(self) -> None:
        self.count += 1


def test_release_reaches_every_source() -> None:
    source, other = Released(), Released()
    deferred = DeferredConst(DType.FLOAT32, (2,), [source, other], np.add, "sum")
    CastConst(deferred, DType.FLOAT16).release()
    assert (source.count, other.count) == (1, 1)


def test_deferred_const_computes_from_its_sources() -> None:
    deferred = DeferredConst(DType.FLOAT32, (2,), [Released(), Released()], np.add, "sum")
    assert deferred.numpy().tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("dtype", "shape", "message"),
    [
        (DType.FLOAT32, (3,), r"sum gave float32\[2\], promised float32\[3\]"),
        (DType.FLOAT32, (2, 1), r"sum gave float32\[2\], promised float32\[2, 1\]"),
        (DType.FLOAT16, (2,), r"sum gave float32\[2\], promised float16\[2\]"),
    ],
)
def test_deferred_const_refuses_a_broken_promise(dtype: DType, shape: Shape, message: str) -> None:
    deferred = DeferredConst(dtype, shape, [Released(), Released()], np.add, "sum")
    with pytest.raises(ValueError, match=message):
        deferred.numpy()


def test_opaque_const_cannot_be_read() -> None:
    const = OpaqueConst(DType.FLOAT32, (2,), "conv1_w")
    with pytest.raises(ValueError, match="not printed: conv1_w"):
        const.numpy()
    const.release()
