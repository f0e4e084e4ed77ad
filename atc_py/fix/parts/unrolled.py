"""Recurrent layers of ONNX step by step: directions, lengths of sequences, states, parts of weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from atc_py.fix import tables
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.parts.steps import MOST_STEPS
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atc_py.fix.site import Site

    States = Sequence[str]
    Step = Callable[[str, States], Sequence[str]]

__all__ = ["UnrolledLayer", "driven_gates", "part_of", "require_finite_weights", "unrolled"]

_WEIGHTS, _LENGTHS = (1, 2, 3), 4
"""Positions of inputs."""


@dataclass(frozen=True, slots=True)
class UnrolledLayer:
    """A recurrent layer, as its steps are written.

    Attributes:
        states: positions of the inputs that the states begin with; the first state is the result.
        open_cell: returns the step of a direction, given its place among the directions. The step
            writes the new states, given what the sequence contributes and the states before; each
            of these is "" where it is zero.
        driven: writes what the sequence contributes to all steps of a direction.
    """

    states: Sequence[int]
    open_cell: Callable[[int], Step]
    driven: Callable[[int], str]


def unrolled(site: Site, layer: UnrolledLayer) -> list[str]:
    """Write every step of every direction; return the results of all steps and the last states.

    Raises:
        UnfitError: the layer is not float, its sequence is not the first axis or too long, or dims
            are open.
    """
    require(site.element in FLOATS, "the dtype is float16 or float32", "类型为 float16 或 float32")
    require(not site.integer("layout", 0), "the sequence is the first axis", "序列为第一轴")
    steps = site.shape(0)[0]
    require(0 < steps <= MOST_STEPS, "there are 1 to 512 steps", "1 至 512 步")
    require_finite_weights(site)
    backward = site.text("direction", "forward") == "reverse"
    orders = [range(steps), range(steps)[::-1]]
    there = _there(site, steps)
    count = site.shape(1)[0]
    done = [_run(site, layer, at, orders[at ^ backward], there) for at in range(count)]
    rows = [
        site.unsqueeze(_joined(site, [found[step] for step in range(steps)], 0), [1])
        for found, _ in done
    ]
    last = [
        _joined(site, [site.unsqueeze(states[at], [0]) for _, states in done], 0)
        for at in range(len(layer.states))
    ]
    return [_joined(site, rows, 1), *last]


def require_finite_weights(site: Site) -> None:
    """Refuse a layer with constant weights of NaN or infinity.

    Functions of onnxruntime's layers take NaN for 0 or for a bound, where single nodes keep it.

    Raises:
        UnfitError: there is such a weight.
    """
    given = (site.tensor(position) for position in _WEIGHTS)
    known = [each.const for each in given if each is not None and each.const is not None]
    finite = all(np.isfinite(each.numpy()).all() for each in known)
    require(finite, "constant weights are finite", "常量权重均为有限值")


def driven_gates(site: Site, way: int, bias: str) -> str:
    """Write the products of the whole sequence with W of one direction, and its bias; "" for none."""
    w = site.transpose(part_of(site, 1, way), [1, 0])
    driven = site.op("MatMul", [site.name(0), w])
    return site.op("Add", [driven, bias]) if bias else driven


def part_of(site: Site, position: int, way: int) -> str:
    """Return an input of one direction; "" if it is absent."""
    if site.tensor(position) is None:
        return ""
    if site.shape(position)[0] == 1:
        return site.squeeze(site.name(position), [0])
    return site.squeeze(site.slice(site.name(position), 0, way, way + 1), [0])


def _joined(site: Site, parts: Sequence[str], axis: int) -> str:
    """Return `parts` one after the other."""
    return parts[0] if len(parts) == 1 else site.op("Concat", parts, axis=axis)


def _there(site: Site, steps: int) -> list[str]:
    """Return for each step which sequences of the batch have it, `[batch, 1]`; nothing if all do."""
    lengths = site.tensor(_LENGTHS)
    if lengths is None:
        return []
    if lengths.const is not None:
        known = site.constant(_LENGTHS).reshape(-1, 1)
        if (known >= steps).all():
            return []
        return [site.const(known > step, DType.BOOL, "there") for step in range(steps)]
    column = site.reshape(site.cast(lengths.name, DType.FLOAT32), [-1, 1])
    return [
        site.op("Greater", [column, site.const(step, DType.FLOAT32, "step")])
        for step in range(steps)
    ]


def _run(
    site: Site, layer: UnrolledLayer, way: int, order: Sequence[int], there: Sequence[str]
) -> tuple[dict[int, str], Sequence[str]]:
    """Return the result of each step of one direction, `[1, batch, size]`, and the last states."""
    _, batch, _ = site.shape(0)
    _, _, size = site.shape(2)
    driven, step_of = layer.driven(way), layer.open_cell(way)
    states: Sequence[str] = [part_of(site, position, way) for position in layer.states]
    zeros = site.const(tables.zeros((batch, size)), site.element, "zeros")
    results = {}
    for step in order:
        x = site.squeeze(site.slice(driven, 0, step, step + 1), [0])
        new = step_of(x, states)
        seen = new[0]
        if there:
            seen = site.op("Where", [there[step], seen, zeros])
            pairs = zip(new, states, strict=True)
            new = [site.op("Where", [there[step], one, old or zeros]) for one, old in pairs]
        states = new
        results[step] = site.unsqueeze(seen, [0])
    if there:
        # A sequence of no steps has no last states; onnxruntime's are 0 then, not the first ones.
        states = [
            one if site.tensor(at) is None else site.op("Where", [there[0], one, zeros])
            for one, at in zip(states, layer.states, strict=True)
        ]
    return results, states
