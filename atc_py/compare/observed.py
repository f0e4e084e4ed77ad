"""Devices whose every result can be looked at: the simulator, and onnxruntime on the exported model."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from atc_py.device.backend import LoadedModel
from atc_py.device.sim.execution.kept_results import KeptResults, SparingModel
from atc_py.device.sim.execution.session import SimModel
from atc_py.diag import BAD_OPTION
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

Arrays = Mapping[str, NDArray[Any]]

Observe = Callable[[int, NDArray[Any]], None]
if TYPE_CHECKING:
    from atc_py.device.ort.backend import OrtModel


DEVICES = ("sim", "ort")
"""Devices that show every result; the first one by default."""

_NARROW = frozenset({DType.FLOAT16.value, DType.BFLOAT16.value})


class ObservedDevice(Protocol):
    """A device with a model on it."""

    @property
    def seconds(self) -> float:
        """Time of the last run, without the observer's own."""
        ...

    def run(self, inputs: Arrays, seen: Collection[int], observe: Observe) -> None:
        """Run once; call `observe` with position and data of each tensor `seen` that a node makes.

        The same are seen in each run. 16-bit floats come as float32.
        """
        ...

    def close(self) -> None: ...


def observed_device(
    name: str, package: LoadedModel, kept: KeptResults | None = None
) -> ObservedDevice:
    """The device called `name` with a model on it; the simulator may share results that are `kept`."""
    if name == DEVICES[0]:
        return _Simulated(package, kept)
    if name == DEVICES[1]:
        return _Exported(package)
    raise BAD_OPTION.error(
        Text(
            "layers cannot be compared on device {name}, which shows only outputs", name=repr(name)
        ),
        help=Text("devices that show every layer are {devices}", devices=" and ".join(DEVICES)),
    )


class _Simulated:
    """The simulator, which shows a result as soon as it is there."""

    def __init__(self, package: LoadedModel, kept: KeptResults | None) -> None:
        self._model = (
            SimModel(package, merged=False) if kept is None else SparingModel(package, kept)
        )
        self._model.room.require_plan()

    @property
    def seconds(self) -> float:
        return sum(each.seconds for each in self._model.profile)

    def run(self, inputs: Arrays, seen: Collection[int], observe: Observe) -> None:
        def shown(tensor: int, found: NDArray[Any]) -> None:
            if tensor in seen:
                observe(tensor, found)

        if isinstance(self._model, SparingModel):
            self._model.seen = seen
        self._model.run(inputs, shown)

    def close(self) -> None:
        self._model.close()


class _Exported:
    """onnxruntime, which shows all results when the run is over."""

    def __init__(self, package: LoadedModel) -> None:
        from atc_py.device.ort.backend import onnxruntime

        self._package = package
        self._runtime = onnxruntime()
        self._model: OrtModel | None = None
        self.seconds = 0.0

    def run(self, inputs: Arrays, seen: Collection[int], observe: Observe) -> None:
        from atc_py.device.ort.backend import OrtModel

        if self._model is None:
            self._model = OrtModel(self._package, self._runtime, seen)
        started = time.perf_counter()
        found = self._model.observe(inputs)
        self.seconds = time.perf_counter() - started
        for tensor, array in found.items():
            observe(tensor, array.astype(np.float32) if array.dtype.name in _NARROW else array)

    def close(self) -> None:
        self._model = None
