"""Data that goes into a run: every array is checked by the input that it is for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.device.sim.numerics.rounding import to_carrier
from atc_py.diag import Place, Sink
from atc_py.diag.codes import BAD_RUN_INPUT, MISSING_RUN_INPUT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from atc_py.device.sim.execution.program import Program
    from atc_py.device.sim.node import TensorFacts
    from atc_py.diag import Diagnostic

__all__ = ["read_feeds"]


def read_feeds(program: Program, inputs: Mapping[str, NDArray[Any]]) -> dict[int, NDArray[Any]]:
    """Return carriers of the model's inputs, by position of their tensors.

    Raises:
        AtcError: MISSING_RUN_INPUT and BAD_RUN_INPUT, all findings at once.
    """
    types = {name: program.tensors[tensor] for name, tensor in program.inputs.items()}
    if inputs.keys() != types.keys() or not all(
        _fits(inputs[name], wanted) for name, wanted in types.items()
    ):
        _refuse(inputs, types)
    return {
        tensor: to_carrier(inputs[name], types[name].dtype)
        for name, tensor in program.inputs.items()
    }


def _refuse(inputs: Mapping[str, NDArray[Any]], types: Mapping[str, TensorFacts]) -> None:
    """Raise what is wrong with the data, all findings at once."""
    sink = Sink()
    missing = [f"{name!r} ({types[name]})" for name in types if name not in inputs]
    if missing:
        sink.add(MISSING_RUN_INPUT.diagnostic(f"no data was given for input {', '.join(missing)}"))
    for name, array in inputs.items():
        sink.extend(_findings(name, array, types))
    sink.raise_errors()


def _fits(array: Any, wanted: TensorFacts) -> bool:
    """Return True if data are of the type of an input."""
    if not isinstance(array, (np.ndarray, np.generic)) or array.shape != wanted.shape:
        return False
    found = array.dtype
    return found == wanted.dtype.numpy or found.name == wanted.dtype.value


def _findings(name: str, array: Any, types: Mapping[str, TensorFacts]) -> list[Diagnostic]:
    """Return the findings about the data given under `name`, at most one."""
    if name not in types:
        known = ", ".join(types) or "none"
        message = f"the model has no input {name!r}"
        return [BAD_RUN_INPUT.diagnostic(message, help=f"its inputs are: {known}")]
    wanted, place = types[name], Place(field=f"input {name}")
    if not isinstance(array, (np.ndarray, np.generic)):
        message = f"input {name!r} must be a numpy array, found {type(array).__name__}"
        return [BAD_RUN_INPUT.diagnostic(message, place=place)]
    if _fits(array, wanted):
        return []
    shape = "x".join(map(str, array.shape)) or "scalar"
    message = f"input {name!r} must be {wanted}, found {array.dtype.name} {shape}"
    return [BAD_RUN_INPUT.diagnostic(message, place=place, help=_help(array, wanted))]


def _help(array: NDArray[Any] | np.generic, wanted: TensorFacts) -> str:
    """Explain how to make the array fit."""
    hints = []
    if array.dtype.name != wanted.dtype.value:
        hints.append(f"convert the data with array.astype({wanted.dtype.value!r})")
    if array.shape != wanted.shape:
        hints.append(f"the shape must be {list(wanted.shape)}, fixed when the model was converted")
    return "; ".join(hints)
