"""Random cases of the rules for float16."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.registry import load_rules
from tests.fix.draws import draws

if TYPE_CHECKING:
    from collections.abc import Mapping

Steps = tuple[tuple[str, tuple[str, ...], tuple[str, ...], "Mapping[str, Any]"], ...]


def small(rng: np.random.Generator) -> ConstInput:
    """Return a constant that float16 has few digits for, or none."""
    return ConstInput(np.array(10.0 ** rng.uniform(-11, -5), np.float32))


def shape(rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(int(each) for each in rng.integers(2, 9, rng.integers(2, 5)))


@draws("sum-as-mean")
def sum_as_mean(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    axis, keepdims = int(rng.integers(len(dims))), int(rng.integers(2))
    steps: Steps = (("ReduceSum", ("x0", "x1"), ("sum",), {"keepdims": keepdims}),)
    value = dims[axis] * rng.choice([1.0, 2.0, 3.5])
    divides = bool(rng.integers(2))
    factor = ConstInput(np.array(value if divides else 1 / value, np.float32))
    inputs = (Fed(dims), ConstInput(np.array([axis])), factor)
    reads = ("sum", "x2") if divides or rng.integers(2) else ("x2", "sum")
    return RuleCase("Div" if divides else "Mul", inputs, given=steps, reads=reads)


@draws("variance-of-deviations")
def variance_of_deviations(rng: np.random.Generator) -> RuleCase:
    dims = shape(rng)
    over = {"axes": [int(rng.integers(len(dims)))], "keepdims": int(rng.integers(2))}
    power = bool(rng.integers(2))
    two = ConstInput(np.array(2, np.float32))
    square = ("Pow", ("x0", "x1")) if power else ("Mul", ("x0", "x0"))
    steps: Steps = (
        (*square, ("square",), {}),
        ("ReduceMean", ("square",), ("squares",), over),
        ("ReduceMean", ("x0",), ("mean",), over),
        ("Mul", ("mean", "mean"), ("of_mean",), {}),
    )
    return RuleCase("Sub", (Fed(dims), two), given=steps, reads=("squares", "of_mean"))


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
    inputs = (Fed(dims), small(rng))
    return RuleCase("Sqrt", inputs, given=steps, reads=(str(rng.choice(["mean", "sum"])),))


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
    inputs = (Fed(dims), ConstInput(np.array([axis])))
    return RuleCase("Div", inputs, opset=opset, given=steps, reads=("e", "sum"))


@draws("log-of-shifted")
def log_of_shifted(rng: np.random.Generator) -> RuleCase:
    case = load_rules()["log-of-shifted"].example
    return replace(case, inputs=(Fed(shape(rng)), small(rng)))


@draws("log-of-clipped")
def log_of_clipped(rng: np.random.Generator) -> RuleCase:
    case = load_rules()["log-of-clipped"].example
    operator = str(rng.choice(["Clip", "Max"]))
    steps: Steps = ((operator, ("x0", "x1"), ("a",), {}),)
    return replace(case, inputs=(Fed(shape(rng)), small(rng)), given=steps)
