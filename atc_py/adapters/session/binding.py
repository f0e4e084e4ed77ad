"""Inputs and outputs bound to a run, with the surface of onnxruntime's IOBinding; all on the host."""

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.adapters.session.errors import NOT_IMPLEMENTED, session_error
from atc_py.adapters.session.values import ONNX_NUMBERS, value_of
from atc_py.diag import BAD_RUN_INPUT, NOT_IN_MODEL, SESSION_UNSUPPORTED, AtcError, Place
from atc_py.tensor.dtypes import DType, UnknownDTypeError
from atc_py.text import Text

Array = npt.NDArray[Any]


_HOST = "cpu"
_ONNX = {number: name for name, number in ONNX_NUMBERS.items()}
"""Element types by their numbers in ONNX."""


class SessionBinding:
    """Inputs and outputs of runs; `run_with_iobinding` takes it."""

    def __init__(self, inputs: Iterable[str], outputs: Iterable[str]) -> None:
        """Bind nothing yet.

        Args:
            inputs: names of the model's inputs.
            outputs: names of its outputs.
        """
        self._names = {"input": tuple(inputs), "output": tuple(outputs)}
        self.feeds: dict[str, Any] = {}
        self._targets: dict[str, Any] = {}
        self._results: list[Array] = []

    @property
    def wanted(self) -> list[str]:
        """The outputs that are bound, in the order in which they were."""
        return list(self._targets)

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Bind an input to an array."""
        self._require("input", name)
        self.feeds[name] = arr_on_cpu

    def bind_ortvalue_input(self, name: str, ortvalue: Any) -> None:
        """Bind an input to an OrtValue."""
        self.bind_cpu_input(name, ortvalue)

    def bind_input(
        self,
        name: str,
        device_type: str,
        device_id: int,
        element_type: Any,
        shape: Sequence[int],
        buffer_ptr: int,
    ) -> None:
        """Bind an input to memory of the host, which is read when the model runs."""
        del device_id
        self._require("input", name, device_type)
        self.feeds[name] = _memory(name, element_type, shape, buffer_ptr)

    def bind_output(
        self,
        name: str,
        device_type: str = _HOST,
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Bind an output: to memory that the session takes, or to memory of the host."""
        del device_id
        self._require("output", name, device_type)
        target = None
        if buffer_ptr is not None:
            if element_type is None or shape is None:
                found = BAD_RUN_INPUT.diagnostic(
                    Text("memory for output {name} needs element_type and shape", name=repr(name)),
                    place=Place(field=Text("output {at}", at=name)),
                )
                raise session_error("ValueError", found)
            target = _memory(name, element_type, shape, buffer_ptr)
        self._targets[name] = target

    def bind_ortvalue_output(self, name: str, ortvalue: Any) -> None:
        """Bind an output to an OrtValue, which gets the data."""
        self._require("output", name, ortvalue.device_name())
        self._targets[name] = ortvalue

    def synchronize_inputs(self) -> None:
        """Do nothing: the host's memory is always ready."""

    def synchronize_outputs(self) -> None:
        """Do nothing: the host's memory is always ready."""

    def get_outputs(self) -> list[Any]:
        """The outputs of the last run as OrtValues."""
        targets = list(self._targets.values())
        if len(targets) != len(self._results):
            return [value_of(each) for each in self._results]
        return [
            target if hasattr(target, "update_inplace") else value_of(made)
            for target, made in zip(targets, self._results, strict=True)
        ]

    def copy_outputs_to_cpu(self) -> list[Array]:
        """The outputs of the last run as arrays."""
        return [each.copy() for each in self._results]

    def clear_binding_inputs(self) -> None:
        """Bind no input any more."""
        self.feeds.clear()

    def clear_binding_outputs(self) -> None:
        """Bind no output any more."""
        self._targets.clear()
        self._results = []

    def take(self, results: list[Array]) -> None:
        """Keep the outputs of a run, and put them where they are bound to.

        Raises:
            AtcError: BAD_RUN_INPUT where such memory has another shape or type.
        """
        for (name, target), made in zip(self._targets.items(), results, strict=True):
            if target is not None:
                _put(name, target, made)
        self._results = results

    def _require(self, kind: str, name: str, device: str = _HOST) -> None:
        """Refuse names that the model does not have, and memory that is not the host's."""
        if name not in self._names[kind]:
            message = Text("the model has no {kind} {name}", kind=kind, name=repr(name))
            hint = Text("its {kind}s are: {names}", kind=kind, names=", ".join(self._names[kind]))
            raise session_error("RuntimeError", NOT_IN_MODEL.diagnostic(message, help=hint))
        if str(device).lower() != _HOST:
            message = Text(
                kind + " {name} is bound to memory of the device {device}",
                name=repr(name),
                device=repr(device),
            )
            found = SESSION_UNSUPPORTED.diagnostic(
                message,
                place=Place(field=f"{kind} {name}"),
                help=Text("bind it to {host}", host=_HOST),
            )
            raise session_error(NOT_IMPLEMENTED, found)


def _put(name: str, target: Any, made: Array) -> None:
    shape, dtype = target.shape, getattr(target, "dtype", made.dtype)
    if callable(shape):
        shape, dtype = tuple(shape()), target.numpy().dtype
    if tuple(shape) != made.shape or dtype != made.dtype:
        found = BAD_RUN_INPUT.diagnostic(
            Text(
                "output {name} is {dtype} {shape}, and is bound to {name_2} {shape_2}",
                name=repr(name),
                dtype=made.dtype.name,
                shape=list(made.shape),
                name_2=np.dtype(dtype).name,
                shape_2=list(shape),
            ),
            place=Place(field=Text("output {at}", at=name)),
        )
        raise session_error("RuntimeError", found)
    if isinstance(target, np.ndarray):
        np.copyto(target, made)
    else:
        target.update_inplace(made)


def _memory(name: str, element_type: Any, shape: Sequence[int], address: int) -> Array:
    dtype = _dtype(name, element_type)
    dims = tuple(int(dim) for dim in shape)
    count = int(np.prod(dims, dtype=np.int64))
    if min(dims, default=0) < 0 or not address:
        raise _unusable(
            name, Text("address {address} with dims {dims}", address=address, dims=list(dims))
        )
    if not count:
        return np.empty(dims, dtype)
    octets = (ctypes.c_uint8 * (count * dtype.itemsize)).from_address(int(address))
    return np.ctypeslib.as_array(octets).view(dtype).reshape(dims)


def _dtype(name: str, element_type: Any) -> np.dtype[Any]:
    try:
        if isinstance(element_type, int):
            return DType(_ONNX[element_type]).numpy
        return DType.from_numpy(np.dtype(element_type)).numpy
    except (KeyError, TypeError, UnknownDTypeError):
        raise _unusable(
            name, Text("element type {element_type}", element_type=repr(element_type))
        ) from None


def _unusable(name: str, what: str) -> AtcError:
    found = BAD_RUN_INPUT.diagnostic(
        Text("{name} is bound to memory that is not a tensor: {what}", name=repr(name), what=what),
        place=Place(field=name),
    )
    return session_error("ValueError", found)
