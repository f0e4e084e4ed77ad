"""The original and the compiled model run in step, every result of both looked at and left."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from atc_py.compare.births import trace_births
from atc_py.compare.inputs import fitting_feeds
from atc_py.compare.matching import match
from atc_py.compare.measure import Measure
from atc_py.device.sim.session import SimModel
from atc_py.diag import AtcError
from atc_py.diag.codes import DEVICE_FAILED
from atc_py.dtypes import DType
from atc_py.feeds import read_feeds
from atc_py.frontend.reference import ReferenceRun
from atc_py.frontend.roles import input_roles
from atc_py.report.layers import Alone, LayerComparison

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    import numpy.typing as npt

    from atc_py.api import Port
    from atc_py.device.backend import LoadedModel
    from atc_py.frontend.reference import ReferenceModel

    Array = npt.NDArray[np.generic]

__all__ = ["Pair"]


class Pair:
    """The original and the compiled model, in step: a result of either is looked at and left."""

    def __init__(
        self, reference: ReferenceModel, package: LoadedModel, ports: Sequence[Port]
    ) -> None:
        self._reference = reference
        self._description = package.description
        self._device = SimModel(package)
        self._ports = ports
        self._matching = match(self._description, reference.nodes, reference.inputs)
        self._measures: dict[int, Measure] = {}
        self._unlike: dict[int, str] = {}
        self._peak = self._total = 0
        self._stopped = ""
        self._device_seconds = self._reference_seconds = 0.0

    def given(self, inputs: Mapping[str, Array] | Iterable[str]) -> dict[str, Array]:
        """What the user gives, by name."""
        if isinstance(inputs, Mapping):
            return dict(inputs)
        return read_feeds(inputs, self._ports)

    def compared(self, given: Mapping[str, Array], samples: int, seed: int) -> LayerComparison:
        """Run `samples` times and sum up."""
        roles = input_roles(self._reference)
        started = time.perf_counter()
        try:
            for sample in range(samples):
                self._run({**fitting_feeds(self._ports, roles, seed + sample), **given})
        finally:
            self._device.close()
        return self._summed_up(samples, time.perf_counter() - started)

    def _run(self, feeds: dict[str, Array]) -> None:
        """Run both once."""
        run = ReferenceRun(self._reference, feeds)
        made = {at for node in self._description.nodes for at in node.outputs}
        values = self._matching.values
        run.expect(Counter(name for tensor, name in values.items() if tensor in made))

        def observe(tensor: int, found: npt.NDArray[Any]) -> None:
            if tensor in values:
                self._look(tensor, found, run.value(values[tensor]))
                run.release(values[tensor])

        try:
            self._device.run(feeds, observe)
        except AtcError as error:
            if error.diagnostics[0].code is not DEVICE_FAILED or not self._measures:
                raise
            # Data that went wrong on the way stop kernels behind it; the layers tell where.
            found = error.diagnostics[0]
            where = "" if found.place is None else f"{found.place.node_name or ''}: "
            self._stopped = f"{where}{found.message}"
        self._device_seconds += sum(each.seconds for each in self._device.profile)
        self._reference_seconds += run.seconds
        self._peak, self._total = max(self._peak, run.peak), max(self._total, run.total)

    def _look(self, tensor: int, found: npt.NDArray[Any], wanted: npt.NDArray[Any] | None) -> None:
        """Measure one result, or note why it cannot be."""
        dtype = DType(self._description.tensors[tensor].dtype)
        reason = _unlike(dtype, found, wanted)
        if reason or wanted is None:
            self._unlike[tensor] = reason
            return
        self._measures.setdefault(tensor, Measure(dtype)).add(found, wanted)

    def _summed_up(self, samples: int, seconds: float) -> LayerComparison:
        """The record of all runs."""
        layers = trace_births(
            self._description,
            self._matching,
            {tensor: measure.figures() for tensor, measure in self._measures.items()},
            self._reference.nodes,
        )
        at = {(layer.index, layer.tensor): place for place, layer in enumerate(layers)}
        return LayerComparison(
            model=self._reference.path,
            soc=self._description.soc,
            precision_mode=self._description.options.get("precision_mode", ""),
            samples=samples,
            engines=self._reference.engines,
            layers=layers,
            outputs=self._outputs(at),
            device_alone=(*self._matching.device_alone, *self._unlike_ones()),
            original_alone=self._matching.original_alone,
            reference_seconds=self._reference_seconds,
            device_seconds=self._device_seconds,
            seconds=seconds,
            peak_bytes=self._peak,
            total_bytes=self._total,
            stopped=self._stopped,
        )

    def _outputs(self, at: Mapping[tuple[int, int], int]) -> dict[str, int]:
        """Positions of the layers that the model hands out."""
        makers = self._matching.producer
        found = {
            port.name: at.get((makers.get(port.tensor, -1), port.tensor))
            for port in self._description.outputs
        }
        return {name: place for name, place in found.items() if place is not None}

    def _unlike_ones(self) -> list[Alone]:
        """Results that were matched and could not be measured."""
        nodes = self._description.nodes
        makers = [(nodes[self._matching.producer[t]], why) for t, why in self._unlike.items()]
        return [Alone(node.name, node.op, why) for node, why in makers]


def _unlike(dtype: DType, found: npt.NDArray[Any], wanted: npt.NDArray[Any] | None) -> str:
    """Why two arrays cannot be compared; empty where they can."""
    if wanted is None:
        return "the original makes no tensor of it"
    theirs = DType.from_numpy(wanted.dtype)
    if (dtype.is_float, dtype.is_integer) != (theirs.is_float, theirs.is_integer):
        return f"{dtype.value} here, {theirs.value} in the original"
    if dtype.is_integer and dtype.itemsize == 1 and dtype is not theirs:
        return f"{dtype.value} here, {theirs.value} in the original"
    if found.shape != wanted.shape:
        return f"shape {list(found.shape)} here, {list(wanted.shape)} in the original"
    return ""
