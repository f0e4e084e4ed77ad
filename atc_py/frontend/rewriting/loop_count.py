"""Number of steps of a Loop, found by running the part of its body that decides it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from atc_py.frontend.folding.graph import WorkNode

__all__ = ["count_steps"]


def count_steps(
    node: WorkNode,
    known: Mapping[str, NDArray[Any]],
    start: Sequence[NDArray[Any] | None],
    most: int,
    *,
    condition: bool,
) -> int | None:
    """Return how often the body of a Loop runs; None if values of a run decide it.

    Args:
        node: the Loop.
        known: constants around it that the body reads, by name.
        start: data of the states before the first step; None for those that are not constant.
        most: largest number of steps that counts; one more is returned for more.
        condition: the condition before the first step.
    """
    body = next(each.g for each in node.proto.attribute if each.name == "body")
    decided = _deciding_part(body, known, [each is not None for each in start])
    if decided is None:
        return None
    nodes, states = decided
    names = [each.name for each in body.input]
    outputs = [body.output[0].name, *(body.output[1 + at].name for at in states)]
    model = _model_of(body, nodes, outputs, node.opset, known)
    evaluator = ReferenceEvaluator(model)
    values = {at: start[at] for at in states}
    steps = 0
    while condition and steps <= most:
        feeds: dict[str, Any] = {names[2 + at]: value for at, value in values.items()}
        feeds |= {names[0]: np.array(steps, np.int64), names[1]: np.array(condition)}
        wanted = {each.name for each in model.graph.input}
        found = list(
            evaluator.run(None, {name: each for name, each in feeds.items() if name in wanted})
        )
        condition = bool(np.asarray(found[0]).reshape(-1)[0])
        values = dict(zip(states, map(np.asarray, found[1:]), strict=True))
        steps += 1
    return steps


def _deciding_part(
    body: onnx.GraphProto, known: Mapping[str, object], constant: Sequence[bool]
) -> tuple[list[onnx.NodeProto], list[int]] | None:
    """Return the nodes that the condition depends on, and the states; None where data decide it."""
    makers = {name: each for each in body.node for name in each.output}
    inputs = {each.name: at for at, each in enumerate(body.input)}
    own = {each.name for each in body.initializer} | set(known)
    waiting, states = [body.output[0].name], set()
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if not name or name in seen:
            continue
        seen.add(name)
        if name in makers:
            waiting += makers[name].input
        elif name in inputs:
            at = inputs[name] - 2
            if at >= 0 and at not in states:
                if at >= len(constant) or not constant[at]:
                    return None
                states.add(at)
                waiting.append(body.output[1 + at].name)
        elif name not in own:
            return None
    nodes = [each for each in body.node if any(name in seen for name in each.output)]
    return nodes, sorted(states)


def _model_of(
    body: onnx.GraphProto,
    nodes: Sequence[onnx.NodeProto],
    outputs: Sequence[str],
    opset: int,
    known: Mapping[str, NDArray[Any]],
) -> onnx.ModelProto:
    """Return the deciding part as a model."""
    read = {name for each in nodes for name in each.input} | set(outputs)
    constants = [each for each in body.initializer if each.name in read]
    constants += [numpy_helper.from_array(known[name], name) for name in sorted(read & set(known))]
    inputs = [each for each in body.input if each.name in read]
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph(list(nodes), "steps", inputs, results, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
