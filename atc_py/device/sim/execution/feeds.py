"""Data that goes into a run, as the arrays that kernels compute in."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from atc_py.device.feeds import check_feeds
from atc_py.device.sim.execution.program import Program
from atc_py.device.sim.numerics.rounding import to_carrier


def read_feeds(program: Program, inputs: Mapping[str, NDArray[Any]]) -> dict[int, NDArray[Any]]:
    """Carriers of the model's inputs, by position of their tensors.

    Raises:
        AtcError: MISSING_RUN_INPUT and BAD_RUN_INPUT, all findings at once.
    """
    types = {name: program.tensors[tensor] for name, tensor in program.inputs.items()}
    check_feeds({name: (facts.dtype, facts.dims) for name, facts in types.items()}, inputs)
    return {
        tensor: to_carrier(inputs[name], types[name].dtype)
        for name, tensor in program.inputs.items()
    }
