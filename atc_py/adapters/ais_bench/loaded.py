"""An offline model on the simulated device, one graph for each of its gears."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from atc_py.cost.network import TimeRange, network_cost
from atc_py.device.backend import DeviceModel, load_stored
from atc_py.device.supervised import backend_for
from atc_py.options.gears import Gears
from atc_py.options.ranges import Ranges
from atc_py.package.schema import OmModel
from atc_py.pipeline.huawei import open_offline

_DEVICE = "sim"


class GearedModel:
    """A model that was loaded; gears are put on the device when they first run.

    Attributes:
        gears: the lists of shapes that it has graphs for; None where it has one graph.
        ranges: of the dims of inputs that each run decides.
    """

    def __init__(self, path: str) -> None:
        self._package = open_offline(Path(path))
        self._backend = backend_for(_DEVICE, None)
        self._handles: dict[int | None, DeviceModel] = {}
        self._times: dict[int | None, TimeRange] = {}
        self.gears: Gears | None = self._package.gears
        self.ranges: Ranges = self._package.ranges
        try:
            self._backend.open()
            self._handle(self._package.gear)
        except BaseException:
            self.close()
            raise

    def description(self, gear: int | None = None) -> OmModel:
        """The description of one gear; of the largest where none is named."""
        found: OmModel = self._at(gear).description
        return found

    @property
    def largest(self) -> int | None:
        """Position of the largest gear; None without gears."""
        return self._package.gear

    def run(self, gear: int | None, feeds: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
        """Run once.

        Raises:
            AtcError: the device failed.
        """
        return self._backend.run(self._handle(self._key(gear)), feeds)

    def time(self, gear: int | None) -> TimeRange:
        """The estimated time of a run on the SoC that the model is for, in seconds."""
        key = self._key(gear)
        if key not in self._times:
            self._times[key] = network_cost(self._at(gear).description).time
        return self._times[key]

    def close(self) -> None:
        """Release the device and the file."""
        try:
            self._backend.close()
        finally:
            self._package.close()

    def _key(self, gear: int | None) -> int | None:
        return self._package.gear if gear is None else gear

    def _at(self, gear: int | None) -> Any:
        key = self._key(gear)
        return self._package if key is None else self._package.at_gear(key)

    def _handle(self, gear: int | None) -> DeviceModel:
        if gear not in self._handles:
            self._handles[gear] = load_stored(self._backend, self._at(gear), "logical")
        return self._handles[gear]
