"""A device in a process of its own: where it dies or hangs, the run ends with a diagnostic."""

import json
import os
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.backend import DeviceBackend, DeviceModel, LoadedModel, NodeProfile, not_open
from atc_py.device.guarded import broken_backend, find_guarded
from atc_py.diag import BAD_OPTION, BAD_RUN_INPUT, DEVICE_FAILED, DEVICE_TIMEOUT, Place
from atc_py.package.reader import OfflineModel
from atc_py.package.schema import OmModel
from atc_py.system.memory_limit import memory_limit
from atc_py.system.worker import Bounds, NoAnswerError, Part, Worker, as_error, describe_end
from atc_py.tensor.dtypes import DType, UnknownDTypeError
from atc_py.text import Text, os_reason
from atc_py.text.packed import packed, unpacked


def backend_for(name: str, timeout: float | None) -> DeviceBackend:
    """The back end called `name`, not yet open.

    Args:
        name: what `--device` calls it.
        timeout: None for one in this process; else seconds that each answer of one in a process
            of its own may take, 0 for any time.

    Raises:
        AtcError: UNKNOWN_DEVICE; BAD_OPTION for a time that makes no sense.
    """
    if timeout is None:
        return find_guarded(name)
    if not 0 <= timeout <= threading.TIMEOUT_MAX:
        raise BAD_OPTION.error(
            Text(
                "the time limit must be a number of seconds between 0 and {timeout_max}, "
                "found {timeout}",
                timeout_max=f"{threading.TIMEOUT_MAX:.0f}",
                timeout=timeout,
            ),
            help=Text("give seconds, or 0 for no limit"),
        )
    return SupervisedBackend(name, timeout)


class SupervisedBackend:
    """The back end called `name`, asked through pipes; it follows `DeviceBackend` itself.

    It loads one model, which must have been read from a file: the process reads it again.
    """

    def __init__(self, name: str, timeout: float) -> None:
        self.name = name
        self._timeout = timeout
        self._worker: Worker | None = None

    def open(self) -> None:
        """Start the process and take hold of the device.

        Raises:
            AtcError: what the back end raises; DEVICE_FAILED, DEVICE_TIMEOUT.
        """
        self._worker = Worker("atc_py.device.host:main")
        try:
            self._worker.start()
        except OSError as error:
            reason = os_reason(error)
            raise broken_backend(
                self.name, Text("its process does not start: {reason}", reason=reason)
            ) from error
        self._ask({"ask": "open", "device": self.name, "limit": memory_limit()})

    def load(self, model: LoadedModel) -> DeviceModel:
        return self._load(model, "logical")

    def load_exact(self, model: LoadedModel) -> DeviceModel:
        return self._load(model, "exact")

    def run(
        self, handle: DeviceModel, inputs: Mapping[str, NDArray[Any]]
    ) -> dict[str, NDArray[Any]]:
        """The outputs for `inputs`, by name.

        Raises:
            AtcError: BAD_RUN_INPUT for what is no array of a tensor's dtype; as the rest does.
        """
        for name, array in inputs.items():
            _check_sendable(name, array)
        return self._ask({"ask": "run"}, inputs)[1]

    def profile(self, handle: DeviceModel) -> tuple[NodeProfile, ...]:
        rows = self._ask({"ask": "profile"})[0]["rows"]
        return tuple(NodeProfile(**row) for row in rows)

    def close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def _load(self, model: LoadedModel, storage: str) -> DeviceModel:
        if not isinstance(model, OfflineModel):
            raise DEVICE_FAILED.error(Text("only a model that was read from a file can be sent"))
        path = os.path.abspath(model.archive)  # noqa: PTH100  (a link stays the link that it is)
        self._ask({"ask": "load", "path": path, "storage": storage, "gear": model.gear})
        return _Sent(model.description)

    def _ask(
        self, fields: Mapping[str, object], arrays: Mapping[str, NDArray[Any]] | None = None
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        if self._worker is None:
            raise not_open(self.name)
        try:
            message = self._worker.ask(pack(fields, arrays or {}), Bounds(self._timeout or None))
        except NoAnswerError as error:
            if error.why == "late":
                raise self._late(str(fields["ask"])) from error
            end = Text("ended with status {status} without a response", status=error.status)
            if error.status < 0:
                end = describe_end(error.status)
            raise broken_backend(self.name, Text("its process {end}", end=end)) from error
        answer, outputs = unpack(message)
        if "diagnostics" in answer:
            raise as_error(answer["diagnostics"], DEVICE_FAILED)
        return answer, outputs

    def _late(self, ask: str) -> Exception:
        doing = {"open": "opened", "load": Text("loaded the model"), "run": Text("ended the run")}
        return DEVICE_TIMEOUT.error(
            Text(
                "device {name} has not {doing} after {timeout} seconds, and was stopped",
                name=repr(self.name),
                doing=doing.get(ask, "answered"),
                timeout=f"{self._timeout:g}",
            ),
            place=Place(field=Text("device {device}", device=self.name)),
            help=Text("give it more time with --timeout SECONDS, or no limit with --timeout 0"),
        )


class _Sent:
    """A model in the other process."""

    def __init__(self, description: OmModel) -> None:
        self.description = description


def _check_sendable(name: str, array: object) -> None:
    try:
        known = isinstance(array, np.ndarray | np.generic) and DType.from_numpy(array.dtype)
    except UnknownDTypeError:
        known = False
    if not known:
        kind = getattr(getattr(array, "dtype", None), "name", type(array).__name__)
        text = Text("input {name} must be a numpy array of a tensor's dtype, found {kind}")
        raise BAD_RUN_INPUT.error(
            text.with_values(name=repr(name), kind=kind),
            place=Place(field=Text("input {at}", at=name)),
        )


def pack(fields: Mapping[str, object], arrays: Mapping[str, NDArray[Any]]) -> list[Part]:
    """A message of `fields`, which JSON can say, and `arrays`.

    Nothing is pickled: a reader makes numbers, texts and arrays of what it is sent, and nothing
    else.
    """
    types = [(name, array.dtype.name, array.shape) for name, array in arrays.items()]
    data = (np.ascontiguousarray(array) for array in arrays.values())
    return [
        json.dumps({**packed(fields), "arrays": types}).encode(),
        *(array.reshape(-1).view(np.uint8).data for array in data),
    ]


def unpack(message: list[bytearray]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    fields = json.loads(message[0], object_hook=unpacked)
    return fields, {
        name: np.frombuffer(data, DType(dtype).numpy).reshape(shape)
        for (name, dtype, shape), data in zip(fields.pop("arrays"), message[1:], strict=True)
    }
