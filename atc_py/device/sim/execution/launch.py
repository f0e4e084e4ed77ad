"""The work of every run on a step: skip a dead one, type a late one, run it, report what failed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from atc_py.device.backend import NodeProfile
from atc_py.device.feeds import check_feeds
from atc_py.device.sim.execution.program import Program, Step
from atc_py.device.sim.kernel import Call, Kernel, Launch, Rounding, sequence
from atc_py.device.sim.memory.memory_budget import MemoryBudget
from atc_py.device.sim.numerics.rounding import carrier_dtype, is_rounded, round_to_grid, to_carrier
from atc_py.diag import DEVICE_FAILED, DEVICE_MEMORY, AtcError
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.system.structs import replace
from atc_py.target import find_operator
from atc_py.text import Text

Cost: TypeAlias = "tuple[float, list[int]]"
"""Seconds that a step took, and the elements of each of its results, 0 where it is dead."""


def is_dead(step: Step, inputs: Sequence[NDArray[Any] | None]) -> bool:
    there = [tensor >= 0 for tensor in step.inputs]
    alive = [array is not None for array in inputs]
    return alive != there and not (step.kernel.joins and any(alive))


def compute(kernel: Kernel, call: Call) -> None:
    """Fill the outputs of `call`, rounded to the grids of their dtypes."""
    if kernel.alias or not any(output.size for output in call.outputs):
        return
    kernel.run(call)
    if kernel.rounding is Rounding.BOUNDARY:
        for facts, output in zip(call.node.outputs, call.outputs, strict=True):
            if is_rounded(facts.dtype):
                round_to_grid(output, facts.dtype, output)


def bound(kernel: Kernel, call: Call) -> Launch:
    """A launch that repeats `compute`; work that does not depend on data is done now."""
    if kernel.alias or not any(output.size for output in call.outputs):
        return sequence([])
    launches = [kernel.launch(call)]
    if kernel.rounding is Rounding.BOUNDARY:
        launches += (
            call.rounding(output, facts.dtype, kernel.kind)
            for facts, output in zip(call.node.outputs, call.outputs, strict=True)
            if is_rounded(facts.dtype)
        )
    return sequence(launches)


def failure_of(step: Step, error: Exception) -> AtcError:
    if isinstance(error, AtcError):
        return error
    if isinstance(error, MemoryError):
        results = ", ".join(str(facts) for facts in step.node.outputs)
        text = Text("memory ran out; the node's results are {results}: {error}")
        return DEVICE_MEMORY.error(
            text.with_values(results=results, error=error),
            place=step.place,
            help=Text("run on a machine with more memory, or convert with a smaller input shape"),
        )
    if isinstance(error, NodeError):
        return DEVICE_FAILED.error(
            Text("the data do not fit the node: {error}", error=error),
            place=step.place,
            help=Text("its shapes follow from the data that the model was given; feed other data"),
        )
    return DEVICE_FAILED.error(
        Text("the kernel stopped: {name}: {error}", name=type(error).__name__, error=error),
        place=step.place,
    )


def missing_output(name: str) -> AtcError:
    return DEVICE_FAILED.error(
        Text("nothing computed the output {name} in this run", name=repr(name))
    )


def profile_of(steps: Sequence[Step], costs: Sequence[Cost]) -> tuple[NodeProfile, ...]:
    profile = []
    for step, (seconds, sizes) in zip(steps, costs, strict=False):
        node, pairs = step.node, zip(sizes, step.node.outputs, strict=True)
        nbytes = sum(size * facts.dtype.itemsize for size, facts in pairs)
        profile.append(NodeProfile(node.name, node.op, node.engine, seconds, nbytes))
    return tuple(profile)


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
