"""Random cases of the rules for float16."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.fix.case import CaseNode, Fed, RuleCase, case_after
from tests.fix.draws import draws

Steps = tuple[CaseNode, ...]
Inputs = Mapping[str, Fed | NDArray[Any]]


def small(rng: np.random.Generator) -> NDArray[np.float32]:
    """Return a constant that float16 has few digits for, or none."""
    return np.array(10.0 ** rng.uniform(-11, -5), np.float32)


def shape(rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(int(each) for each in rng.integers(2, 9, rng.integers(2, 5)))


@draws("sum-as-mean")
def sum_as_mean(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    axis, keepdims = int(rng.integers(len(dims))), int(rng.integers(2))
    steps: Steps = (("ReduceSum", ("x0", "x1"), ("sum",), {"keepdims": keepdims}),)
    value = dims[axis] * rng.choice([1.0, 2.0, 3.5])
    divides = bool(rng.integers(2))
    factor = np.array(value if divides else 1 / value, np.float32)
    inputs: Inputs = {"x0": Fed(dims), "x1": np.array([axis]), "x2": factor}
    reads = ("sum", "x2") if divides or rng.integers(2) else ("x2", "sum")
    return case_after(steps, "Div" if divides else "Mul", reads, inputs)


@draws("variance-of-deviations")
def variance_of_deviations(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    over = {"axes": [int(rng.integers(len(dims)))], "keepdims": int(rng.integers(2))}
    power = bool(rng.integers(2))
    square = ("Pow", ("x0", "x1")) if power else ("Mul", ("x0", "x0"))
    steps: Steps = (
        (*square, ("square",), {}),
        ("ReduceMean", ("square",), ("squares",), over),
        ("ReduceMean", ("x0",), ("mean",), over),
        ("Mul", ("mean", "mean"), ("of_mean",), {}),
    )
    inputs: Inputs = {"x0": Fed(dims), "x1": np.array(2, np.float32)}
    return case_after(steps, "Sub", ("squares", "of_mean"), inputs)


@draws("root-of-squares")
def root_of_squares(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    operator = str(rng.choice(["ReduceMean", "ReduceSumSquare"]))
    over = {"axes": [int(rng.integers(len(dims)))], "keepdims": int(rng.integers(2))}
    source = "square" if operator == "ReduceMean" else "x0"
    steps: Steps = (
        ("Mul", ("x0", "x0"), ("square",), {}),
        (operator, (source,), ("mean",), over),
        ("Add", ("mean", "x1"), ("sum",), {}),
    )
    inputs: Inputs = {"x0": Fed(dims), "x1": small(rng)}
    return case_after(steps, "Sqrt", (str(rng.choice(["mean", "sum"])),), inputs)


@draws("softmax-of-steps")
def softmax_of_steps(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    axis = int(rng.integers(len(dims)))
    opset = int(rng.choice([11, 13]))
    axes = {"axes": [axis]} if opset < 13 else {}
    reads = ("e",) if opset < 13 else ("e", "x1")
    steps: Steps = (
        ("Exp", ("x0",), ("e",), {}),
        ("ReduceSum", reads, ("sum",), {"keepdims": 1, **axes}),
    )
    inputs: Inputs = {"x0": Fed(dims), "x1": np.array([axis])}
    return case_after(steps, "Div", ("e", "sum"), inputs, opset)


@draws("log-of-shifted")
def log_of_shifted(rng: np.random.Generator) -> RuleCase:
    steps: Steps = (("Abs", ("x0",), ("a",), {}), ("Add", ("a", "x1"), ("sum",), {}))
    return case_after(steps, "Log", ("sum",), {"x0": Fed(shape(rng)), "x1": small(rng)})


@draws("log-of-magnified")
def log_of_magnified(rng: np.random.Generator) -> RuleCase:
    steps: Steps = (
        ("Abs", ("x0",), ("a",), {}),
        ("Mul", ("a", "x1"), ("b",), {}),
        ("Add", ("b", "x2"), ("sum",), {}),
    )
    factor = np.array(2.0 ** rng.uniform(10, 28), np.float32)
    added = np.array(2.0 ** rng.uniform(-10, 10), np.float32)
    return case_after(steps, "Log", ("sum",), {"x0": Fed(shape(rng)), "x1": factor, "x2": added})


@draws("log-of-clipped")
def log_of_clipped(rng: np.random.Generator) -> RuleCase:
    steps: Steps = ((str(rng.choice(["Clip", "Max"])), ("x0", "x1"), ("a",), {}),)
    return case_after(steps, "Log", ("a",), {"x0": Fed(shape(rng)), "x1": small(rng)})
