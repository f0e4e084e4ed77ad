"""Matrix products, stacked ones above all, and determinants: shared work, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.device.sim.execution.parallel import Workers
from atc_py.device.sim.kernel import Call, find_kernel
from atc_py.device.sim.primitives.blocks import with_row
from atc_py.package.node_view import NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from tests.device.models import Attributes, random_array, run_operator
from tests.device.nodes import refusal
from tests.device.tolerances import assert_close
from tests.sampling import examples

F32 = DType.FLOAT32


@given(
    shapes=st.sampled_from(
        [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (6, 4, 5))]
    ),
    adj=st.tuples(st.booleans(), st.booleans()),
    bias=st.booleans(),
    dtype=st.sampled_from([DType.FLOAT16, F32]),
)
@examples(40)
def test_stacks_are_broadcast_and_turned(
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    adj: tuple[bool, bool],
    bias: bool,
    dtype: DType,
) -> None:
    left, right = (random_array(seed, shape, dtype) for seed, shape in enumerate(shapes))
    wide = np.matmul(left.astype(np.float32), right.astype(np.float32))
    added = random_array(3, (5,), dtype) if bias else None
    if added is not None:
        wide = wide + added.astype(np.float32)
    given_ = [
        np.ascontiguousarray(array.swapaxes(-1, -2)) if turned else array
        for array, turned in zip((left, right), adj, strict=True)
    ]
    attributes: Attributes = {"adj_x1": adj[0], "adj_x2": adj[1]}
    (y,) = run_operator("BatchMatMulV2", [*given_, added], [(dtype, wide.shape)], attributes)
    assert_close(y, wide, dtype)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize(
    ("left", "right"),
    [((300, 20), (20, 5)), ((5, 20), (20, 1100)), ((7, 3, 4), (4, 5)), ((2, 5, 3, 4), (5, 4, 6))],
)
def test_parts_of_a_product_make_the_whole(
    size: int, left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    a, b = random_array(1, left), random_array(2, right)
    expected = np.matmul(a, b)
    bias = random_array(3, expected.shape[-1:])
    types = tuple(TensorFacts(F32, array.shape) for array in (a, b, bias))
    attributes = {"adj_x1": False, "adj_x2": False, "offset_x": 0}
    node = NodeView("BatchMatMulV2", "n", "aicore", types, (), attributes)
    out = np.full(expected.shape, np.nan, np.float32)
    kernel, workers = find_kernel("BatchMatMulV2"), Workers(size)
    assert kernel is not None
    kernel.run(Call(node, (a, b, bias), (out,), workers=workers))
    workers.close()
    assert_close(out, expected + bias, F32)


@pytest.mark.parametrize("shape", [(34, 40), (3, 34, 40)])
def test_product_with_itself_is_that_with_an_equal_matrix(shape: tuple[int, ...]) -> None:
    """Check a matrix and its transpose in one memory, which numpy gives to syrk, not to gemm."""
    x = random_array(1, shape)
    attributes = {"adj_x1": False, "adj_x2": True, "offset_x": 0}
    node = NodeView("BatchMatMulV2", "n", "aicore", (TensorFacts(F32, shape),) * 2, (), attributes)
    kernel = find_kernel("BatchMatMulV2")
    assert kernel is not None
    itself, equal = (np.empty((*shape[:-1], shape[-2]), np.float32) for _ in range(2))
    kernel.run(Call(node, (x, x), (itself,)))
    kernel.run(Call(node, (x, x.copy()), (equal,)))
    assert itself.tobytes() == equal.tobytes()


@pytest.mark.parametrize(("rows", "length"), [(6, 5), (7, 5), (4, 3000), (1, 5), (0, 5), (3, 0)])
def test_row_is_added_and_repeated_only_if_short(rows: int, length: int) -> None:
    values, row = random_array(1, (rows, length)), random_array(2, (length,))
    expected = values + row
    launch = with_row(np.add, values, row, is_fixed=True)
    if not 1 < rows <= 2048 // max(length, 1):
        row[:] = np.nan
        expected[:] = np.nan
    launch()
    np.testing.assert_array_equal(values, expected)


def test_sum_over_nothing_is_the_bias() -> None:
    empty = [np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32)]
    (y,) = run_operator("MatMulV2", [*empty, np.ones(3, np.float32)], [(F32, (2, 3))])
    assert y.tolist() == [[1] * 3] * 2


@pytest.mark.parametrize(
    ("op", "left", "right", "bias", "reason"),
    [
        ("MatMulV2", (2, 2, 3), (3, 4), None, "x1 must have 2 axes"),
        ("MatMulV2", (2, 3), (4,), None, "x2 must have 2 axes"),
        ("MatMulV2", (2, 3), (4, 5), None, "inner dims must be equal, found 3 and 4"),
        ("BatchMatMulV2", (3,), (3, 4), None, "matrices are needed"),
        ("BatchMatMulV2", (2, 2, 3), (3, 3, 4), None, "do not broadcast"),
        ("BatchMatMulV2", (2, 3), (3, 4), (3,), "bias must have shape 4"),
    ],
)
def test_bad_product_is_refused(
    op: str,
    left: tuple[int, ...],
    right: tuple[int, ...],
    bias: tuple[int, ...] | None,
    reason: str,
) -> None:
    arrays = [None if shape is None else random_array(1, shape) for shape in (left, right, bias)]
    assert reason in refusal(op, arrays, [(F32, (2, 4))])


def test_products_are_of_floats_of_one_dtype_that_is_not_quantized() -> None:
    ints, reals = np.ones((2, 2), np.int32), np.ones((2, 2), np.float32)
    result = [(F32, (2, 2))]
    assert "computes floats" in refusal("BatchMatMulV2", [ints, ints], result)
    assert "same dtype" in refusal("BatchMatMulV2", [reals, reals.astype(np.float16)], result)
    offset = [reals, reals, None, np.ones(2, np.int8)]
    assert "offset_w" in refusal("BatchMatMulV2", offset, result)
    assert "offset_x must be 0" in refusal("BatchMatMulV2", [reals] * 2, result, {"offset_x": 1})


@pytest.mark.parametrize("shape", [(3,), (2, 3), (3, 3, 2)])
def test_determinant_needs_square_matrices(shape: tuple[int, ...]) -> None:
    found = refusal("MatrixDeterminant", [random_array(1, shape)], [(F32, ())])
    assert "square matrices are needed" in found


def test_determinant_of_no_rows_is_1_and_of_double_is_double() -> None:
    (y,) = run_operator("MatrixDeterminant", [np.zeros((2, 0, 0), np.float32)], [(F32, (2,))])
    assert y.tolist() == [1, 1]
    x = random_array(2, (4, 4), DType.FLOAT64)
    (y,) = run_operator("MatrixDeterminant", [x], [(DType.FLOAT64, ())])
    np.testing.assert_allclose(y, np.linalg.det(x), rtol=1e-12)


@pytest.mark.parametrize("turned", [False, True])
def test_equal_columns_give_equal_results(turned: bool) -> None:
    column = random_array(4, (2048, 1)) * 1000
    right = np.repeat(column, 1024, axis=1)
    arrays = [random_array(5, (1, 2048)), np.ascontiguousarray(right.T) if turned else right]
    (y,) = run_operator("MatMulV2", arrays, [(F32, (1, 1024))], {"transpose_x2": turned})
    assert len(np.unique(y)) == 1
