"""onnxruntime as a device back end: it runs the exported form of an offline model."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.device.feeds import check_feeds
from atc_py.diag import AtcError
from atc_py.diag.codes import DEVICE_FAILED, DEVICE_MEMORY, NO_ONNXRUNTIME
from atc_py.export.elements import element_type, held_dtype
from atc_py.export.model import emulate
from atc_py.export.writing import model_bytes
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import closed_shape, element_count

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from numpy.typing import NDArray

    from atc_py.device.backend import DeviceModel, LoadedModel, NodeProfile
    from atc_py.package.schema import OmModel, OmPort

__all__ = ["OrtBackend"]

_BESIDE = "constants"
"""Where the model says that its constants are; they are given to the session by name."""

_LEAST_BESIDE = 1024
"""Bytes below which a constant is in the model."""


class OrtModel:
    """A model that onnxruntime has loaded; its runs take turns.

    Attributes:
        description: what was loaded.
    """

    def __init__(self, model: LoadedModel, onnxruntime: ModuleType) -> None:
        """Export `model` and load what comes out."""
        self.description: OmModel = model.description
        self._ort = onnxruntime
        self._types = {port.name: self._type(port) for port in self.description.inputs}
        self._wanted = {port.name: self._type(port)[0] for port in self.description.outputs}
        self._lock = Lock()
        self._constants: list[Any] = []
        self._session: Any = self._loaded(model)

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return the outputs by name, in the dtypes that the model declares.

        Raises:
            AtcError: MISSING_RUN_INPUT, BAD_RUN_INPUT, DEVICE_MEMORY or DEVICE_FAILED.
        """
        check_feeds(
            {name: (dtype, closed_shape(dims)) for name, (dtype, dims) in self._types.items()},
            inputs,
        )
        ort = self._ort
        feeds = {
            name: ort.OrtValue.ortvalue_from_numpy_with_onnx_type(*_held(inputs[name], dtype))
            for name, (dtype, _) in self._types.items()
        }
        names = [*self._wanted]
        with self._lock:
            try:
                found = self._session.run_with_ort_values(names, feeds)
            except Exception as error:
                raise _failure(error) from error
        return {
            name: _true(value, self._wanted[name]) for name, value in zip(names, found, strict=True)
        }

    def _type(self, port: OmPort) -> tuple[DType, tuple[int | None, ...]]:
        """Return dtype and dims of an input or output."""
        tensor = self.description.tensors[port.tensor]
        return DType.parse(tensor.dtype), tuple(tensor.shape)

    def _loaded(self, model: LoadedModel) -> Any:
        """Return a session of the exported model, whose constants stay where they are."""
        ort = self._ort
        emulated = emulate(model, flat=True)
        options = ort.SessionOptions()
        options.log_severity_level = _ERRORS
        names: list[str] = []
        for each in emulated.initializers:
            if element_count(each.shape) * each.dtype.itemsize >= _LEAST_BESIDE:
                array = each.numpy()
                names.append(each.name)
                self._constants.append(
                    ort.OrtValue.ortvalue_from_numpy_with_onnx_type(*_held(array, each.dtype))
                )
        options.add_external_initializers(names, self._constants)
        text = model_bytes(emulated, self.description.name, location=_BESIDE)
        try:
            return ort.InferenceSession(text, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise _failure(error) from error


_ERRORS = 3
"""Severity of onnxruntime's log messages that are shown; warnings are about its own optimizations."""

_MEMORY = ("bad_alloc", "allocate memory", "bad allocation")


class OrtBackend:
    """Executes offline models with onnxruntime; `DeviceBackend` has the contract."""

    name = "ort"

    def __init__(self) -> None:
        self._onnxruntime: ModuleType | None = None
        self._models: list[OrtModel] = []

    def open(self) -> None:
        """Load onnxruntime.

        Raises:
            AtcError: NO_ONNXRUNTIME when it is not installed.
        """
        try:
            import onnxruntime
        except ImportError as error:
            raise NO_ONNXRUNTIME.error(
                f"the device `ort` needs onnxruntime, which cannot be imported: {error}",
                help='install it with `pip install "atc-py[ort]"`, or use the device `sim`',
            ) from None
        self._onnxruntime = onnxruntime

    def load(self, model: LoadedModel) -> OrtModel:
        """Export a model and make a session of it.

        Raises:
            AtcError: NO_ONNX_FORM with every node that has none; DEVICE_FAILED when the device is
                not open or onnxruntime refuses the model.
        """
        if self._onnxruntime is None:
            raise DEVICE_FAILED.error("device 'ort' is not open", help="call open() first")
        loaded = OrtModel(model, self._onnxruntime)
        self._models.append(loaded)
        return loaded

    def run(
        self, handle: DeviceModel, inputs: Mapping[str, NDArray[Any]]
    ) -> dict[str, NDArray[Any]]:
        """Return the outputs for `inputs`, by name.

        Raises:
            AtcError: MISSING_RUN_INPUT, BAD_RUN_INPUT, DEVICE_MEMORY or DEVICE_FAILED.
        """
        return self._own(handle).run(inputs)

    def profile(self, handle: DeviceModel) -> tuple[NodeProfile, ...]:
        """Return nothing: onnxruntime merges nodes, so that none of the device's has its own time.

        Raises:
            AtcError: DEVICE_FAILED when the model is not loaded.
        """
        self._own(handle)
        return ()

    def close(self) -> None:
        """Let go of all models."""
        self._models.clear()
        self._onnxruntime = None

    def _own(self, handle: DeviceModel) -> OrtModel:
        """Return `handle` as one of the models that are loaded here."""
        for model in self._models:
            if model is handle:
                return model
        raise DEVICE_FAILED.error(
            "the model is not loaded on this device", help="load it after the device was opened"
        )


def _held(array: NDArray[Any], dtype: DType) -> tuple[NDArray[Any], int]:
    """Return an array as onnxruntime takes it, and ONNX's number of its elements."""
    array = np.asarray(array, dtype=held_dtype(dtype).numpy, order="C")
    if dtype is DType.BFLOAT16:
        array = array.view(np.uint16)
    return array, element_type(dtype)


def _true(value: Any, dtype: DType) -> NDArray[Any]:
    """Return a result in the dtype that the model declares."""
    if dtype is DType.BFLOAT16:
        found: NDArray[Any] = np.from_dlpack(value).view(dtype.numpy)
        return found.copy()
    array: NDArray[Any] = value.numpy()
    return array.astype(dtype.numpy, copy=False)


def _failure(error: Exception) -> AtcError:
    """Return what onnxruntime raised as DEVICE_MEMORY or DEVICE_FAILED."""
    if isinstance(error, AtcError):
        return error
    text = str(error).strip()
    if isinstance(error, MemoryError) or any(word in text for word in _MEMORY):
        return DEVICE_MEMORY.error(
            f"memory ran out in onnxruntime: {text}",
            help="run on a machine with more memory, or convert with a smaller input shape",
        )
    return DEVICE_FAILED.error(
        f"onnxruntime stopped: {text}",
        help="run on the device `sim`; if that has no complaint, report it as a bug",
    )
