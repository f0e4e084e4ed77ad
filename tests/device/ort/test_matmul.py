"""Matrix products and determinants as ONNX."""

from itertools import product

import numpy as np
import pytest

from atc_py.tensor.dtypes import DType
from tests.device.integer_layers import int8_array, offsets
from tests.device.models import Array, random_array
from tests.device.ort.apart import apart
from tests.device.ort.single import agree

F16, BF16, F32, F64 = DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64
I8, I32 = DType.INT8, DType.INT32

STACKS = {
    "MatMulV2": ((), ()),
    "BatchMatMulV2": ((3, 1), (2,)),
    "BatchMatMul": ((2,), (2,)),
}
"""Dims of the stacks of both operands."""

FLOATS = (F16, F32, F64, BF16)


def is_column(op: str, dtype: DType, result: DType) -> bool:
    """Return True if a product of `dtype` may have that result: its own, or sums of float16."""
    sums = (dtype, result) == (F16, F32) and op != "BatchMatMul"
    return dtype is result or sums


TURNS = list(product((False, True), repeat=2))


def operands(
    op: str, turns: tuple[bool, bool], inner: int
) -> tuple[list[tuple[int, ...]], list[int]]:
    """Return dims of both operands and of the result."""
    left, right = STACKS[op]
    shapes = [(*left, 4, inner), (*right, inner, 5)]
    dims = [*np.broadcast_shapes(left, right), 4, 5]
    turned = [
        (*shape[:-2], shape[-1], shape[-2]) if turn else shape
        for shape, turn in zip(shapes, turns, strict=True)
    ]
    return turned, dims


def flags(op: str, turns: tuple[bool, bool]) -> dict[str, bool]:
    """Return the attributes that say so."""
    name = "transpose" if op == "MatMulV2" else "adj"
    return {f"{name}_x{at}": turn for at, turn in enumerate(turns, 1)}


@pytest.mark.parametrize(
    ("op", "dtype", "result"),
    [case for case in product(STACKS, FLOATS, FLOATS) if is_column(*case)],
)
@pytest.mark.parametrize("turns", TURNS)
def test_floats_are_multiplied_within_a_rounding(
    op: str, turns: tuple[bool, bool], dtype: DType, result: DType
) -> None:
    shapes, dims = operands(op, turns, 33)
    arrays: list[Array] = [random_array(at, shape, dtype) for at, shape in enumerate(shapes)]
    if op != "BatchMatMul":
        arrays.append(random_array(7, (5,), F32 if dtype is BF16 else result))
    limit = {F64: 1e-14, F32: 1e-6, F16: 2.0**-10, BF16: 2.0**-7}[result]
    for count, constants in product({2, len(arrays)}, ((), (1,))):
        far = apart(op, arrays[:count], [(result, dims)], flags(op, turns), constants=constants)
        assert far <= limit


@pytest.mark.parametrize("constants", [(), (0,), (1,)])
def test_hf32_rounds_both_matrices(constants: tuple[int, ...]) -> None:
    x = np.array([[1 + 2.0**-12, 1 + 3 * 2.0**-12]], np.float32)
    attributes = {"impl_mode": "enable_hi_float_32_execution"}
    for op in STACKS:
        (y,) = agree(op, [x, x.T], [(F32, (1, 1))], attributes, constants=constants)
        assert y.item() == 1 + (1 + 2.0**-10) ** 2


@pytest.mark.parametrize("kind", [0, 1, 2])
@pytest.mark.parametrize("turns", TURNS)
@pytest.mark.parametrize("op", ["MatMulV2", "BatchMatMulV2"])
def test_int8_is_multiplied_exactly(op: str, turns: tuple[bool, bool], kind: int) -> None:
    shapes, dims = operands(op, turns, 2000)
    generator = np.random.default_rng(kind)
    arrays = [int8_array(generator, shape) for shape in shapes]
    bias = generator.integers(-(2**31), 2**31, 5).astype(np.int32)
    given = [*arrays, bias, offsets(generator, kind, 5)]
    for constants in ((), (1,), (0, 1, 2)):
        agree(op, given, [(I32, dims)], flags(op, turns), constants=constants)


def test_products_of_int32_wrap_around() -> None:
    x = np.random.default_rng(0).integers(-(2**31), 2**31, (2, 3, 3)).astype(np.int32)
    agree("BatchMatMul", [x, x], [(I32, x.shape)], {"adj_x2": True})


@pytest.mark.parametrize("dtype", [F16, F32, I8])
def test_sums_of_nothing_are_the_bias(dtype: DType) -> None:
    x, result = np.zeros((2, 0), dtype.numpy), I32 if dtype is I8 else dtype
    bias = np.array([1, 2, 3], result.numpy)
    agree("MatMulV2", [x, np.zeros((0, 3), dtype.numpy)], [(result, (2, 3))])
    agree("MatMulV2", [x, np.zeros((0, 3), dtype.numpy), bias], [(result, (2, 3))])


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (3, 3), (2, 3, 5, 5), (0, 3, 3), (2, 0, 0)])
def test_determinants_are_products_of_pivots(dtype: DType, shape: tuple[int, ...]) -> None:
    x = random_array(1, shape, dtype)
    far = apart("MatrixDeterminant", [x], [(dtype, shape[:-2])])
    assert far <= {F32: 1e-6, F64: 1e-13}[dtype]


@pytest.mark.parametrize("dtype", [F32, F64])
def test_singular_matrices_have_a_determinant_of_0(dtype: DType) -> None:
    x = random_array(1, (70, 70), dtype)
    x[1] = 0
    (y,) = agree("MatrixDeterminant", [x], [(dtype, ())])
    assert y == 0
