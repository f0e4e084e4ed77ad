"""The work of every run on a step: skip a dead one, run it, report what failed."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from numpy.typing import NDArray

from atc_py.device.backend import NodeProfile
from atc_py.device.sim.execution.program import Step
from atc_py.device.sim.kernel import Call, Kernel, Launch, Rounding, sequence
from atc_py.device.sim.numerics.rounding import is_rounded, round_to_grid
from atc_py.diag import DEVICE_FAILED, DEVICE_MEMORY, AtcError
from atc_py.package.node_view import NodeError
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
        return DEVICE_MEMORY.error(
            Text(
                "memory ran out; the node's results are {results}: {error}",
                results=results,
                error=error,
            ),
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
