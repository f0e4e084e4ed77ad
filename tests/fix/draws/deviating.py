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
