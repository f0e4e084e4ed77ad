"""Random cases of the rules that remove deviations of CANN."""

from typing import Any

import numpy as np

from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from atc_py.tensor.dtypes import DType
from tests.fix.draws import draws
from tests.fix.draws.attention import one_of
from tests.fix.draws.precision import shape


def axis_of(rng: np.random.Generator, dims: tuple[int, ...]) -> int:
    return int(rng.integers(-len(dims), len(dims)))


@draws("gemm-factors")
def gemm_factors(rng: np.random.Generator) -> RuleCase:
    m, k, n = (int(each) for each in rng.integers(1, 6, 3))
    b = one_of(rng, data(k, n), Fed((k, n)))
    c = one_of(rng, None, data(n, seed=1), Fed((m, n)))
    factors = {"alpha": float(rng.uniform(0.2, 2)), "beta": float(rng.uniform(0.2, 2))}
    return RuleCase("Gemm", (Fed((m, k)), b, *([] if c is None else [c])), factors, cann="5")


@draws("arg-max-unsqueezed")
def arg_max_unsqueezed(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    given = {"axis": axis_of(rng, dims)}
    return RuleCase("ArgMax", (Fed(dims),), given, one_of(rng, 11, 13), cann="5")


@draws("pool-pads-explicit")
def pool_pads_explicit(rng: np.random.Generator) -> RuleCase:
    op, opset = one_of(rng, ("AveragePool", 11), ("MaxPool", 12))
    taps = [int(each) for each in rng.integers(2, 5, 2)]
    strides = [int(rng.integers(1, each + 1)) for each in taps]
    more: dict[str, Any] = {"count_include_pad": int(rng.integers(2))} if op[0] == "A" else {}
    given = {"kernel_shape": taps, "strides": strides, "auto_pad": "SAME_LOWER", **more}
    dims = tuple(int(each) for each in rng.integers(5, 9, 2))
    return RuleCase(op, (Fed((1, 2, *dims)),), given, opset)


@draws("softmax-as-matrix")
def softmax_as_matrix(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    op = one_of(rng, "LogSoftmax", "Hardmax")
    axis = int(rng.integers(-len(dims), -1))
    return RuleCase(op, (Fed(dims),), {"axis": axis}, 11, cann=one_of(rng, "5", "9.1"))


@draws("mod-with-sign")
def mod_with_sign(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    dtype = one_of(rng, DType.INT32, DType.INT64)
    bounds = one_of(rng, (1, 9), (-7, -2))
    if dtype is DType.INT32 and rng.integers(2):
        values = rng.integers(1, 2**31 - 1, dims[-1]) * rng.choice([-1, 1], dims[-1])
        return RuleCase("Mod", (Fed(dims, dtype), ConstInput(values.astype(np.int32))))
    return RuleCase("Mod", (Fed(dims, dtype), Fed(dims[-1:], dtype, bounds)))


@draws("cast-to-int8-wrapped")
def cast_to_int8_wrapped(rng: np.random.Generator) -> RuleCase:
    inputs = (Fed(shape(rng), DType.INT32),)
    return RuleCase("Cast", inputs, {"to": 3}, operator_list="cann-9.0")


@draws("sum-of-squares")
def sum_of_squares(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    given: dict[str, Any] = {"axes": [axis_of(rng, dims)]} if rng.integers(2) else {}
    return RuleCase("ReduceSumSquare", (Fed(dims),), {"keepdims": 0, **given}, 11, cann="5")


@draws("transpose-with-order")
def transpose_with_order(rng: np.random.Generator) -> RuleCase:
    return RuleCase("Transpose", (Fed(shape(rng)),))


@draws("sum-of-pairs")
def sum_of_pairs(rng: np.random.Generator) -> RuleCase:
    dims = (*shape(rng), 3)
    given = (Fed(dims), Fed(dims[-1:]), Fed((1,) * len(dims)))
    return RuleCase(one_of(rng, "Mean", "Sum"), given[: int(rng.integers(2, 4))])


@draws("global-max-of-images")
def global_max_of_images(rng: np.random.Generator) -> RuleCase:
    dims = tuple(int(dim) for dim in rng.integers(2, 5, one_of(rng, 3, 5)))
    return RuleCase("GlobalMaxPool", (Fed(dims),), cann=one_of(rng, "5", "9.1"))


@draws("depth-to-space-of-one")
def depth_to_space_of_one(rng: np.random.Generator) -> RuleCase:
    dims = tuple(int(dim) for dim in rng.integers(1, 5, 4))
    return RuleCase("DepthToSpace", (Fed(dims),), {"blocksize": 1})


@draws("grid-sample-with-modes")
def grid_sample_with_modes(rng: np.random.Generator) -> RuleCase:
    given = one_of(rng, {}, {"padding_mode": "border"}, {"align_corners": 1, "mode": "bilinear"})
    inputs = (Fed((1, 2, 4, 5)), Fed((1, 3, 3, 2)))
    return RuleCase("GridSample", inputs, given, 16, operator_list="cann-9.0")


@draws("random-with-dtype")
def random_with_dtype(rng: np.random.Generator) -> RuleCase:
    op = one_of(rng, "RandomNormalLike", "RandomUniformLike")
    return RuleCase(op, (Fed(shape(rng), DType.FLOAT16),), operator_list="cann-9.0")


@draws("multinomial-in-int32")
def multinomial_in_int32(rng: np.random.Generator) -> RuleCase:
    return RuleCase("Multinomial", (Fed((2, int(rng.integers(1, 5)))),), {"dtype": 7})


@draws("arg-min-as-arg-max")
def arg_min_as_arg_max(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    given = {"axis": axis_of(rng, dims), "keepdims": int(rng.integers(2))}
    return RuleCase("ArgMin", (Fed(dims),), given)


@draws("gemm-before-sum")
def gemm_before_sum(rng: np.random.Generator) -> RuleCase:
    m, n = (int(dim) for dim in rng.integers(2, 5, 2))
    bias = one_of(rng, (m, 1), (1, n), (1,))
    return RuleCase("Gemm", (Fed((m, 3)), Fed((3, n)), Fed(bias)), cann="5")
