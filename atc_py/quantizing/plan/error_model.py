"""The error that each node adds alone: single-node trials on the original.

In a trial one node of the compiled model, with all nodes of the file that it stands for, computes as
in a narrow dtype: its operands, weights among them, and its results are rounded. All others run in
the file's dtypes, and the outputs are compared with those of an exact run. No trial compiles anything.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.compare.candidates import line_of
from atc_py.compare.measure import Measure
from atc_py.compare.reference import ReferenceModel
from atc_py.compare.targets import reaches
from atc_py.package.schema import OmModel
from atc_py.results.layer_comparison import LayerComparison
from atc_py.tensor.dtypes import DType

_LEAST = 1e-30


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


Feeds = Mapping[str, NDArray[Any]]


class ErrorModel:
    """Single-node trials on a few samples; the values of exact runs are held in memory."""

    def __init__(
        self, reference: ReferenceModel, feeds: Iterable[Feeds], targets: Mapping[str, float]
    ) -> None:
        """Run the original exactly.

        Raises:
            AtcError: REFERENCE_FAILED.
        """
        self._exact = reference.node_by_node()
        self._targets = targets
        self._outputs = [name for name in reference.outputs if self._exact.graph.producer(name)]
        self._pieces = {
            name: at for at, piece in enumerate(self._exact.pieces) for name in piece.writes
        }
        self._round: dict[DType, ReferenceModel] = {}
        self._runs = [self._exact_run(feed) for feed in feeds]

    @property
    def tells_nodes_apart(self) -> bool:
        """True if nodes can be run alone; not those of models with control flow or sequences."""
        return len(self._exact.pieces) > 1

    def share(self, values: Collection[str], dtype: DType) -> float:
        """The share of the allowed error with the makers of `values` in `dtype`.

        Raises:
            AtcError: REFERENCE_FAILED.
        """
        places = sorted({self._pieces[name] for name in values if name in self._pieces})
        if not places or dtype is DType.FLOAT32:
            return 0.0
        measures = {name: Measure(DType.FLOAT32) for name in self._outputs}
        for exact in self._runs:
            found = self._with_rounded(exact, places, dtype)
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

    def _exact_run(self, feeds: Feeds) -> dict[str, NDArray[Any]]:
        held = self._exact.as_declared(feeds)
        for at, piece in enumerate(self._exact.pieces):
            held |= self._exact.run_piece(at, {name: held[name] for name in piece.reads})
        return held

    def _with_rounded(
        self, exact: Feeds, places: Sequence[int], dtype: DType
    ) -> dict[str, NDArray[Any]]:
        """The values that differ from those of an exact run with some pieces rounded."""
        changed: dict[str, NDArray[Any]] = {}
        rounded = self._rounded_model(dtype)
        for at in range(places[0], len(self._exact.pieces)):
            reads = self._exact.pieces[at].reads
            feeds = {name: changed.get(name, exact[name]) for name in reads}
            if at in places:
                narrow = {name: _round(array, dtype) for name, array in feeds.items()}
                made = rounded.run_piece(at, narrow)
                changed |= {name: _round(array, dtype) for name, array in made.items()}
            elif any(name in changed for name in reads):
                changed |= self._exact.run_piece(at, feeds)
        return changed

    def _rounded_model(self, dtype: DType) -> ReferenceModel:
        if dtype not in self._round:
            self._round[dtype] = self._exact.node_by_node(lambda array: _round(array, dtype))
        return self._round[dtype]


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
    with np.errstate(all="ignore"):
        result: NDArray[Any] = array.astype(dtype.numpy).astype(array.dtype)
    return result
