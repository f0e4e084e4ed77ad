"""Random cases of the rules of reductions."""

import numpy as np

from atc_py.fix.case import ConstInput, Fed, RuleCase
from tests.fix.draws import draws


@draws("reduction-of-nothing")
def reduction_of_nothing(rng: np.random.Generator) -> RuleCase:
    operator = str(rng.choice(["ReduceMean", "ReduceMax", "ReduceMin"]))
    dims = tuple(int(each) for each in rng.integers(1, 9, rng.integers(1, 5)))
    return RuleCase(operator, (Fed(dims),), {"noop_with_empty_axes": 1}, opset=18)


@draws("log-of-sum-as-steps")
def log_of_sum_as_steps(rng: np.random.Generator) -> RuleCase:
    dims = tuple(int(each) for each in rng.integers(2, 9, rng.integers(1, 5)))
    axes = rng.permutation(len(dims))[: rng.integers(1, len(dims) + 1)]
    keepdims = {"keepdims": int(rng.integers(2))}
    if rng.integers(2):
        return RuleCase("ReduceLogSumExp", (Fed(dims), ConstInput(axes)), keepdims, opset=18)
    return RuleCase("ReduceLogSumExp", (Fed(dims),), {"axes": axes.tolist(), **keepdims}, opset=13)
