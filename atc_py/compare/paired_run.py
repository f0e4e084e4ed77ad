"""Runs of the original and the compiled model in step; results are measured and then released."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from atc_py.compare.error_origin import trace_origins
from atc_py.compare.floors import floors_of
from atc_py.compare.grids import UNSIGNED_SHIFT, grids_of
from atc_py.compare.histograms import Sampled
from atc_py.compare.matching import match
from atc_py.compare.measure import Measure
from atc_py.compare.observed import DEVICES, ObservedDevice, observed_device
from atc_py.compare.ranks import Ranks, holds_scores
from atc_py.compare.reference import ReferenceModel
from atc_py.compare.row_order import RowOrder
from atc_py.compare.spreads import Spread
from atc_py.device.backend import LoadedModel
from atc_py.device.sim.execution.kept_results import KeptResults
from atc_py.diag import DEVICE_FAILED, ROWS_REORDERED, AtcError, Diagnostic, Place
from atc_py.package.schema import FIXED
from atc_py.results.cann_nodes import CannSemantics
from atc_py.results.judgment import MagnitudeHistogram, Ranking, SampleSpread
from atc_py.results.layer import NOISE
from atc_py.results.layer_comparison import Alone, LayerComparison
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

Array = npt.NDArray[Any]
Feeds = Mapping[str, Array]
Shapes = Sequence[tuple[int, ...]]

_DRAWN = 6
"""Layers of which there are histograms."""


class Original(Protocol):
    """Run of the original whose values are requested in the device's order.

    Attributes:
        seconds: time that it took so far.
        peak: most bytes of inputs and results that were held at once.
        total: bytes of all inputs, and of all results so far.
    """

    seconds: float
    peak: int
    total: int

    def expect(self, names: Mapping[str, int]) -> None:
        """Keep each of `names` until it has been released that many times."""
        ...

    def value(self, name: str) -> Array | None:
        """The value called `name`; None if the model makes no tensor of that name."""
        ...

    def release(self, name: str) -> None:
        """Release `name` once; after the last release it is freed."""
        ...


class Beside(Protocol):
    """A third side of a comparison.

    Attributes:
        names: values of the original that it asks for.
    """

    names: Collection[str]

    def begin(self) -> None: ...

    def add(self, name: str, found: Array | None, wanted: Array | None) -> None:
        """Take the device's result for a value, None without, and the original's."""
        ...


class Pair:
    """Pair of the original and the compiled model, run in step."""

    beside: Beside | None = None  # a third side of the comparison
    kept: KeptResults | None = None  # results that the simulator shares with other models
    # called after each layer that is measured, with how many there will be in a run
    on_layer: Callable[[int], None] | None = None
    # returns the name of the sample at a position; where it is given, the figures of each sample
    # are recorded, too
    name_of: Callable[[int], str] | None = None

    def __init__(
        self,
        reference: ReferenceModel,
        package: LoadedModel,
        targets: Mapping[str, float] | None = None,
        *,
        device: str = DEVICES[0],
        histograms: bool = False,
        semantics: CannSemantics | None = None,
    ) -> None:
        """Prepare a comparison; `targets` are the least `cosine` and `snr` of every output.

        With `histograms` samples of every layer's values are taken; `semantics` are the nodes that
        compute what CANN makes of them.
        """
        self._semantics, self._reference = semantics, reference
        self._targets = dict(targets or {})
        self._package, self._description, self._device_name = package, package.description, device
        self._matching = match(self._description, reference.nodes, reference.inputs)
        self._looked_at = set(self._matching.values)
        self._floors = floors_of(self._description)
        self._grids = grids_of(self._description, self._matching.values, reference)
        outputs = self._description.outputs
        self._scored = {port.tensor: Ranks() for port in outputs}
        names = {port.tensor: self._matching.values.get(port.tensor, "") for port in outputs}
        self._order = RowOrder.of_compiled(self._description, reference.nodes, names.values())
        self._ordered = {t: name for t, name in names.items() if name in self._order.outputs}
        self._waiting: dict[int, tuple[Array, Array]] = {}
        self._moved: dict[str, int] = {}
        self._measures: dict[int, Measure] = {}
        self._of_sample: dict[int, Measure] = self._measures
        self._spreads: dict[int, Spread] = {}
        self._sampled: dict[int, Sampled] | None = {} if histograms else None
        self._unlike: dict[int, str] = {}
        self._peak = self._total = 0
        self._outputs_only, self._stopped = False, ""
        self._device_seconds = self._reference_seconds = 0.0

    def compared(
        self, samples: Iterable[tuple[Feeds, Original]], *, outputs_only: bool = False
    ) -> LayerComparison:
        """Run the device on the feeds of each sample beside a run of the original on them.

        Args:
            samples: feeds, and the original's values for them.
            outputs_only: measure only the outputs of the model; then the layers are few, and the
                origins of their errors are not traced.
        """
        self._outputs_only = outputs_only
        if outputs_only:
            self._looked_at = {port.tensor for port in self._description.outputs}
        started, count = time.perf_counter(), 0
        device = observed_device(self._device_name, self._package, self.kept)
        try:
            for feeds, run in samples:
                if self.name_of is not None:
                    self._of_sample = {}
                self._run(device, feeds, run)
                if self.name_of is not None:
                    self._add_sample(self.name_of(count))
                count += 1
        finally:
            device.close()
        return self._summed_up(count, time.perf_counter() - started)

    def _add_sample(self, name: str) -> None:
        for tensor, measure in self._of_sample.items():
            self._spreads.setdefault(tensor, Spread()).add(measure.figures(), name)
            if tensor in self._measures:
                self._measures[tensor].merge(measure)
            else:
                self._measures[tensor] = measure

    def _run(self, device: ObservedDevice, feeds: Feeds, run: Original) -> None:
        made = {at for node in self._description.nodes for at in node.outputs}
        values = {t: name for t, name in self._matching.values.items() if t in self._looked_at}
        third = set() if self.beside is None else set(self.beside.names)
        run.expect(Counter([*(name for tensor, name in values.items() if tensor in made), *third]))
        shapes = [array.shape for array in feeds.values()]
        wanted = values.keys() & made

        def observe(tensor: int, found: Array) -> None:
            self._measure_result(tensor, found, run.value(values[tensor]), shapes)
            self._show_beside(values[tensor], found, run, third)
            run.release(values[tensor])
            if self.on_layer is not None:
                self.on_layer(len(wanted))

        try:
            device.run(feeds, wanted, observe)
        except AtcError as error:
            if error.diagnostics[0].code is not DEVICE_FAILED:
                raise
            if not (self._measures or self._of_sample) and not self._outputs_only:
                raise
            # Data that went wrong stop later kernels; the layers up to there show where.
            found = error.diagnostics[0]
            where = "" if found.place is None else f"{found.place.node_name or ''}: "
            self._stopped = f"{where}{found.message}"
        self._measure_ordered(shapes)
        for name in sorted(third):
            self._show_beside(name, None, run, third)
        self._device_seconds += device.seconds
        self._reference_seconds += run.seconds
        self._peak, self._total = max(self._peak, run.peak), max(self._total, run.total)

    def _show_beside(
        self, name: str, found: Array | None, run: Original, waiting: set[str]
    ) -> None:
        """Show a value to the third side, the first time that it is there."""
        if self.beside is not None and name in waiting:
            waiting.remove(name)
            self.beside.add(name, found, run.value(name))
            run.release(name)

    def _measure_result(
        self, tensor: int, found: Array, wanted: Array | None, shapes: Shapes
    ) -> None:
        """Measure one result, or record why it cannot be; `shapes` are those of the feeds."""
        dtype, grid = DType(self._description.tensors[tensor].dtype), self._grids.get(tensor)
        codes = grid is not None and grid.codes
        if codes and wanted is not None and wanted.dtype == np.uint8:
            wanted = (wanted.astype(np.int16) - UNSIGNED_SHIFT).astype(np.int8)
        if wanted is not None and FIXED in self._description.options:
            found = _without_new_axes(found, wanted)
        reason = _unlike(dtype, found, wanted)
        value = self._matching.values[tensor]
        if wanted is None and self._reference.graph.producer(value) is None:
            reason = "the reference has no value of that name"
        if value in self._reference.scaled:
            reason = "its channels were scaled when the model was quantized"
        if reason or wanted is None:
            self._unlike[tensor] = reason
            return
        if tensor in self._ordered:
            self._waiting[tensor] = found, wanted
        else:
            self._add_result(tensor, found, wanted, shapes)

    def _measure_ordered(self, shapes: Shapes) -> None:
        """Measure the outputs that TopK orders, as sets of rows."""
        found, wanted = (
            {self._ordered[tensor]: pair[side] for tensor, pair in self._waiting.items()}
            for side in (0, 1)
        )
        moved = self._order.moved(found, wanted)
        for tensor, (array, other) in self._waiting.items():
            name = self._ordered[tensor]
            if name in moved:
                self._moved[name] = self._moved.get(name, 0) + 1
            self._add_result(tensor, moved.get(name, array), other, shapes)
        self._waiting.clear()

    def _add_result(self, tensor: int, found: Array, wanted: Array, shapes: Shapes) -> None:
        dtype, grid = DType(self._description.tensors[tensor].dtype), self._grids.get(tensor)
        codes = grid is not None and grid.codes
        if tensor not in self._of_sample:
            zero = grid.zero if grid is not None and codes else 0
            self._of_sample[tensor] = Measure(dtype, self._floors.get(tensor, 0.0), zero)
        self._of_sample[tensor].add(found, wanted)
        if self._sampled is not None:
            self._sampled.setdefault(tensor, Sampled(dtype)).add(found, wanted)
        if tensor in self._scored and dtype.is_float and holds_scores(found, shapes):
            self._scored[tensor].add(found, wanted)

    def _summed_up(self, samples: int, seconds: float) -> LayerComparison:
        layers = trace_origins(
            self._description,
            self._matching,
            {tensor: measure.figures() for tensor, measure in self._measures.items()},
            self._reference.nodes,
            self._grids,
            self._semantics,
        )
        at = {(layer.index, layer.tensor): place for place, layer in enumerate(layers)}
        done = LayerComparison(
            model=self._reference.path,
            soc=self._description.soc,
            precision_mode=self._description.options.get("precision_mode", ""),
            device=self._device_name,
            samples=samples,
            engines=self._reference.engines,
            original_form=self._reference.form,
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
            targets=self._targets,
            uncompared=self._uncompared_outputs(at),
            rankings=self._rankings(),
            semantics=self._semantics,
            spreads=self._spreads_at(at),
            warnings=tuple(self._reordered()),
        )
        return replace(done, histograms=self._histograms(done))

    def _reordered(self) -> Iterator[Diagnostic]:
        for name, samples in self._moved.items():
            yield ROWS_REORDERED.diagnostic(
                Text(
                    "TopK orders the rows of {name} differently in {samples} samples; they are "
                    "compared as sets",
                    name=name,
                    samples=samples,
                ),
                place=Place(field=Text("output {at}", at=name)),
            )

    def _histograms(self, done: LayerComparison) -> dict[int, MagnitudeHistogram]:
        """Those of the first failing layer and the worst ones, by position; one a value."""
        if self._sampled is None:
            return {}
        first = [] if done.first_failing is None else [done.first_failing]
        positions = {id(layer): at for at, layer in enumerate(done.layers)}
        seen: dict[str, int] = {}
        for layer in (*first, *done.worst()):
            if layer.judged_error > NOISE:
                seen.setdefault(layer.value, positions[id(layer)])
        drawn = {
            at: self._sampled[done.layers[at].tensor].histogram()
            for at in [*seen.values()][:_DRAWN]
        }
        return {at: each for at, each in drawn.items() if each is not None}

    def _spreads_at(self, at: Mapping[tuple[int, int], int]) -> dict[int, SampleSpread]:
        return {
            place: self._spreads[tensor].figures()
            for (_, tensor), place in at.items()
            if tensor in self._spreads
        }

    def _outputs(self, at: Mapping[tuple[int, int], int]) -> dict[str, int]:
        makers = self._matching.producer
        found = {
            port.name: at.get((makers.get(port.tensor, -1), port.tensor))
            for port in self._description.outputs
        }
        return {name: place for name, place in found.items() if place is not None}

    def _uncompared_outputs(self, at: Mapping[tuple[int, int], int]) -> dict[str, str]:
        """List the outputs that could not be compared in every sample, with the reasons."""
        makers, found = self._matching.producer, {}
        for port in self._description.outputs:
            if port.tensor not in makers:
                continue  # An input or a constant, returned as it is.
            if port.tensor in self._unlike:
                found[port.name] = self._unlike[port.tensor]
            elif (makers[port.tensor], port.tensor) not in at:
                stopped = "the device stopped before it"
                found[port.name] = stopped if self._stopped else "the original has no such value"
        return found

    def _rankings(self) -> dict[str, Ranking]:
        """Collect the agreement on classes, by outputs that hold scores."""
        rankings = {
            port.name: self._scored[port.tensor].ranking() for port in self._description.outputs
        }
        return {name: found for name, found in rankings.items() if found is not None}

    def _unlike_ones(self) -> list[Alone]:
        """Results that were matched and could not be measured."""
        nodes = self._description.nodes
        makers = [(nodes[self._matching.producer[t]], why) for t, why in self._unlike.items()]
        return [Alone(node.name, node.op, why) for node, why in makers]


def _without_new_axes(found: Array, wanted: Array) -> Array:
    """A result in the dims of the original if they differ in axes of 1 alone.

    Rules give such axes to whole regions, so that the list takes them: signals become images.
    """
    long = [[dim for dim in array.shape if dim != 1] for array in (found, wanted)]
    return found.reshape(wanted.shape) if long[0] == long[1] else found


def _unlike(dtype: DType, found: Array, wanted: Array | None) -> str:
    """The reason why two arrays cannot be compared; empty where they can."""
    if wanted is None:
        return "the original's value is not a tensor"
    theirs = DType.from_numpy(wanted.dtype)
    other_kind = (dtype.is_float, dtype.is_integer) != (theirs.is_float, theirs.is_integer)
    if other_kind or (dtype.is_integer and dtype.itemsize == 1 and dtype is not theirs):
        return Text(
            "{dtype} here, {theirs} in the original", dtype=dtype.value, theirs=theirs.value
        )
    if found.shape != wanted.shape:
        return Text(
            "shape {shape} here, {shape_2} in the original",
            shape=list(found.shape),
            shape_2=list(wanted.shape),
        )
    return ""
