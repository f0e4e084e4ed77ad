"""The error that each node adds alone: single-node trials on the original.

In a trial one node of the compiled model, with all nodes of the file that it stands for, computes as
in a narrow dtype: its operands, weights among them, and its results are rounded. All others run in
the file's dtypes, and the outputs are compared with those of an exact run. No trial compiles anything.
"""

import math
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.compare.candidates import line_of
from atc_py.compare.measure import Measure
from atc_py.compare.paired_run import Original
from atc_py.compare.reference import ReferenceModel
from atc_py.compare.targets import reaches
from atc_py.device.sim.numerics.rounding import round_to_grid
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.package.schema import OmModel
from atc_py.pipeline.running.samples import Feeds
from atc_py.results.layer_comparison import LayerComparison
from atc_py.tensor.dtypes import DType

_LEAST = 1e-30

HELD_BYTES = 128 << 20
"""Weights of parts that are kept for the next trials; an engine takes up to twice as much memory.
With 1 GiB a plan of a 64 MB model took 1 GB in place of 655 MB, and as much time.
"""


def error_share(cosine: float, snr: float, targets: Mapping[str, float]) -> float:
    """The largest share of the figures; infinite for NaN.

    Noise of one node hardly depends on that of another, so its energy, which is what both
    figures fall by, is the sum of what the nodes add.
    """
    shares = [0.0]
    if "cosine" in targets:
        shares.append((1 - cosine) / max(1 - targets["cosine"], _LEAST))
    if "snr" in targets:
        # The exponent is bounded, so that no error overflows.
        shares.append(0.0 if snr == math.inf else 10 ** (min(targets["snr"] - snr, 3000.0) / 10))
    return math.inf if any(math.isnan(share) for share in shares) else max(shares)


def share_of_comparison(done: LayerComparison, targets: Mapping[str, float]) -> float:
    """The share of the worst output; it is 1 or less just where the target is reached."""
    if done.stopped or done.uncompared or (done.layers and not done.outputs):
        return math.inf
    worst = 0.0
    for at in done.outputs.values():
        layer = done.layers[at]
        if layer.figures.lost_share:
            return math.inf
        worst = max(worst, error_share(layer.judged.cosine, layer.judged.snr, targets))
    if reaches(done, targets):
        return min(worst, 1.0)
    return max(worst, math.nextafter(1.0, 2.0))


