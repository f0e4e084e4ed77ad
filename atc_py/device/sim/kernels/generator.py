"""Numbers counted up in steps, and random ones: with a seed the same in every run, else others."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, Rounding, kernel
from atc_py.device.sim.typing_rules import (
    one_dtype,
    require_float,
    require_one_element,
    require_rank,
)
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_WORD = 2**64 - 1


def _generator(node: NodeView) -> np.random.Generator:
    """Numbers that follow from both seeds; from nothing known where both are 0."""
    seeds = [node.integer(name) & _WORD for name in ("seed", "seed2")]
    return np.random.default_rng(seeds if any(seeds) else None)


def _drawn_types(node: NodeView) -> tuple[TensorFacts, ...]:
    require_rank(node.x, 1, "shape")
    dims, dtype = node.integers_of(0, "shape"), node.dtype_named("dtype")
    if dtype not in {DType.FLOAT32, DType.FLOAT64}:
        raise NodeError(Text("dtype must be float32 or float64, found {found}", found=dtype.value))
    if min(dims, default=0) < 0:
        raise NodeError(Text("dims must be at least 0, found {found}", found=list(dims)))
    return (TensorFacts(dtype, dims),)


@kernel("RandomStandardNormal", _drawn_types)
@kernel("RandomUniform", _drawn_types)
def random_numbers(call: Call) -> None:
    """Draw numbers of the normal distribution with mean 0 and deviation 1, or even ones.

    The latter are multiples of 2^-24 (float32) or 2^-53 (float64) from 0 to below 1, all as likely.
    """
    generator = _generator(call.node)
    is_normal = call.node.op == "RandomStandardNormal"
    draw = generator.standard_normal if is_normal else generator.random
    draw(dtype=call.out.dtype, out=call.out)


def _multinomial_types(node: NodeView) -> tuple[TensorFacts, ...]:
    logits, dtype = node.x, node.dtype_named("dtype")
    counts = node.integers_of(1, "num_samples") if 1 in node.numbers else ()
    require_float(logits)
    require_rank(logits, 2, "logits")
    rows, classes = logits.shape
    if len(counts) != 1 or counts[0] < 0:
        text = Text("num_samples must be one constant count, found {found}")
        raise NodeError(text.with_values(found=node.required(1)))
    if not classes or not dtype.is_integer:
        text = Text("classes of an integer dtype are needed, found {found}, {dtype}")
        raise NodeError(text.with_values(found=logits, dtype=dtype.value))
    return (TensorFacts(dtype, (rows, *counts)),)


@kernel("Multinomial", _multinomial_types, rounding=Rounding.ON_GRID)
def multinomial(call: Call) -> None:
    """Draw class c of a row with probability exp(logits[c]) / sum of exp(logits).

    A number u, even in [0, 1), gives the first class up to which the probabilities add up to more
    than u. The sums are divided by the last one, which makes that 1, so a class without
    probability is never drawn.
    """
    logits = call.x.astype(np.float64)
    sums = np.exp(logits - logits.max(axis=1, keepdims=True)).cumsum(axis=1)
    sums /= sums[:, -1:]
    draws = _generator(call.node).random(call.out.shape)
    for row, steps in enumerate(sums):
        drawn = steps.searchsorted(draws[row], side="right")
        np.copyto(call.out[row], np.minimum(drawn, steps.size - 1), casting="unsafe")


def _range_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """A vector in the inputs' dtype, of the declared length, which the run must keep."""
    one_dtype(node.present)
    require_one_element(node, {0: "start", 1: "limit", 2: "delta"})
    if node.outputs[0].rank != 1:
        raise NodeError(Text("the result must be a vector, found {found}", found=node.outputs[0]))
    return (TensorFacts(node.x.dtype, node.outputs[0].dims),)


def _counted(call: Call) -> tuple[NDArray[Any], ...]:
    _range_types(call.node)
    length = _length(call)
    text = Text("the range of {n} numbers", n=length)
    call.workspace.require(length * call.x.dtype.itemsize, text)
    out = np.empty(length, call.x.dtype)
    _count(call, out)
    return (out,)


@kernel("Range", _range_types, results=_counted)
def count_up(call: Call) -> None:
    """Compute `y[i] = start + i * delta`, with max(ceil((limit - start) / delta), 0) elements."""
    length = _length(call)
    if length != call.out.size:
        text = Text("the range has {n} elements, the model says {declared}")
        raise ValueError(text.with_values(n=length, declared=call.out.size))
    _count(call, call.out)


def _length(call: Call) -> int:
    """Count elements; Python's integers do not overflow, and its floats are wide enough."""
    start, limit, delta = (call.input(position).reshape(-1)[0].item() for position in range(3))
    if delta == 0:
        raise NodeError(Text("delta must not be 0"))
    steps = -((start - limit) // delta)
    if not math.isfinite(steps):
        text = Text("there is no range from {start} to {limit} by {delta}")
        raise NodeError(text.with_values(start=start, limit=limit, delta=delta))
    return max(int(steps), 0)


def _count(call: Call, out: NDArray[Any]) -> None:
    start, delta = (call.input(position).reshape(-1)[0] for position in (0, 2))
    np.multiply(np.arange(out.size, dtype=out.dtype), delta, out=out)
    np.add(out, start, out=out)
