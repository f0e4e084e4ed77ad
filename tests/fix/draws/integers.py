"""Random cases of the rules of integers."""

from typing import Any

import numpy as np

from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.tensor.dtypes import DType
from tests.fix.draws import draws
from tests.fix.draws.elementwise import shape

WIDE = DType.INT64


def constant(*values: int) -> ConstInput:
    """Return int64 constants."""
    return ConstInput(np.array(values, np.int64))


@draws("int64-as-int32")
def int64_as_int32(rng: np.random.Generator) -> RuleCase:
    dims = tuple(int(each) for each in rng.integers(1, 4, 2))
    x, y = Fed(dims, WIDE, (-40000, 40000)), Fed(dims[1:], WIDE, (-3, 50000))
    flags = {"exclusive": int(rng.integers(2)), "reverse": int(rng.integers(2))}
    cases = [
        *(RuleCase(op, (x, y)) for op in ("Sub", "Mul", "Less", "Greater")),
        RuleCase("Neg", (x,)),
        RuleCase("Clip", (Fed(dims, DType.INT8), ConstInput(np.array(3, np.int8)))),
        RuleCase("CumSum", (x, ConstInput(np.array(1))), flags, opset=11),
        RuleCase("Pad", (x, constant(1, 0, 0, 2), ConstInput(np.array(0)))),
        RuleCase("Pad", (Fed(dims, DType.BOOL), constant(1, 0, 0, 2))),
        RuleCase("Slice", (x, constant(0), constant(1), constant(1))),
        RuleCase("Where", (Fed(dims, DType.BOOL), Fed(dims, DType.BOOL), Fed(dims, DType.BOOL))),
        RuleCase("Pow", (Fed(dims, WIDE, (-9, 9)), Fed(dims[1:], WIDE, (0, 4)))),
    ]
    return cases[int(rng.integers(len(cases)))]


@draws("integers-as-float32")
def integers_as_float32(rng: np.random.Generator) -> RuleCase:
    dims = (*shape(rng, 0, 2), int(rng.integers(1, 6)))
    dtype = (WIDE, DType.INT32, DType.INT8)[int(rng.integers(3))]
    x = Fed(dims, dtype, (-60, 60))
    axis = int(rng.integers(-len(dims), len(dims)))
    columns = int(rng.integers(1, 5))
    rows = Fed((dims[-1], columns), DType.INT32, (-60, 60))
    left = Fed(dims if len(dims) > 1 else (2, *dims), DType.INT32, (-60, 60))
    updates: tuple[Any, ...] = (constant(0).value[None], Fed((1, *dims[1:]), dtype, (-60, 60)))
    cases = [
        RuleCase("ReduceSum", (Fed(dims, DType.INT32, (-60, 60)),), {"axes": [axis]}, opset=12),
        RuleCase("ReduceMin", (x,), {"axes": [axis], "keepdims": 0}, opset=12),
        RuleCase("MatMul", (left, rows)),
        RuleCase("ArgMax", (x,), {"axis": axis}),
        RuleCase("Sign", (Fed(dims, DType.INT32, (-60, 60)),)),
        RuleCase("ScatterND", (x, ConstInput(updates[0]), updates[1])),
    ]
    return cases[int(rng.integers(len(cases)))]


def bounds(rng: np.random.Generator, dtype: DType) -> tuple[int, int] | None:
    """Return bounds of numbers of some bits; None for dtypes of few bits."""
    if dtype not in {DType.INT32, DType.INT64, DType.UINT32, DType.UINT64}:
        return None
    high = 2 ** int(rng.integers(1, 29))
    signed = dtype in {DType.INT32, DType.INT64}
    return (-high if signed and rng.integers(2) else 0, high)


@draws("bit-shift-as-product")
def bit_shift_as_product(rng: np.random.Generator) -> RuleCase:
    dtype = (DType.UINT8, DType.UINT32, DType.UINT64)[int(rng.integers(3))]
    dims, wide = shape(rng), dtype is not DType.UINT8
    x = Fed(dims, dtype, (0, 2 ** int(rng.integers(1, 20))) if wide else None)
    most = 11 if wide else 7
    shift = ConstInput(rng.integers(0, most, dims, endpoint=True).astype(dtype.numpy))
    by = shift if rng.integers(2) else Fed(dims, dtype, (0, most))
    way = "LEFT" if rng.integers(2) else "RIGHT"
    return RuleCase("BitShift", (x, by), {"direction": way}, opset=11)


