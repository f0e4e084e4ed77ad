"""Steps of a Loop, found by running the part of its body that decides them."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from atc_py.diag import Place
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.onnx_graph.reading.nodes import captured_names

_BEFORE_STATES = 2
"""Inputs of a body before its states: the step and the condition."""


@dataclass(frozen=True, slots=True)
class LoopTrace:
    """The steps of a Loop.

    Attributes:
        steps: how often the body runs; one more than the limit for more.
        seen: the values that were asked for, one a step, by name.
        last: the states that take part, after the last step, by position among the states.
    """

    steps: int
    seen: Mapping[str, list[NDArray[Any]]]
    last: Mapping[int, NDArray[Any]]


def trace_loop(
    node: OnnxNode,
    known: Mapping[str, NDArray[Any]],
    start: Sequence[NDArray[Any] | None],
    most: int,
    *,
    condition: bool,
    wanted: Sequence[str] = (),
) -> LoopTrace | None:
    """The steps of a Loop; None if values of a run decide them or what is asked for.

    Args:
        node: the Loop.
        known: constants around it that the body reads, by name.
        start: data of the states before the first step; None for those that are not constant.
        most: largest number of steps that counts.
        condition: the condition before the first step.
        wanted: values of the body.
    """
    body = node.graphs["body"]
    decided = _deciding_part(body, known, [state is not None for state in start], wanted)
    if decided is None:
        return None
    nodes, states = decided
    results = [
        body.output[0].name,
        *wanted,
        *(body.output[1 + at].name for at in states),
    ]
    try:
        # The reference warns of overflow and the like; only its results count here.
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            model = _model_of(body, nodes, dict.fromkeys(results), node.opset, known)
            return _run(model, body, results, {at: start[at] for at in states}, most, condition)
    except Exception:  # noqa: BLE001  (the reference raises anything; such a Loop is not counted)
        return None


def _run(
    model: onnx.ModelProto,
    body: onnx.GraphProto,
    results: Sequence[str],
    states: Mapping[int, Any],
    most: int,
    going: bool,
) -> LoopTrace:
    """Run the deciding part step by step.

    Args:
        model: the part; the values of `results` are its outputs.
        body: the whole body.
        results: the condition, the values that were asked for, the states.
        states: the states before the first step, by position.
        most: largest number of steps that counts.
        going: the condition before the first step.
    """
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(model)
    names = [value.name for value in body.input]
    read = {value.name for value in model.graph.input}
    places = list(states)
    wanted = results[1 : len(results) - len(places)]
    seen: dict[str, list[Any]] = {name: [] for name in wanted}
    steps = 0
    while going and steps <= most:
        feeds = {names[_BEFORE_STATES + at]: value for at, value in states.items()}
        feeds |= {names[0]: np.array(steps, np.int64), names[1]: np.array(going)}
        fed = {name: value for name, value in feeds.items() if name in read}
        outputs = [value.name for value in model.graph.output]
        values = dict(zip(outputs, map(np.asarray, evaluator.run(None, fed)), strict=True))
        for name in wanted:
            seen[name].append(values[name])
        going = bool(values[results[0]].reshape(-1)[0])
        states = {at: values[body.output[1 + at].name] for at in places}
        steps += 1
    return LoopTrace(steps, seen, states)


def _deciding_part(
    body: onnx.GraphProto,
    known: Mapping[str, object],
    constant: Sequence[bool],
    wanted: Sequence[str],
) -> tuple[list[onnx.NodeProto], list[int]] | None:
    """The nodes that the condition and `wanted` depend on, and the states.

    It is None where data decide one of them.
    """
    makers = {name: node for node in body.node for name in node.output}
    inputs = {value.name: at for at, value in enumerate(body.input)}
    own = {initializer.name for initializer in body.initializer} | set(known)
    waiting, states = [body.output[0].name, *wanted], set()
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if not name or name in seen:
            continue
        seen.add(name)
        if name in makers:
            waiting += [*makers[name].input, *captured_names(makers[name], Place())]
        elif name in inputs:
            at = inputs[name] - _BEFORE_STATES
            if at >= 0 and at not in states:
                if at >= len(constant) or not constant[at]:
                    return None
                states.add(at)
                waiting.append(body.output[1 + at].name)
        elif name not in own:
            return None
    nodes = [node for node in body.node if any(name in seen for name in node.output)]
    return nodes, sorted(states)


def _model_of(
    body: onnx.GraphProto,
    nodes: Sequence[onnx.NodeProto],
    outputs: Mapping[str, None],
    opset: int,
    known: Mapping[str, NDArray[Any]],
) -> onnx.ModelProto:
    read = {name for node in nodes for name in (*node.input, *captured_names(node, Place()))}
    read |= set(outputs)
    constants = [initializer for initializer in body.initializer if initializer.name in read]
    constants += [numpy_helper.from_array(known[name], name) for name in sorted(read & set(known))]
    inputs = [value for value in body.input if value.name in read]
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph(list(nodes), "steps", inputs, results, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
