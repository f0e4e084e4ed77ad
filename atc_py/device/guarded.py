"""Back ends of other packages: what they raise and return is checked by the protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.backend import (
    DeviceBackend,
    DeviceModel,
    ExactBackend,
    LoadedModel,
    NodeProfile,
    own_model,
)
from atc_py.device.registry import BUILT_IN, find_backend
from atc_py.diag import BAD_OPTION, DEVICE_FAILED, AtcError, Place
from atc_py.tensor.shapes import format_shape
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.package.schema import OmModel, OmPort


def find_guarded(name: str) -> DeviceBackend:
    """A new back end called `name`: atc-py's own as it is, another one guarded.

    Raises:
        AtcError: UNKNOWN_DEVICE.
    """
    backend = find_backend(name)
    return backend if name in BUILT_IN else GuardedBackend(backend, name)


class GuardedBackend:
    """A back end whose faults become DEVICE_FAILED; it follows `DeviceBackend` itself."""

    def __init__(self, backend: DeviceBackend, name: str) -> None:
        self.name = name
        self._backend = backend

    def open(self) -> None:
        with self._faults("open"):
            self._backend.open()

    def load(self, model: LoadedModel) -> DeviceModel:
        with self._faults("load"):
            return _Loaded(self._backend.load(model), model.description)

    def load_exact(self, model: LoadedModel) -> DeviceModel:
        if not isinstance(self._backend, ExactBackend):
            raise BAD_OPTION.error(
                Text("device {name} does not run with --storage exact", name=repr(self.name)),
                help=Text("leave --storage out, or run on the device `sim`"),
            )
        with self._faults("load_exact"):
            return _Loaded(self._backend.load_exact(model), model.description)

    def run(
        self, handle: DeviceModel, inputs: Mapping[str, NDArray[Any]]
    ) -> dict[str, NDArray[Any]]:
        loaded = _loaded(handle)
        with self._faults("run"):
            returned: object = self._backend.run(loaded.handle, inputs)
        return self._held(returned, loaded.description)

    def profile(self, handle: DeviceModel) -> tuple[NodeProfile, ...]:
        with self._faults("profile"):
            rows: object = tuple(self._backend.profile(_loaded(handle).handle))
        if not isinstance(rows, tuple) or not all(isinstance(row, NodeProfile) for row in rows):
            raise broken_backend(
                self.name, Text("its profile holds something other than NodeProfile")
            )
        return rows

    def close(self) -> None:
        with self._faults("close"):
            self._backend.close()

    @contextmanager
    def _faults(self, method: str) -> Iterator[None]:
        """Turn whatever the back end raises into DEVICE_FAILED; its own diagnostics pass."""
        try:
            yield
        except AtcError:
            raise
        except (Exception, SystemExit) as error:
            said = f"{type(error).__name__}: {error}".strip(": ")
            raise broken_backend(
                self.name, Text("its {method} stopped with {said}", method=method, said=said)
            ) from error

    def _held(self, returned: object, model: OmModel) -> dict[str, NDArray[Any]]:
        """The outputs of a run, where they are the ones that the model describes."""
        if not isinstance(returned, Mapping):
            kind = type(returned).__name__
            raise broken_backend(
                self.name, Text("its run returned {kind}, not arrays by name", kind=kind)
            )
        outputs = {port.name: self._output(returned, port, model) for port in model.outputs}
        strange = [name for name in returned if name not in outputs]
        if strange:
            text = Text("it returned an output {strange} that the model does not have")
            raise broken_backend(self.name, text.with_values(strange=repr(strange[0])))
        return outputs

    def _output(self, returned: Mapping[Any, object], port: OmPort, model: OmModel) -> NDArray[Any]:
        wanted = model.tensors[port.tensor]
        declared = f"{wanted.dtype} {format_shape(wanted.shape)}"
        array = returned.get(port.name)
        if not isinstance(array, np.ndarray):
            what = Text("nothing") if array is None else type(array).__name__
            text = Text("it returned {what} for output {port}: {declared}")
            raise broken_backend(
                self.name, text.with_values(what=what, port=repr(port.name), declared=declared)
            )
        fits = len(array.shape) == len(wanted.shape) and all(
            dim in {None, made} for dim, made in zip(wanted.shape, array.shape, strict=True)
        )
        if array.dtype.name != wanted.dtype or not fits:
            made = f"{array.dtype.name} {format_shape(array.shape)}"
            text = Text("output {port} must be {declared}, found {made}")
            raise broken_backend(
                self.name, text.with_values(port=repr(port.name), declared=declared, made=made)
            )
        return array


class _Loaded:
    """A model on a guarded device."""

    def __init__(self, handle: DeviceModel, description: OmModel) -> None:
        self.handle = handle
        self.description = description


def _loaded(handle: DeviceModel) -> _Loaded:
    return own_model([handle] if isinstance(handle, _Loaded) else [], handle)


def broken_backend(name: str, what: str) -> AtcError:
    return DEVICE_FAILED.error(
        Text("device {name} failed: {what}", name=repr(name), what=what),
        place=Place(field=Text("device {device}", device=name)),
        help=Text("ask who provides the back end, or run on the device `sim`"),
    )
