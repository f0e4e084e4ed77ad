"""onnxruntime as a device back end: it runs the exported form of an offline model."""

from collections.abc import Collection, Iterator, Mapping
from threading import Lock
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.backend import DeviceModel, LoadedModel, NodeProfile, not_open, own_model
from atc_py.device.feeds import check_feeds
from atc_py.device.ort.elements import element_type, held_dtype
from atc_py.device.ort.model import Emulated, emulate
from atc_py.device.ort.writing import model_bytes
from atc_py.diag import DEVICE_FAILED, DEVICE_MEMORY, NO_ONNXRUNTIME, AtcError
from atc_py.onnx_graph.rewriting.model_message import LEAST_EXTERNAL
from atc_py.package.schema import OmModel
from atc_py.system.process import granted_threads
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Dims, element_count, format_shape
from atc_py.text import Text

_BESIDE = "constants"
"""Where the model says that its constants are; they are given to the session by name."""


class OrtModel:
    """A model that onnxruntime has loaded; its runs take turns."""

    def __init__(self, model: LoadedModel, library: ModuleType, seen: Collection[int] = ()) -> None:
        """Export `model` and load what comes out; `seen` are the tensors that `observe` returns."""
        self.description: OmModel = model.description
        self._ort = library
        self._types = {port.name: self._type(port.tensor) for port in self.description.inputs}
        self._lock = Lock()
        self._constants: list[Any] = []
        emulated = emulate(model, flat=True)
        ports = [(port.name, port.tensor) for port in self.description.outputs]
        self._outputs = [self._shown(emulated, name, tensor) for name, tensor in ports]
        self._fed = {port.tensor: port.name for port in self.description.inputs}
        self._seen = dict(self._watched(emulated, seen))
        emulated.drop_early_roundings()
        self._session: Any = self._loaded(emulated)

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The outputs by name, in the dtypes that the model declares.

        Raises:
            AtcError: MISSING_RUN_INPUT, BAD_RUN_INPUT, DEVICE_MEMORY or DEVICE_FAILED.
        """
        found = self._fetched(inputs, [name for name, _ in self._outputs])
        ports = self.description.outputs
        arrays = {
            port.name: value.numpy().astype(dtype.numpy, copy=False)
            for port, value, (_, dtype) in zip(ports, found, self._outputs, strict=True)
        }
        for port in ports:
            made, declared = arrays[port.name].shape, self._type(port.tensor)[1]
            dims = zip(made, declared, strict=False)
            if len(made) != len(declared) or any(dim not in {None, own} for own, dim in dims):
                raise DEVICE_FAILED.error(
                    Text(
                        "output {name} has the shape {shape}, but the model declares {declared}",
                        name=repr(port.name),
                        shape=format_shape(made),
                        declared=format_shape(declared),
                    ),
                    help=Text("convert the ONNX model again"),
                )
        return arrays

    def observe(self, inputs: Mapping[str, NDArray[Any]]) -> dict[int, NDArray[Any]]:
        """The tensors asked for, by position; those of branches are left out.

        Raises:
            AtcError: as `run` does.
        """
        names = list(dict.fromkeys(name for name, _ in self._seen.values()))
        made = [name for name in names if name not in self._types]
        found = dict(zip(made, self._fetched(inputs, made), strict=True))
        return {
            tensor: inputs[name]
            if name in self._types
            else found[name].numpy().astype(dtype.numpy, copy=False)
            for tensor, (name, dtype) in self._seen.items()
        }

    def _watched(
        self, emulated: Emulated, seen: Collection[int]
    ) -> Iterator[tuple[int, tuple[str, DType]]]:
        names = {tensor: name for name, tensor in emulated.names.items()}
        for tensor in sorted(seen):
            real = emulated.stands_for.get(tensor, tensor)
            if real in names:
                yield tensor, self._shown(emulated, names[real], real)
            elif real in self._fed:
                yield tensor, (self._fed[real], self._type(real)[0])

    def _fetched(self, inputs: Mapping[str, NDArray[Any]], names: list[str]) -> list[Any]:
        check_feeds(self._types, inputs)
        feeds = {
            name: self._ort.OrtValue.ortvalue_from_numpy_with_onnx_type(*held(inputs[name], dtype))
            for name, (dtype, _) in self._types.items()
        }
        if not names:
            return []  # onnxruntime would give every output.
        with self._lock:
            try:
                found: list[Any] = self._session.run_with_ort_values(names, feeds)
            except Exception as error:
                raise _failure(error) from error
        return found

    def _type(self, tensor: int) -> tuple[DType, Dims]:
        found = self.description.tensors[tensor]
        return DType.parse(found.dtype), tuple(found.shape)

    def _shown(self, emulated: Emulated, name: str, tensor: int) -> tuple[str, DType]:
        """The name of an output that shows a value, and the value's dtype.

        numpy has no bfloat16 that onnxruntime gives; float32 holds each.
        """
        dtype, _ = self._type(tensor)
        if dtype is DType.BFLOAT16:
            return emulated.show_wide(name), dtype
        emulated.show(name)
        return name, dtype

    def _loaded(self, emulated: Emulated) -> Any:
        """A session of the exported model, whose constants stay where they are."""
        ort = self._ort
        options = ort.SessionOptions()
        options.log_severity_level = _ERRORS
        options.intra_op_num_threads = granted_threads()
        names: list[str] = []
        for each in emulated.initializers:
            if element_count(each.shape) * each.dtype.itemsize >= LEAST_EXTERNAL:
                names.append(each.name)
                self._constants.append(
                    ort.OrtValue.ortvalue_from_numpy_with_onnx_type(*held(each.numpy(), each.dtype))
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


def onnxruntime() -> ModuleType:
    """The library.

    Raises:
        AtcError: NO_ONNXRUNTIME when it is not installed.
    """
    try:
        import onnxruntime as library
    except ImportError as error:
        text = Text("the device `ort` needs onnxruntime, which cannot be imported: {error}")
        raise NO_ONNXRUNTIME.error(
            text.with_values(error=error),
            help=Text('install it with `pip install "atc-py[ort]"`, or use the device `sim`'),
        ) from None
    found: ModuleType = library
    return found


class OrtBackend:
    """Executes offline models with onnxruntime; `DeviceBackend` has the contract."""

    name = "ort"

    def __init__(self) -> None:
        self._library: ModuleType | None = None
        self._models: list[OrtModel] = []

    def open(self) -> None:
        """Load onnxruntime.

        Raises:
            AtcError: NO_ONNXRUNTIME when it is not installed.
        """
        self._library = onnxruntime()

    def load(self, model: LoadedModel) -> OrtModel:
        """Export a model and make a session of it.

        Raises:
            AtcError: NO_ONNX_FORM with every node that has none; DEVICE_FAILED when the device is
                not open or onnxruntime refuses the model.
        """
        if self._library is None:
            raise not_open(self.name)
        loaded = OrtModel(model, self._library)
        self._models.append(loaded)
        return loaded

    def run(
        self, handle: DeviceModel, inputs: Mapping[str, NDArray[Any]]
    ) -> dict[str, NDArray[Any]]:
        """The outputs for `inputs`, by name.

        Raises:
            AtcError: MISSING_RUN_INPUT, BAD_RUN_INPUT, DEVICE_MEMORY or DEVICE_FAILED.
        """
        return own_model(self._models, handle).run(inputs)

    def profile(self, handle: DeviceModel) -> tuple[NodeProfile, ...]:
        """Nothing: onnxruntime merges nodes, so that none of the device's has its own time.

        Raises:
            AtcError: DEVICE_FAILED when the model is not loaded.
        """
        own_model(self._models, handle)
        return ()

    def close(self) -> None:
        self._models.clear()
        self._library = None


def held(array: NDArray[Any], dtype: DType) -> tuple[NDArray[Any], int]:
    """An array as onnxruntime takes it, and ONNX's number of its elements."""
    array = np.asarray(array, dtype=held_dtype(dtype).numpy, order="C")
    if dtype is DType.BFLOAT16:
        array = array.view(np.uint16)
    return array, element_type(dtype)


def _failure(error: Exception) -> AtcError:
    if isinstance(error, AtcError):
        return error
    text = str(error).strip()
    if isinstance(error, MemoryError) or any(word in text for word in _MEMORY):
        return DEVICE_MEMORY.error(
            Text("memory ran out in onnxruntime: {text}", text=text),
            help=Text("run on a machine with more memory, or convert with a smaller input shape"),
        )
    return DEVICE_FAILED.error(
        Text("onnxruntime stopped: {text}", text=text),
        help=Text("run on the device `sim`; if that succeeds, report it as a bug"),
    )
