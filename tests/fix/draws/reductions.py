"""Random cases of the rules of reductions."""

from dataclasses import replace

import numpy as np

from atc_py.fix.case import ConstInput, Fed, RuleCase, case_after
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


@draws("reduction-over-named-axes")
def reduction_over_named_axes(rng: np.random.Generator) -> RuleCase:
    operator = str(rng.choice(["ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"]))
    dims = tuple(int(each) for each in rng.integers(1, 5, rng.integers(1, 5)))
    return RuleCase(operator, (Fed(dims),), {"keepdims": int(rng.integers(2))}, opset=11)


def _after_bits(rng: np.random.Generator, operator: str, opset: int) -> RuleCase:
    dims = tuple(int(each) for each in rng.integers(2, 9, rng.integers(1, 5)))
    axes = np.sort(rng.permutation(len(dims))[: rng.integers(1, len(dims) + 1)])
    found = case_after(
        (
            ("Cast", ("x",), ("whole",), {"to": 6}),
            ("BitwiseNot", ("whole",), ("inverse",), {}),
            ("Cast", ("inverse",), ("y",), {"to": 1}),
        ),
        operator,
        ("y", "axes"),
        {"x": Fed(dims), "axes": axes},
        opset=opset,
        attributes={"keepdims": int(rng.integers(2))},
    )
    return replace(found, operator_list="cann-9.0")


@draws("mean-as-pool")
def mean_as_pool(rng: np.random.Generator) -> RuleCase:
    return _after_bits(rng, "ReduceMean", 18)


@draws("reduction-by-halves")
def reduction_by_halves(rng: np.random.Generator) -> RuleCase:
    operator = str(rng.choice(["ReduceMax", "ReduceMin", "ReduceProd"]))
    return replace(_after_bits(rng, operator, 18), cann="9.0")