@draws("bitwise-as-arithmetic")
def bitwise_as_arithmetic(rng: np.random.Generator) -> RuleCase:
    kinds = (
        DType.INT8,
        DType.UINT8,
        DType.INT16,
        DType.UINT16,
        DType.INT32,
        DType.INT64,
        DType.UINT32,
    )
    dtype = kinds[int(rng.integers(len(kinds)))]
    dims = shape(rng)
    x = Fed(dims, dtype, bounds(rng, dtype))
    op = ("BitwiseAnd", "BitwiseOr", "BitwiseXor")[int(rng.integers(3))]
    if rng.integers(3) == 0:
        masks = 2 ** rng.integers(0, 7, dims[-1:], endpoint=True) - 1
        return RuleCase(op, (x, ConstInput(masks.astype(dtype.numpy))), opset=18)
    other = Fed(dims[int(rng.integers(len(dims))) :], dtype, bounds(rng, dtype))
    return RuleCase(op, (x, other) if rng.integers(2) else (other, x), opset=18)


@draws("cum-prod-as-steps")
def cum_prod_as_steps(rng: np.random.Generator) -> RuleCase:
    dims = tuple(int(each) for each in rng.integers(1, 10, int(rng.integers(1, 4))))
    axis = ConstInput(np.array(int(rng.integers(-len(dims), len(dims)))))
    flags = {"exclusive": int(rng.integers(2)), "reverse": int(rng.integers(2))}
    return RuleCase("CumProd", (Fed(dims), axis), flags, opset=26)


@draws("scatter-with-reduction")
def scatter_with_reduction(rng: np.random.Generator) -> RuleCase:
    rank = int(rng.integers(1, 4))
    dims = tuple(int(each) for each in rng.integers(1, 6, rank))
    reduction = str(rng.choice(["add", "mul", "max", "min"]))
    opset = 18 if reduction in {"max", "min"} else 16
    if rng.integers(2):
        axis = int(rng.integers(rank))
        taken = tuple(int(rng.integers(1, dim + 1)) for dim in dims)
        places = rng.integers(-dims[axis], dims[axis], taken)
        where = {"axis": axis - rank * int(rng.integers(2)), "reduction": reduction}
        inputs = (Fed(dims), ConstInput(places), Fed(taken))
        return RuleCase("ScatterElements", inputs, where, opset=opset)
    depth, count = int(rng.integers(1, rank + 1)), int(rng.integers(1, 6))
    columns = [rng.integers(-dim, dim, (2, count)) for dim in dims[:depth]]
    inputs = (Fed(dims), ConstInput(np.stack(columns, -1)), Fed((2, count, *dims[depth:])))
    return RuleCase("ScatterND", inputs, {"reduction": reduction}, opset=opset)


@draws("tensor-scatter-as-nd")
def tensor_scatter_as_nd(rng: np.random.Generator) -> RuleCase:
    dims = [int(each) for each in rng.integers(1, 6, int(rng.integers(3, 5)))]
    axis = int(rng.integers(1, len(dims)))
    new = list(dims)
    new[axis] = int(rng.integers(1, dims[axis] + 1))
    mode = "circular" if rng.integers(2) else "linear"
    last = dims[axis] - (1 if mode == "circular" else new[axis])
    start = Fed((dims[0],), WIDE, (0, last)) if rng.integers(3) else None
    attributes = {"axis": axis - len(dims) * int(rng.integers(2)), "mode": mode}
    return RuleCase(
        "TensorScatter", (Fed(tuple(dims)), Fed(tuple(new)), start), attributes, opset=24
    )


@draws("gather-nd-with-batches")
def gather_nd_with_batches(rng: np.random.Generator) -> RuleCase:
    dims = tuple(int(each) for each in rng.integers(1, 5, int(rng.integers(2, 5))))
    batches = int(rng.integers(1, len(dims)))
    depth = int(rng.integers(1, len(dims) - batches + 1))
    count = int(rng.integers(1, 4))
    columns = [
        rng.integers(-dim, dim, (*dims[:batches], count)) for dim in dims[batches : batches + depth]
    ]
    indices = ConstInput(np.stack(columns, -1))
    where = {"batch_dims": batches}
    return RuleCase("GatherND", (Fed(dims), indices), where, operator_list="cann-9.0")


@draws("hardmax-as-one-hot")
def hardmax_as_one_hot(rng: np.random.Generator) -> RuleCase:
    dims = tuple(int(each) for each in rng.integers(1, 6, int(rng.choice([1, 3, 4]))))
    axis = int(rng.integers(-len(dims), len(dims)))
    opset = int(rng.choice([11, 13]))
    return RuleCase("Hardmax", (Fed(dims),), {"axis": axis % len(dims)}, opset=opset)


@draws("cum-sum-along-scalar")
def cum_sum_along_scalar(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    axis = ConstInput(np.array([int(rng.integers(-len(dims), len(dims)))]))
    flags = {"exclusive": int(rng.integers(2)), "reverse": int(rng.integers(2))}
    return RuleCase("CumSum", (Fed(dims), axis), flags, opset=11)
