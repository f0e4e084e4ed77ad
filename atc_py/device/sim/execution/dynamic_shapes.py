"""Beginning of a run: data of its inputs, and types of nodes that only the run knows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.feeds import check_feeds
from atc_py.device.sim.execution.program import Program, Step
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


def types_in_run(step: Step, node: NodeView) -> tuple[TensorFacts, ...]:
    types = step.kernel.types(node)
    _hold(types, node.outputs)
    return types


def empty_results(types: tuple[TensorFacts, ...]) -> tuple[NDArray[Any], ...]:
    return tuple(np.empty(facts.shape, carrier_dtype(facts.dtype)) for facts in types)


def held_results(
    arrays: tuple[NDArray[Any], ...], declared: tuple[TensorFacts, ...]
) -> tuple[NDArray[Any], ...]:
    pairs = zip(arrays, declared, strict=True)
    _hold(tuple(TensorFacts(facts.dtype, array.shape) for array, facts in pairs), declared)
    return arrays


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
