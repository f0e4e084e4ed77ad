"""Reductions and positions as ONNX: dtypes, axes, no elements, NaN, sums that wrap around."""

from collections.abc import Sequence

import numpy as np
import pytest

from atc_py.device.ort.model import emulate
from atc_py.tensor.dtypes import DType
from tests.device.models import INTEGERS, Array, Attributes, ModelBuilder, random_array, run_model
from tests.device.ort.apart import model_of
from tests.device.ort.single import agree
from tests.device.ort.twin import REFUSED, differences, run_on_ort

F16, BF16, F32, F64 = DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64
FLOATS = [F16, BF16, F32, F64]

AXES = [((5, 7), [1]), ((5, 7), [0]), ((3, 4, 5), [0, 2]), ((2, 3, 4), [-1, 0, 1]), ((3, 4), [])]
EMPTY = [((0, 4), [0]), ((0, 4), [1]), ((2, 0, 3), [1, 2])]

FOLDS: dict[str, tuple[str, Attributes, str]] = {
    "sum": ("ReduceSumD", {}, "axes"),
    "product": ("ReduceProdD", {}, "axes"),
    "squares": ("SquareSumV1", {}, "axis"),
    "largest": ("ReduceMaxD", {}, "axes"),
    "least": ("ReduceMinD", {}, "axes"),
    "mean": ("ReduceMeanD", {}, "axes"),
    "magnitudes": ("LpNorm", {"p": 1}, "axes"),
    "norm": ("LpNorm", {"p": 2}, "axes"),
}


def reduced_shape(shape: Sequence[int], axes: Sequence[int], keep: bool) -> list[int]:
    gone = {axis % len(shape) for axis in axes}
    dims = [1 if axis in gone else dim for axis, dim in enumerate(shape)]
    return [dim for axis, dim in enumerate(dims) if keep or axis not in gone]


def fold(name: str, x: Array, axes: list[int], keep: bool, *, exact: bool) -> Array:
    """Return a reduction that both devices agree on."""
    op, attributes, key = FOLDS[name]
    given: Attributes = {
        **attributes, key: axes, "keepdim" if op == "LpNorm" else "keep_dims": keep,
    }  # fmt: skip
    types = [(DType.from_numpy(x.dtype), reduced_shape(x.shape, axes, keep))]
    (y,) = agree(op, [x], types, given, exact=exact)
    return y


def everything(seed: int, shape: Sequence[int], dtype: DType) -> Array:
    """Return integers of the whole range of a dtype, its ends among them."""
    limits = np.iinfo(dtype.numpy)
    x = np.random.default_rng(seed).integers(
        limits.min, limits.max, shape, dtype=dtype.numpy, endpoint=True
    )
    if x.size:
        x.flat[0], x.flat[-1] = limits.min, limits.max
    return x


@pytest.mark.parametrize("name", sorted(FOLDS))
@pytest.mark.parametrize(("shape", "axes"), [*AXES, *EMPTY])
def test_reductions_of_floats(name: str, shape: Sequence[int], axes: list[int]) -> None:
    for index, dtype in enumerate(FLOATS):
        exact = name in {"largest", "least"}
        fold(name, random_array(1, shape, dtype), axes, keep=bool(index % 2), exact=exact)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", sorted({*FOLDS} - {"mean"}))
def test_reductions_of_integers_are_exact(name: str, dtype: DType) -> None:
    for shape, axes in [*AXES, *EMPTY]:
        fold(name, everything(2, shape, dtype), axes, keep=bool(len(axes) % 2), exact=True)


@pytest.mark.parametrize("dtype", [DType.INT32, DType.UINT32, DType.INT64, DType.UINT64])
@pytest.mark.parametrize("count", [1, 2, 50])
def test_integer_norms_are_whole_parts_of_roots(dtype: DType, count: int) -> None:
    x = everything(3, (200, count), dtype) // np.array(int(2 * count**0.5), dtype.numpy)
    x[0], x[1], x[2] = np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max, 0
    fold("norm", x, [1], keep=False, exact=True)


