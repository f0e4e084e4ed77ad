"""Errors of the original itself: found by a float64 run of the node, and removed.

An engine that runs the original in float32 rounds as well, and some of its kernels are far off where
results are small. Before such an error is attributed to the device, the nodes that make the layer
are run alone in float64 on the original's own inputs. If the original is at least
1 / INTRODUCED_FACTOR as far from that run as the device is from the original, the error is the
original's own. The comparison is then made again with the float64 value in its place, so that
later layers are compared with the model's exact meaning, not with that engine's rounding.

Only layers that matter are checked: those that introduced the error of a failing layer, or of an
output that misses a target or is further off than its dtype's roundings explain; and those that
introduced the errors that such a layer read, because it may have enlarged a small one.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.compare.measure import Measure
from atc_py.compare.paired_run import Original
from atc_py.compare.reference import ReferenceModel
from atc_py.onnx_graph.running.float64 import run_in_float64
from atc_py.onnx_graph.running.piece import Piece
from atc_py.package.schema import OmModel
from atc_py.results.layer import INTRODUCED_FACTOR, ErrorOrigin, Layer, OwnError
from atc_py.results.layer_comparison import LayerComparison, missed_figures
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType

_ROUNDINGS = 16
"""Successive roundings that explain the error of an output without a search in the original."""

_UNITS = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float64": 2.0**-53}
_UNIT = 2.0**-24
"""Half the distance from 1 to the next number of a dtype, relative; for float32 and all others."""

_MOST = 64
"""Most layers that are examined in a round."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A layer in which the device's error may be the original's own."""

    layer: Layer
    nodes: Piece  # what makes its value in the original

    @property
    def value(self) -> str:
        return self.nodes.writes[0]


class ExactValues:
    """Values of the original that float64 runs replace.

    Attributes:
        reads: the values that each of them is computed from, by name.
    """

    def __init__(self, nodes: Iterable[Piece]) -> None:
        self._nodes = {piece.writes[0]: piece for piece in nodes}
        self.reads: Mapping[str, Collection[str]] = {
            name: piece.reads for name, piece in self._nodes.items()
        }

    def amended(
        self, name: str, value: NDArray[Any], feeds: Mapping[str, NDArray[Any]]
    ) -> NDArray[Any]:
        """The float64 result in the dtype of `value`; `value` where there is none."""
        exact = run_in_float64(self._nodes[name], name, feeds, value)
        with np.errstate(over="ignore"):
            return value if exact is None else exact.astype(value.dtype)


def find_suspects(
    done: LayerComparison,
    model: OmModel,
    reference: ReferenceModel,
    looked_at: Collection[str],
) -> list[Suspect]:
    """Find the layers that a float64 run must judge, each value once, but for those `looked_at`."""
    suspects: dict[str, Suspect] = {}
    if not reference.can_be_amended:
        return []
    for at in sorted(_roots(done)):
        layer = done.layers[at]
        introduces = (
            layer.origin is ErrorOrigin.INTRODUCED
            and layer.is_float
            and not layer.figures.lost_share
        )
        if not introduces or layer.value in looked_at or layer.value in suspects:
            continue
        origins = {origin.index for origin in model.nodes[layer.index].origins}
        nodes = (reference.nodes[at] for at in origins if 0 <= at < len(reference.nodes))
        among = {name for node in nodes for name in node.output_names}
        exact = reference.makers_of(layer.value, among)
        if exact is not None:
            suspects[layer.value] = Suspect(layer, exact)
    return [*suspects.values()][:_MOST]


def own_errors_of(
    suspects: Iterable[Suspect], runs: Iterable[Original]
) -> list[tuple[Suspect, OwnError]]:
    """Find those of `suspects` whose observed error is the original's own."""
    measured = {suspect.value: _Measured(suspect) for suspect in suspects}
    for run in runs:
        wanted = [measurement for measurement in measured.values() if measurement.judged]
        run.expect(Counter(name for measurement in wanted for name in measurement.names))
        for measurement in wanted:
            measurement.add(run)
            for name in measurement.names:
                run.release(name)
    errors = [(measurement.suspect, measurement.own_error()) for measurement in measured.values()]
    return [(suspect, error) for suspect, error in errors if error is not None]


class _Measured:
    """Distance of the original from the float64 run of a suspect.

    Attributes:
        names: values of the original that it takes.
        judged: False once there was no float64 run.
    """

    def __init__(self, suspect: Suspect) -> None:
        self.suspect = suspect
        self.names = (*suspect.nodes.reads, suspect.value)
        self.judged = True
        self._dtype = DType.FLOAT32
        self._measure: Measure | None = None

    def add(self, run: Original) -> None:
        values = {name: run.value(name) for name in self.names}
        there = {name: array for name, array in values.items() if array is not None}
        if len(there) < len(values):
            self.judged = False
            return
        value = there.pop(self.suspect.value)
        exact = run_in_float64(self.suspect.nodes, self.suspect.value, there, value)
        if exact is None:
            self.judged = False
            return
        self._dtype = DType.from_numpy(value.dtype)
        self._measure = self._measure or Measure(self._dtype)
        self._measure.add(value, exact)

    def own_error(self) -> OwnError | None:
        """The original's own error, where it is the error that is seen."""
        if not self.judged or self._measure is None:
            return None
        layer, own = self.suspect.layer, self._measure.figures()
        seen = own.rmse * INTRODUCED_FACTOR >= layer.figures.rmse  # false for NaN
        if not own.rmse or not seen:
            return None
        return OwnError(
            source=layer.source,
            source_op=layer.source_op,
            value=layer.value,
            dtype=self._dtype.value,
            original=own,
            seen=layer.figures,
        )


def with_own_errors(done: LayerComparison, errors: Sequence[OwnError]) -> LayerComparison:
    """Note `errors`, the original's own, in the comparison and at their layers."""
    if not errors:
        return done
    own = {error.value: error for error in errors}
    layers = tuple(replace(layer, own=own.get(layer.value)) for layer in done.layers)
    return replace(done, layers=layers, own_errors=tuple(errors))


def _roots(done: LayerComparison) -> set[int]:
    """Find the layers that introduced errors of failing layers and outputs, and their roots."""
    roots: set[int] = set()
    waiting = [*_shown_roots(done)]
    while waiting:
        at = waiting.pop()
        if at not in roots:
            roots.add(at)
            before = done.layers[at].before
            waiting += [] if before is None else [before]
    return roots


def _shown_roots(done: LayerComparison) -> set[int]:
    """Find the layers that introduced the errors of failing layers and outputs."""
    roots = {layer.root for layer in done.layers if layer.faults}
    for at in done.outputs.values():
        layer = done.layers[at]
        root = None if layer.root is None else done.layers[layer.root]
        if root is None:
            continue
        explained = _ROUNDINGS * _UNITS.get(root.dtype, _UNIT)
        if layer.error > explained or missed_figures(layer, done.targets):
            roots.add(layer.root)
    return {root for root in roots if root is not None}