class ErrorModel:
    """Single-node trials on a few samples; the values of exact runs are held in memory."""

    def __init__(
        self,
        reference: ReferenceModel,
        samples: Iterable[tuple[Feeds, Original]],
        targets: Mapping[str, float],
    ) -> None:
        """Take exact runs of the original; it runs again where these have amended values."""
        self._exact = reference
        self._targets = targets
        self._outputs = [name for name in reference.outputs if reference.graph.producer(name)]
        self._nodes = [node for piece in reference.pieces for node in piece.nodes]
        self._places = {name: at for at, node in enumerate(self._nodes) for name in node.writes}
        self._starts = [*accumulate((len(piece.nodes) for piece in reference.pieces), initial=0)]
        self._some: dict[tuple[OnnxNode, ...], ReferenceModel] = {}
        self._held = 0  # bytes of weights of `_some`, whose last part is the one used last
        self._path: tuple[Sequence[int], list[ReferenceModel]] = (), []
        self._last: dict[tuple[DType, int], tuple[int, Feeds, dict[str, NDArray[Any]]]] = {}
        self._runs = [self._exact_values(feeds, run) for feeds, run in samples]

    @property
    def tells_nodes_apart(self) -> bool:
        """True if nodes can be run alone; not those of models with control flow or sequences."""
        return self._exact.can_be_amended and len(self._nodes) > 1

    def share(self, values: Collection[str], dtype: DType) -> float:
        """The share of the allowed error with the makers of `values` in `dtype`.

        Raises:
            AtcError: REFERENCE_FAILED.
        """
        places = sorted({self._places[name] for name in values if name in self._places})
        if not places or dtype is DType.FLOAT32:
            return 0.0
        parts = self._parts(places, dtype)
        measures = {name: Measure(DType.FLOAT32) for name in self._outputs}
        for at, exact in enumerate(self._runs):
            found = self._with_rounded(at, places, parts, dtype)
            if any(array.shape != exact[name].shape for name, array in found.items()):
                return math.inf  # another number of boxes
            for name in self._outputs:
                if exact[name].dtype.kind == "f":
                    measures[name].add(found.get(name, exact[name]), exact[name])
        shares = [0.0]
        for measure in measures.values():
            figures = measure.figures()
            if figures.lost_share:
                return math.inf
            if figures.elements:
                shares.append(error_share(figures.cosine, figures.snr, self._targets))
        return max(shares)

    def _exact_values(self, feeds: Feeds, run: Original) -> Feeds:
        if self._exact.amendment is None:
            names = dict.fromkeys((*self._exact.inputs, *self._places), 1)
            run.expect(names)
            values = {name: run.value(name) for name in names}
            return {name: array for name, array in values.items() if array is not None}
        held = self._exact.as_declared(feeds)
        for at, piece in enumerate(self._exact.pieces):
            held |= self._exact.run_piece(at, {name: held[name] for name in piece.reads})
        return held

    def _parts(self, places: Sequence[int], dtype: DType) -> list[ReferenceModel]:
        """From the first place to the end of the original's piece that has the last: nodes alone.

        What is between and after the places is the same in each dtype, and made once.
        """
        change = partial(_round, dtype=dtype)
        parts = [self._exact.cut([self._nodes[at : at + 1]], change) for at in places]
        if self._path[0] != places:
            ends = [*places[1:], self._starts[bisect_right(self._starts, places[-1])]]
            changed, between = set[str](), list[ReferenceModel]()
            for at, end in zip(places, ends, strict=True):
                changed.update(self._nodes[at].writes)
                nodes = _readers(self._nodes[at + 1 : end], changed)
                between.append(self._exact.cut([nodes] if nodes else []))
            self._path = places, between
        return [part for pair in zip(parts, self._path[1], strict=True) for part in pair]

    def _with_rounded(
        self, sample: int, places: Sequence[int], parts: Iterable[ReferenceModel], dtype: DType
    ) -> dict[str, NDArray[Any]]:
        """The values that differ from those of an exact run with some nodes rounded."""
        exact, changed = self._runs[sample], dict[str, NDArray[Any]]()
        for number, part in enumerate(parts):
            for at, piece in enumerate(part.pieces):
                feeds = {name: changed.get(name, exact[name]) for name in piece.reads}
                if number % 2 == 0:
                    narrow = {name: _round(array, dtype) for name, array in feeds.items()}
                    made = part.run_piece(at, narrow)
                    changed |= {name: _round(array, dtype) for name, array in made.items()}
                else:
                    changed |= part.run_piece(at, feeds)
        return self._passed_on(sample, changed, bisect_right(self._starts, places[-1]), dtype)

    def _passed_on(
        self, sample: int, changed: dict[str, NDArray[Any]], start: int, dtype: DType
    ) -> dict[str, NDArray[Any]]:
        """Changed values passed on through the original's pieces from `start` on.

        Where the changed values equal those of the previous trial in every bit, its result is
        returned.
        """
        pieces = self._exact.pieces[start:]
        read = {name for piece in pieces for name in piece.reads}.union(self._outputs)
        changed = {name: array for name, array in changed.items() if name in read}
        at, known, result = self._last.get((dtype, sample), (0, {}, {}))
        if (at, known.keys()) == (start, changed.keys()) and all(
            _same_bits(array, known[name]) for name, array in changed.items()
        ):
            return result
        result = {**changed}
        for at, piece in enumerate(pieces, start):
            if not result.keys().isdisjoint(piece.reads):
                part = self._changed_part(at, result)
                feeds = {n: result.get(n, self._runs[sample][n]) for n in part.pieces[0].reads}
                result |= part.run_piece(0, feeds)
        result = {name: result[name] for name in self._outputs if name in result}
        self._last[dtype, sample] = start, changed, result
        return result

    def _changed_part(self, at: int, reads: Iterable[str]) -> ReferenceModel:
        """The nodes of the original's piece at `at` whose results change with `reads`."""
        nodes = tuple(_readers(self._exact.pieces[at].nodes, {*reads}))
        part = self._some.pop(nodes, None)
        if part is None:
            part = self._exact.cut([nodes])
            self._held += part.pieces[0].constant_bytes
            while self._held > HELD_BYTES and self._some:
                oldest = self._some.pop(next(iter(self._some)))
                self._held -= oldest.pieces[0].constant_bytes
        self._some[nodes] = part
        return part


def _readers(nodes: Iterable[OnnxNode], changed: set[str]) -> list[OnnxNode]:
    """Those of `nodes` that depend on changed values, to which their results are added."""
    found = []
    for node in nodes:
        if not changed.isdisjoint(node.reads):
            changed.update(node.writes)
            found.append(node)
    return found


def _same_bits(one: NDArray[Any], other: NDArray[Any]) -> bool:
    if one.dtype.hasobject or (one.shape, one.dtype) != (other.shape, other.dtype):
        return False
    return np.array_equal(one.reshape(-1).view(np.uint8), other.reshape(-1).view(np.uint8))


def nodes_by_line(model: OmModel, reference: ReferenceModel) -> dict[str, list[str]]:
    """For each line the values that its nodes of the file make."""
    results: dict[str, list[str]] = {}
    for node in model.nodes:
        line = line_of(node)
        if line is None:
            continue
        for origin in node.origins:
            if not 0 <= origin.index < len(reference.nodes):
                continue
            source = reference.nodes[origin.index]
            if source.name == origin.name or not source.name:
                results.setdefault(line, []).extend(name for name in source.output_names if name)
    return results


def _round(array: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """Floats as a narrow dtype holds them, in their own dtype; other arrays as they are."""
    if array.dtype.kind != "f":
        return array
    if array.dtype == np.float32 and array.flags.c_contiguous:
        return round_to_grid(array, dtype)
    with np.errstate(all="ignore"):
        result: NDArray[Any] = array.astype(dtype.numpy).astype(array.dtype)
    return result