@pytest.mark.parametrize("name", ["largest", "least"])
def test_bool_is_reduced(name: str) -> None:
    for x in (np.array([[True, False], [True, True]]), np.zeros((2, 0), bool)):
        fold(name, x, [1], keep=False, exact=True)


SPECIAL = np.array([
    [1, np.nan, 3, 4], [np.inf, 1, -np.inf, 2], [-np.inf] * 4, [np.nan, np.inf, 1, 2], [-0.0, 0] * 2,
])  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", sorted(FOLDS))
def test_numbers_that_are_not_finite(name: str, dtype: DType) -> None:
    with np.errstate(invalid="ignore"):
        fold(name, SPECIAL.astype(dtype.numpy), [1], keep=False, exact=True)


@pytest.mark.parametrize("op", ["ArgMaxD", "ArgMinD"])
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_positions_are_those_of_the_first(op: str, dtype: DType) -> None:
    x = everything(4, (6, 5), dtype) if dtype.is_integer else random_array(4, (6, 5), dtype)
    x[:, 3] = x[:, 1]
    for axis, size in ((0, 5), (1, 6), (-1, 6)):
        for target in (DType.INT32, DType.INT64):
            agree(op, [x], [(target, (size,))], {"dimension": axis, "dtype": target.value})


@pytest.mark.parametrize("op", ["ArgMaxD", "ArgMinD"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_positions_of_nan_come_first(op: str, dtype: DType) -> None:
    types = [(DType.INT32, (5,))]
    agree(op, [SPECIAL.astype(dtype.numpy)], types, {"dimension": 1, "dtype": "int32"})


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize(("shape", "axes"), [*AXES, *EMPTY])
def test_log_sum_exp(shape: Sequence[int], axes: list[int], keep: bool) -> None:
    for dtype in FLOATS:
        agree(
            "ReduceLogSumExp",
            [random_array(5, shape, dtype), np.array(axes, np.int64)],
            [(dtype, reduced_shape(shape, axes, keep))],
            {"keep_dims": keep},
            constants=[1],
            exact=False,
        )


@pytest.mark.parametrize("dtype", FLOATS)
def test_log_sum_exp_of_large_numbers_does_not_overflow(dtype: DType) -> None:
    x = np.concatenate([SPECIAL, [[1000, 999, 0, -1000]]]).astype(dtype.numpy)
    axes = np.array([1], np.int64)
    (y,) = agree("ReduceLogSumExp", [x, axes], [(dtype, (6,))], constants=[1], exact=False)
    assert np.isfinite(y[-1])


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, 2.5])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3), (1, 2, 0)])
def test_global_lp_pool(p: float, shape: Sequence[int]) -> None:
    result = [*shape[:2], *[1] * (len(shape) - 2)]
    for dtype in FLOATS:
        x = random_array(6, shape, dtype)
        agree("GlobalLpPool", [x], [(dtype, result)], {"p": p}, exact=False)


@pytest.mark.parametrize("dtype", [F16, F32])
def test_reductions_of_dims_that_only_the_run_knows(dtype: DType) -> None:
    """Check reductions of what a node gives whose dims are not declared."""
    for op, attributes, key in FOLDS.values():
        builder, x = ModelBuilder(), random_array(7, (3, 4, 5), dtype)
        at = builder.input("x", dtype.value, x.shape)
        (late,) = builder.node("Abs", [at], [(dtype.value, [None] * 3)])
        (y,) = builder.node(op, [late], [(dtype.value, [None] * 1)], {**attributes, key: [0, 2]})
        builder.output("y", y)
        model = builder.build()
        found = run_on_ort(model, {"x": x})
        assert found is not None, (op, REFUSED)
        assert differences(model, found, run_model(model, {"x": x})) == []


def test_a_reduction_of_float16_is_one_node_between_casts() -> None:
    model, _ = model_of("ReduceMeanD", [random_array(8, (3, 4), F16)], [(F16, (3,))], {"axes": [1]})
    nodes = emulate(model, flat=True).nodes
    assert [node.op_type for node in nodes] == ["Cast", "Constant", "ReduceMean", "Cast"]
