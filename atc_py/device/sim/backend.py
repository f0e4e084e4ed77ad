"""The simulated NPU as a device back end."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from atc_py.device.backend import DeviceModel, LoadedModel, NodeProfile, not_open, own_model
from atc_py.device.sim.execution.session import SimModel
from atc_py.device.sim.memory.exact_storage import ExactModel


class SimBackend:
    """Executes offline models with numpy on the host; `DeviceBackend` has the contract.

    Results do not depend on timing or on the number of threads that BLAS uses beyond the order
    in which BLAS itself adds: the same machine gives the same bits.
    """

    name = "sim"

    def __init__(self) -> None:
        self._is_open = False
        self._models: list[SimModel | ExactModel] = []

    def open(self) -> None:
        self._is_open = True

    def load(self, model: LoadedModel) -> SimModel:
        """Check a model; its constants are opened, its memory is taken in the first run.

        Raises:
            AtcError: OM_CONTENT with every finding; DEVICE_FAILED when the device is not open.
        """
        self._require_open()
        loaded = SimModel(model)
        self._models.append(loaded)
        return loaded

    def load_exact(self, model: LoadedModel) -> ExactModel:
        self._require_open()
        loaded = ExactModel(model)
        self._models.append(loaded)
        return loaded

    def run(
        self, handle: DeviceModel, inputs: Mapping[str, NDArray[Any]]
    ) -> dict[str, NDArray[Any]]:
        """The outputs for `inputs`, by name.

        Raises:
            AtcError: MISSING_RUN_INPUT, BAD_RUN_INPUT or DEVICE_FAILED.
        """
        return self._own(handle).run(inputs)

    def progress(self, handle: DeviceModel) -> tuple[int, int] | None:
        """Launches of a run that have ended, and all; from any thread."""
        model = self._own(handle)
        return model.progress if isinstance(model, SimModel) else None

    def profile(self, handle: DeviceModel) -> tuple[NodeProfile, ...]:
        """The nodes of the last complete run in their order; empty before the first.

        Raises:
            AtcError: DEVICE_FAILED when the model is not loaded.
        """
        return self._own(handle).profile

    def close(self) -> None:
        for model in self._models:
            model.close()
        self._models.clear()
        self._is_open = False

    def _require_open(self) -> None:
        if not self._is_open:
            raise not_open(self.name)

    def _own(self, handle: DeviceModel) -> SimModel | ExactModel:
        self._require_open()
        return own_model(self._models, handle)
