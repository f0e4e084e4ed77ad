"""Data of a run's inputs, and results of nodes whose types only the run knows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.feeds import check_feeds
from atc_py.device.sim.execution.launch import compute
from atc_py.device.sim.execution.program import Program, Step
from atc_py.device.sim.kernel import Call
from atc_py.device.sim.memory.memory_budget import MemoryBudget
from atc_py.device.sim.numerics.rounding import carrier_dtype, to_carrier
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.system.structs import replace
from atc_py.target import find_operator
from atc_py.text import Text


def typed_by_inputs(step: Step, inputs: Sequence[NDArray[Any] | None]) -> NodeView:
    """The node of a late step with the dims and numbers its inputs have in this run.

    An input that is dead in this run is absent.
    """
    node = step.node
    row = find_operator(node.op)
    facts = tuple(
        None if declared is None or array is None else TensorFacts(declared.dtype, array.shape)
        for declared, array in zip(node.inputs, inputs, strict=True)
    )
    given = ((at, inputs[at]) for at in (row.numbers_at(len(inputs)) if row else ()))
    numbers = {at: array for at, array in given if array is not None}
    return replace(node, inputs=facts, numbers=numbers)


def results_in_run(
    step: Step, call: Call, room: MemoryBudget, held: Iterable[NDArray[Any] | None]
) -> tuple[NDArray[Any], ...]:
    """The results of a step in new memory; a late one has those types that the run gives.

    `held` is what was computed before and is still needed.
    """
    kernel, node = step.kernel, call.node
    if step.is_late and kernel.results is not None:
        arrays = kernel.results(call)
        pairs = zip(arrays, node.outputs, strict=True)
        _hold(tuple(TensorFacts(facts.dtype, array.shape) for array, facts in pairs), node.outputs)
        return arrays
    types = node.outputs
    if step.is_late:
        types = kernel.types(node)
        _hold(types, node.outputs)
    if kernel.alias:
        return tuple(call.x.reshape(facts.shape) for facts in types)
    if step.is_late:
        room.require_results(step, types, held)
    outputs = tuple(np.empty(facts.shape, carrier_dtype(facts.dtype)) for facts in types)
    compute(kernel, replace(call, outputs=outputs))
    return outputs


def _hold(found: tuple[TensorFacts, ...], declared: tuple[TensorFacts, ...]) -> None:
    admitted = len(found) == len(declared) and all(
        wanted.admits(facts) for wanted, facts in zip(declared, found, strict=True)
    )
    if not admitted:
        made, wanted = (", ".join(map(str, facts)) for facts in (found, declared))
        text = Text("the result is {made}, but the model declares {wanted}")
        raise NodeError(text.with_values(made=made, wanted=wanted))


def read_feeds(program: Program, inputs: Mapping[str, NDArray[Any]]) -> dict[int, NDArray[Any]]:
    types = {name: program.tensors[tensor] for name, tensor in program.inputs.items()}
    check_feeds({name: (facts.dtype, facts.dims) for name, facts in types.items()}, inputs)
    return {
        tensor: to_carrier(inputs[name], types[name].dtype)
        for name, tensor in program.inputs.items()
    }
