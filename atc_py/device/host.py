"""A process that has a device and carries out requests; what the back end prints is not for these."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from atc_py.device.backend import DeviceBackend, DeviceModel, load_stored
from atc_py.device.guarded import find_guarded
from atc_py.device.supervised import pack, unpack
from atc_py.diag import AtcError
from atc_py.package.reader import OfflineModel, open_model
from atc_py.system.memory_limit import limited_memory
from atc_py.system.worker import Part, error_fields, serve


def main() -> None:
    with ExitStack() as stack:
        device = _Device(stack)
        serve(device.answers)


class _Device:
    """The back end and the one model on it."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._backend: DeviceBackend | None = None
        self._handle: DeviceModel | None = None

    def answers(self, message: list[bytearray]) -> Iterator[list[Part]]:
        try:
            yield pack(*self._answer(*unpack(message)))
        except AtcError as error:
            yield pack({"diagnostics": error_fields(error)}, {})

    def _answer(
        self, fields: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        if fields["ask"] == "open":
            self._stack.enter_context(limited_memory(fields["limit"]))
            self._backend = find_guarded(fields["device"])
            self._backend.open()
        elif self._backend is not None and fields["ask"] == "load":
            package: OfflineModel = self._stack.enter_context(open_model(Path(fields["path"])))
            if fields["gear"] is not None:
                package = package.at_gear(fields["gear"])
            self._handle = load_stored(self._backend, package, fields["storage"])
        elif self._backend is not None and self._handle is not None:
            if fields["ask"] == "run":
                return {}, self._backend.run(self._handle, arrays)
            return {"rows": [asdict(row) for row in self._backend.profile(self._handle)]}, {}
        return {}, {}
