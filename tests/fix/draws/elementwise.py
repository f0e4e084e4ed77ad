"""Random cases of the rules of comparisons, functions and choices."""

from typing import Any

import numpy as np

from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from atc_py.fix.case import Fed as Input
from atc_py.tensor.dtypes import DType
from tests.fix.draws import draws


def shape(rng: np.random.Generator, low: int = 1, high: int = 4) -> tuple[int, ...]:
    """Return the dims of a tensor of `low` to `high` axes."""
    return tuple(int(each) for each in rng.integers(1, 6, int(rng.integers(low, high + 1))))


def pair(rng: np.random.Generator, dtype: DType) -> tuple[Input, Input]:
    """Return two inputs whose shapes broadcast."""
    dims = shape(rng)
    other = tuple(dim if rng.integers(2) else 1 for dim in dims)[int(rng.integers(len(dims))) :]
    return Fed(dims, dtype), Fed(other, dtype)


@draws("min-as-where")
def min_as_where(rng: np.random.Generator) -> RuleCase:
    return RuleCase("Min", pair(rng, DType.INT32), opset=12)


@draws("order-as-not")
def order_as_not(rng: np.random.Generator) -> RuleCase:
    return RuleCase("LessOrEqual", pair(rng, DType.INT32), opset=12)


@draws("is-nan-as-equal")
def is_nan_as_equal(rng: np.random.Generator) -> RuleCase:
    return RuleCase("IsNaN", (Fed(shape(rng)),))


@draws("is-inf-as-equal")
def is_inf_as_equal(rng: np.random.Generator) -> RuleCase:
    names = ("detect_negative", "detect_positive")
    kept = str(rng.choice(names))
    attributes = {name: int(name == kept or rng.integers(2)) for name in names}
    return RuleCase("IsInf", (Fed(shape(rng)),), attributes, opset=10)


@draws("xor-as-equal")
def xor_as_equal(rng: np.random.Generator) -> RuleCase:
    return RuleCase("Xor", pair(rng, DType.BOOL))


@draws("bitwise-not-as-arithmetic")
def bitwise_not_as_arithmetic(rng: np.random.Generator) -> RuleCase:
    dtypes = (DType.INT8, DType.INT16, DType.INT32, DType.UINT8, DType.UINT16)
    dtype = dtypes[int(rng.integers(len(dtypes)))]
    return RuleCase("BitwiseNot", (Fed(shape(rng), dtype),), opset=18)


@draws("tan-as-quotient")
def tan_as_quotient(rng: np.random.Generator) -> RuleCase:
    return RuleCase("Tan", (Fed(shape(rng)),))


@draws("trilu-as-where")
def trilu_as_where(rng: np.random.Generator) -> RuleCase:
    ks: list[Any] = [
        ConstInput(np.array(int(rng.integers(-4, 5)))), Fed((), DType.INT64, (-4, 4))
    ]  # fmt: skip
    k = ks[int(rng.integers(2)) :][: int(rng.integers(2))]
    inputs: tuple[Any, ...] = (Fed(shape(rng, 2)), *k)
    opset, domain = (1, "com.microsoft") if rng.integers(2) else (14, "")
    attributes = {"upper": int(rng.integers(2))}
    return RuleCase("Trilu", inputs, attributes, opset=opset, domain=domain)


@draws("compress-as-gather")
def compress_as_gather(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    axis = int(rng.integers(len(dims)))
    chosen = rng.integers(0, 2, int(rng.integers(1, dims[axis] + 1))).astype(bool)
    chosen[0] = True
    attributes = {"axis": axis - len(dims) * int(rng.integers(2))} if rng.integers(2) else {}
    return RuleCase("Compress", (Fed(dims), ConstInput(chosen)), attributes, opset=11)


@draws("arg-max-of-reversed")
def arg_max_of_reversed(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    attributes = {
        "axis": int(rng.integers(-len(dims), len(dims))),
        "keepdims": int(rng.integers(2)),
        "select_last_index": 1,
    }
    return RuleCase(str(rng.choice(["ArgMax", "ArgMin"])), (Fed(dims),), attributes)


@draws("p-relu-as-relus")
def p_relu_as_relus(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng, 3)
    return RuleCase("PRelu", (Fed(dims), data(*dims[1:])))


@draws("pow-with-cast")
def pow_with_cast(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    return RuleCase("Pow", (Fed(dims), ConstInput(rng.integers(0, 4, dims[-1:]))))


@draws("top-k-of-integers")
def top_k_of_integers(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    axis = int(rng.integers(len(dims)))
    count = ConstInput(np.array([int(rng.integers(1, dims[axis] + 1))]))
    fed = Fed(dims, DType.INT64, (-9, 1000))
    return RuleCase("TopK", (fed, count), {"axis": axis}, opset=11, outputs=2)


@draws("reverse-sequence-carried")
def reverse_sequence_carried(rng: np.random.Generator) -> RuleCase:
    steps, batch = (int(each) for each in rng.integers(1, 6, 2))
    lengths = ConstInput(rng.integers(1, steps + 1, batch))
    return RuleCase("ReverseSequence", (Fed((steps, batch), DType.BOOL), lengths), opset=10)


@draws("double-as-float32")
def double_as_float32(rng: np.random.Generator) -> RuleCase:
    double = DType.FLOAT64
    op = str(rng.choice(["Sub", "Mul", "Exp", "Sigmoid", "Where", "MatMul", "Concat", "Less"]))
    if op in {"Exp", "Sigmoid"}:
        return RuleCase(op, (Fed(shape(rng), double),))
    if op == "Where":
        dims = shape(rng)
        return RuleCase(op, (Fed(dims, DType.BOOL), Fed(dims, double), Fed(dims, double)))
    if op == "MatMul":
        rows, inner, columns = (int(each) for each in rng.integers(1, 6, 3))
        return RuleCase(op, (Fed((rows, inner), double), Fed((inner, columns), double)))
    if op == "Concat":
        return RuleCase(op, (Fed((2, 3), double), Fed((2, 1), double)), {"axis": 1})
    return RuleCase(op, pair(rng, double))
