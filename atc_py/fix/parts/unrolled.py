"""Recurrent layers written out step by step, and their activations."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from atc_py.fix.context import RuleContext
from atc_py.fix.parts.bodies import MOST_STEPS
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

States = Sequence[str]
Step = Callable[[str, States], Sequence[str]]

# Alpha, and beta where there is one, of every function; None where engines differ.
_DEFAULTS: dict[str, tuple[float | None, ...]] = {
    "affine": (None, None),
    "elu": (1.0,),
    "hardsigmoid": (0.2, 0.5),
    "leakyrelu": (0.01,),
    "relu": (),
    "scaledtanh": (None, None),
    "sigmoid": (),
    "softplus": (),
    "softsign": (),
    "tanh": (),
    "thresholdedrelu": (None,),
}

# Functions that are operators.
_OPERATORS = {
    op_type.lower(): op_type
    for op_type in (
        "Elu", "HardSigmoid", "LeakyRelu", "Relu", "Sigmoid", "Softplus", "Softsign", "Tanh",
        "ThresholdedRelu",
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Activation:
    """A function of one value."""

    name: str  # in small letters
    values: tuple[float, ...]  # alpha and beta, as many as it has
    clip: float = 0.0  # bound of the magnitude of its argument; 0 for none

    def write(self, ctx: RuleContext, x: str) -> str:
        if self.clip:
            bounds = [ctx.scalar(value, "clip") for value in (-self.clip, self.clip)]
            x = ctx.op("Min", ctx.op("Max", x, bounds[0]), bounds[1])
        if self.name in _OPERATORS:
            names = ("alpha", "beta")[: len(self.values)]
            given: dict[str, Any] = dict(zip(names, self.values, strict=True))
            return ctx.op(_OPERATORS[self.name], x, **given)
        alpha, beta = (ctx.scalar(value, "factor") for value in self.values)
        if self.name == "affine":
            return ctx.op("Add", ctx.op("Mul", x, alpha), beta)
        return ctx.op("Mul", ctx.op("Tanh", ctx.op("Mul", x, beta)), alpha)


def activations_of(ctx: RuleContext, defaults: Sequence[str]) -> list[Activation]:
    """The activations of a recurrent node; functions take their alpha and beta in order."""
    given = ctx.node.attributes.get("activations") or tuple(defaults)
    names = [str(value).lower() for value in given] if isinstance(given, tuple) else []
    known = len(names) == len(defaults) and all(name in _DEFAULTS for name in names)
    require(known, "the activations are ONNX's")
    lists = [list(_floats(ctx, f"activation_{attribute}")) for attribute in ("alpha", "beta")]
    clip = ctx.number("clip", 0.0)
    return [Activation(name, tuple(_values(name, lists)), clip) for name in names]


def _values(name: str, lists: Sequence[list[float]]) -> Iterator[float]:
    for given, default in zip(lists, _DEFAULTS[name], strict=False):
        value = given.pop(0) if given else default
        require(value is not None, "alpha and beta are given")
        yield float(value or 0)


def _floats(ctx: RuleContext, name: str) -> tuple[float, ...]:
    attribute = ctx.node.attributes.get(name, ())
    return tuple(float(number) for number in attribute) if isinstance(attribute, tuple) else ()


# Positions of inputs.
_WEIGHTS, _LENGTHS = (1, 2, 3), 4


@dataclass(frozen=True, slots=True)
class UnrolledLayer:
    """A recurrent layer, as its steps are written.

    Attributes:
        open_cell: returns the step of a direction, given its place among the directions. The step
            writes the new states, given what the sequence contributes and the states before; each
            of these is "" where it is zero.
    """

    # positions of the inputs that the states begin with; the first state is the result
    states: Sequence[int]
    open_cell: Callable[[int], Step]
    driven: Callable[[int], str]  # writes what the sequence contributes to all steps of a direction


def unrolled(ctx: RuleContext, layer: UnrolledLayer) -> list[str]:
    """Write every step of every direction; return the results of all steps and the last states."""
    ctx.floats(0)
    require(not ctx.integer("layout", 0), "the sequence is the first axis")
    steps = ctx.shape(0)[0]
    require(0 < steps <= MOST_STEPS, "there are 1 to 512 steps", found=steps)
    require_finite_weights(ctx)
    backward = ctx.text("direction", "forward") == "reverse"
    orders = [range(steps), range(steps)[::-1]]
    there = _there(ctx, steps)
    count = ctx.shape(1)[0]
    done = [_run(ctx, layer, at, orders[at ^ backward], there) for at in range(count)]
    rows = [
        ctx.unsqueeze(ctx.concat([found[step] for step in range(steps)], 0), [1])
        for found, _ in done
    ]
    last = [
        ctx.concat([ctx.unsqueeze(states[at], [0]) for _, states in done], 0)
        for at in range(len(layer.states))
    ]
    return [ctx.concat(rows, 1), *last]


def require_finite_weights(ctx: RuleContext) -> None:
    """Refuse a layer with constant weights of NaN or infinity.

    Functions of onnxruntime's layers take NaN for 0 or for a bound, where single nodes keep it.
    """
    given = (ctx.tensor(position) for position in _WEIGHTS)
    known = [value.const for value in given if value is not None and value.const is not None]
    require(all(np.isfinite(row.numpy()).all() for row in known), "constant weights are finite")


def driven_gates(ctx: RuleContext, way: int, bias: str) -> str:
    """Write the products of the whole sequence with W of one direction, and its bias; "" for none."""
    w = ctx.transpose(part_of(ctx, 1, way), [1, 0])
    driven = ctx.op("MatMul", ctx.name(0), w)
    return ctx.add(driven, bias)


def part_of(ctx: RuleContext, position: int, way: int) -> str:
    """An input of one direction; "" if it is absent."""
    if ctx.tensor(position) is None:
        return ""
    if ctx.shape(position)[0] == 1:
        return ctx.squeeze(ctx.name(position), [0])
    return ctx.squeeze(ctx.slice(ctx.name(position), 0, way, way + 1), [0])


def _there(ctx: RuleContext, steps: int) -> list[str]:
    """For each step which sequences of the batch have it, `[batch, 1]`; nothing if all do."""
    lengths = ctx.tensor(_LENGTHS)
    if lengths is None:
        return []
    if lengths.const is not None:
        known = ctx.constant(_LENGTHS).reshape(-1, 1)
        if (known >= steps).all():
            return []
        return [ctx.const(known > step, DType.BOOL, "there") for step in range(steps)]
    column = ctx.reshape(ctx.cast(lengths.name, DType.FLOAT32), [-1, 1])
    return [
        ctx.op("Greater", column, ctx.const(step, DType.FLOAT32, "step")) for step in range(steps)
    ]


def _run(
    ctx: RuleContext, layer: UnrolledLayer, way: int, order: Sequence[int], there: Sequence[str]
) -> tuple[dict[int, str], Sequence[str]]:
    """The result of each step of one direction, `[1, batch, size]`, and the last states."""
    _, batch, _ = ctx.shape(0)
    _, _, size = ctx.shape(2)
    driven, application_of = layer.driven(way), layer.open_cell(way)
    states: Sequence[str] = [part_of(ctx, position, way) for position in layer.states]
    zeros = ctx.full((batch, size), 0, "zeros")
    results = {}
    for step in order:
        x = ctx.squeeze(ctx.slice(driven, 0, step, step + 1), [0])
        new = application_of(x, states)
        seen = new[0]
        if there:
            seen = ctx.op("Where", there[step], seen, zeros)
            pairs = zip(new, states, strict=True)
            new = [ctx.op("Where", there[step], one, old or zeros) for one, old in pairs]
        states = new
        results[step] = ctx.unsqueeze(seen, [0])
    if there:
        # A sequence of no steps has no last states; onnxruntime's are 0 then, not the first ones.
        states = [
            one if ctx.tensor(at) is None else ctx.op("Where", there[0], one, zeros)
            for one, at in zip(states, layer.states, strict=True)
        ]
    return results, states
