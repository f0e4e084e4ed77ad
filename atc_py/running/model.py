"""An offline model that is loaded on a device, and its ports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, final

from atc_py.diag.codes import BAD_RUN_INPUT
from atc_py.results.cann_nodes import read_semantics
from atc_py.system.structs import Result
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Dims

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

    import numpy as np
    import numpy.typing as npt

    from atc_py.device.backend import DeviceBackend, NodeProfile
    from atc_py.package.schema import OmModel, OmPort
    from atc_py.results.cann_nodes import CannSemantics

__all__ = ["Model", "Port"]


class Port(Result, frozen=True):
    """A model input or output: its name, element type and shape.

    A dim of an output is None where only the run knows it.
    """

    name: str
    dtype: DType
    shape: Dims


@final
class Model:
    """An offline model on a device; use it in a `with` block or call `close`.

    Attributes:
        inputs: what `run` takes.
        outputs: what `run` returns.
    """

    def __init__(
        self,
        path: Path,
        device: str = "sim",
        storage: str = "logical",
        timeout: float | None = None,
    ) -> None:
        from atc_py.device.backend import load_stored
        from atc_py.device.supervised import backend_for
        from atc_py.package.reader import open_model

        self._choice = device, storage, timeout
        self._inherited: list[DeviceBackend] = []
        self._backend = backend_for(device, timeout)
        self._package = open_model(path)
        try:
            self._backend.open()
            self._handle = load_stored(self._backend, self._package, storage)
        except BaseException:
            self.close()
            raise
        description = self._package.description
        self.inputs = _ports(description, description.inputs)
        self.outputs = _ports(description, description.outputs)

    @property
    def description(self) -> OmModel:
        """The offline model's own description."""
        return self._package.description

    @property
    def semantics(self) -> CannSemantics | None:
        """The nodes that compute what a generation of CANN makes of them, None without any."""
        return read_semantics(self._package.report, str(self._package.path))

    def run(
        self, inputs: Mapping[str, npt.NDArray[np.generic]]
    ) -> dict[str, npt.NDArray[np.generic]]:
        """Run once; arrays must have the dtypes and shapes of `inputs`.

        Raises:
            AtcError: an input is missing or does not fit, or the device failed.
        """
        given: object = inputs
        if not isinstance(given, Mapping):
            raise BAD_RUN_INPUT.error(
                f"inputs must be a mapping of names to arrays, found {type(given).__name__}",
                help=f"the model's inputs are {', '.join(port.name for port in self.inputs)}",
            )
        return self._backend.run(self._handle, inputs)

    def reload(self) -> None:
        """Load the model again in a process that was forked, where it has neither threads nor locks.

        What the other process loaded is not released: that may wait for its threads.

        Raises:
            AtcError: as the constructor does, of the device.
        """
        from atc_py.device.backend import load_stored
        from atc_py.device.supervised import backend_for

        device, storage, timeout = self._choice
        self._inherited.append(self._backend)
        self._backend = backend_for(device, timeout)
        self._backend.open()
        self._handle = load_stored(self._backend, self._package, storage)

    def profile(self) -> Sequence[NodeProfile]:
        """Return the time of each node in the last run."""
        return self._backend.profile(self._handle)

    def close(self) -> None:
        """Release the device and the file."""
        try:
            self._backend.close()
        finally:
            self._package.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _ports(description: OmModel, ports: Sequence[OmPort]) -> tuple[Port, ...]:
    """Return the ports with the types of their tensors."""
    tensors = description.tensors
    return tuple(
        Port(port.name, DType(tensors[port.tensor].dtype), tuple(tensors[port.tensor].shape))
        for port in ports
    )
