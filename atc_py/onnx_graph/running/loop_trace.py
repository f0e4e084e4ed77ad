"""Steps of a Loop, found by running the part of its body that decides them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.ir import ConstData
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.tensors import TensorReader
from atc_py.onnx_graph.running.piece import NotRunError, Piece, PieceSettings

_BEFORE_STATES = 2
"""Inputs of a body before its states: the step and the condition."""


@dataclass(frozen=True, slots=True)
class LoopTrace:
    """The steps of a Loop."""

    steps: int  # how often the body runs; one more than the limit for more
    seen: Mapping[str, list[NDArray[Any]]]  # the values that were asked for, one a step, by name


def trace_loop(  # noqa: PLR0913  (a Loop and what is known of it)
    body: OnnxGraph,
    tensors: TensorReader,
    known: Mapping[str, ConstData],
    start: Sequence[NDArray[Any] | None],
    most: int,
    *,
    condition: bool,
    wanted: Sequence[str] = (),
) -> LoopTrace | None:
    """The steps of a Loop; None if values of a run decide them or what is asked for.

    `known` are constants around the body that it reads, by name; `start` has data of the states
    before the first step, None for those that are not constant; `condition` counts before that
    step; `most` is the largest number of steps that counts, and `wanted` are values of the body.
    """
    decided = _deciding_part(body, known, [state is not None for state in start], wanted)
    if decided is None:
        return None
    nodes, states = decided
    settings = PieceSettings(body.opsets, tensors, fed_bytes=None)
    results = (body.outputs[0], *wanted, *(body.outputs[1 + at] for at in states))
    constants = {**known, **body.consts}
    piece = Piece(nodes, constants, tuple(dict.fromkeys(results)), settings)
    names = [*body.inputs]
    values: dict[str, Any] = {names[_BEFORE_STATES + at]: start[at] for at in states}
    seen: dict[str, list[Any]] = {name: [] for name in wanted}
    going, steps = condition, 0
    try:
        while going and steps <= most:
            values |= {names[0]: np.array(steps, np.int64), names[1]: np.array(going)}
            made = piece.run({name: values[name] for name in piece.reads}, "onnx")
            for name in wanted:
                seen[name].append(made[name])
            going = bool(made[body.outputs[0]].reshape(-1)[0])
            values = {names[_BEFORE_STATES + at]: made[body.outputs[1 + at]] for at in states}
            steps += 1
    except (LookupError, NotRunError):
        return None
    return LoopTrace(steps, seen)


def _deciding_part(
    body: OnnxGraph, known: Collection[str], constant: Sequence[bool], wanted: Sequence[str]
) -> tuple[list[OnnxNode], list[int]] | None:
    """The nodes and states that condition and `wanted` depend on; None if data decide them."""
    inputs = {name: at - _BEFORE_STATES for at, name in enumerate(body.inputs)}
    waiting, states = [body.outputs[0], *wanted], set()
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        maker = body.producer(name)
        if maker is not None:
            waiting += maker.reads
        elif name in inputs:
            at = inputs[name]
            if at >= 0:
                if at >= len(constant) or not constant[at]:
                    return None
                states.add(at)
                waiting.append(body.outputs[1 + at])
        elif name not in body.consts and name not in known:
            return None
    return [node for node in body.nodes if not seen.isdisjoint(node.writes)], sorted(states)
