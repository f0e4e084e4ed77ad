"""Random cases of rules of choices and of constants."""

import numpy as np

from atc_py.fix.case import Fed, RuleCase
from atc_py.tensor.dtypes import DType
from tests.fix.draws import draws


@draws("where-as-gather")
def where_as_gather(rng: np.random.Generator) -> RuleCase:
    dims = [int(each) for each in rng.integers(1, 4, int(rng.integers(1, 4)))]
    dtype = (DType.BOOL, DType.INT64, DType.INT16)[int(rng.integers(3))]

    def part() -> tuple[int, ...]:
        kept = dims[int(rng.integers(len(dims) + 1)) :]
        return tuple(each if rng.integers(2) else 1 for each in kept)

    return RuleCase(
        "Where", (Fed(tuple(dims), DType.BOOL), Fed(part(), dtype), Fed(part(), dtype)), opset=16
    )


@draws("eye-like-as-constant")
def eye_like_as_constant(rng: np.random.Generator) -> RuleCase:
    rows, columns = (int(each) for each in rng.integers(1, 6, 2))
    attributes = {"k": int(rng.integers(-rows, columns + 1))}
    if rng.integers(2):
        attributes["dtype"] = int(rng.choice([1, 6, 7]))
    return RuleCase("EyeLike", (Fed((rows, columns)),), attributes)
