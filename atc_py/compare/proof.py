"""FixProof that a fixed model computes what the original does, as a whole and region by region.

Both run in the reference engine on the same random data. A region is what rules wrote in place of one
node of the original: it runs by itself on the values that the original has there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.compare.input_roles import input_roles
from atc_py.compare.inputs import fitting_feeds
from atc_py.compare.reference import Piece, ReferenceRun
from atc_py.compare.twin_values import TwinValues
from atc_py.tensor.shapes import closed_shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from atc_py.compare.reference import ReferenceModel
    from atc_py.fix.tidy.tidying import Twin
    from atc_py.running.model import Port

__all__ = ["FixProof", "Region", "ResultGap", "prove"]

Feeds = dict[str, "NDArray[Any]"]


@dataclass(frozen=True, slots=True)
class Region:
    """The nodes that were written in place of one node.

    Attributes:
        key: position of the node in the original file, and its name; nodes of branches have the
            position of the node that holds them.
        writes: names of all results of the new nodes.
    """

    key: tuple[int, str]
    writes: frozenset[str]


@dataclass(slots=True)
class ResultGap:
    """Largest difference between two values over all runs.

    Attributes:
        gap: largest difference; infinite for other dims or dtypes.
        scale: largest magnitude of the original over all runs.
        differing: elements that are not the same.
        elements: elements that were compared.
    """

    gap: float = 0.0
    scale: float = 0.0
    differing: int = 0
    elements: int = 0

    @property
    def error(self) -> float:
        """The largest difference as a part of the largest magnitude; 0 if nothing differs."""
        return self.gap / (self.scale or 1.0)

    def add(self, found: NDArray[Any], wanted: NDArray[Any]) -> None:
        """Compare one more pair; results of other dims or dtypes differ without bound."""
        self.elements += wanted.size
        if found.shape != wanted.shape or found.dtype != wanted.dtype:
            self.differing += wanted.size
            self.gap = float("inf")
            return
        finite = wanted[np.isfinite(wanted)] if wanted.dtype.kind == "f" else wanted
        self.scale = max(self.scale, float(np.abs(finite.astype(np.float64)).max(initial=0.0)))
        same = found == wanted
        if wanted.dtype.kind == "f":
            same |= np.isnan(found) & np.isnan(wanted)
        self.differing += int(wanted.size - np.count_nonzero(same))
        if same.all():
            return
        a, b = (each[~same].astype(np.float64) for each in (found, wanted))
        with np.errstate(invalid="ignore"):
            gap = np.abs(a - b).max()
        self.gap = max(self.gap, float("inf") if np.isnan(gap) else float(gap))


@dataclass(frozen=True, slots=True)
class FixProof:
    """Differences between a model and its fixed form.

    Attributes:
        seeds: of the data.
        outputs: by the name of each output.
        regions: by the place of the node that was replaced, where the original shows its values.
    """

    seeds: tuple[int, ...]
    outputs: Mapping[str, ResultGap]
    regions: Mapping[tuple[int, str], ResultGap]


def prove(  # noqa: PLR0913  (two models, and what they are fed)
    original: ReferenceModel,
    fixed: ReferenceModel,
    ports: Sequence[Port],
    regions: Sequence[Region],
    seeds: Iterable[int],
    bound: Mapping[str, NDArray[Any]],
    ranges: Mapping[str, tuple[int, int]],
    twins: Mapping[str, Sequence[Twin]],
) -> FixProof:
    """Run both models on random data that fit them; return the differences.

    Args:
        original: the model as it was read.
        fixed: the model as it was written.
        ports: the inputs with closed dims.
        regions: the regions of the fixed model.
        seeds: one run each.
        bound: data of inputs that are constants of the fixed model.
        ranges: bounds of integer inputs, both included, by name.
        twins: the values of the original that values of the fixed model stand for, by name.

    Raises:
        AtcError: REFERENCE_FAILED where neither engine runs one of the models.
    """
    roles = input_roles(original)
    outputs = {name: ResultGap() for name in fixed.outputs}
    pieces = {each.key: _piece(fixed, each) for each in regions}
    deviations: dict[tuple[int, str], ResultGap] = {}
    used = tuple(seeds)
    for seed in used:
        feeds = {**fitting_feeds(ports, roles, seed), **_within(ports, ranges, seed), **bound}
        first, second = ReferenceRun(original, feeds), ReferenceRun(fixed, feeds)
        names = [*outputs, *{n for piece in pieces.values() for n in (*piece.reads, *piece.writes)}]
        values = TwinValues(original, first, twins)
        values.expect(names)
        second.expect(dict.fromkeys(outputs, 1))
        for name, deviation in outputs.items():
            wanted, found = first.value(name), second.value(name)
            if wanted is not None and found is not None:
                deviation.add(found, wanted)
        for key, piece in pieces.items():
            for found, wanted in _region_values(fixed, piece, values):
                deviations.setdefault(key, ResultGap()).add(found, wanted)
    return FixProof(used, outputs, deviations)


def _within(ports: Sequence[Port], ranges: Mapping[str, tuple[int, int]], seed: int) -> Feeds:
    """Return data of the integer inputs with bounds; both bounds are among them."""
    found: Feeds = {}
    for position, port in enumerate(ports):
        if port.name not in ranges:
            continue
        low, high = ranges[port.name]
        drawn = np.random.default_rng([seed, position, 1]).integers(
            low, high, closed_shape(port.shape), endpoint=True
        )
        drawn.reshape(-1)[:1], drawn.reshape(-1)[1:2] = high, low
        found[port.name] = drawn.astype(port.dtype.numpy)
    return found


def _piece(fixed: ReferenceModel, region: Region) -> Piece:
    """Return the nodes of a region, what they read from around it and what others read of them."""
    nodes = [node for node in fixed.nodes if region.writes.intersection(node.output)]
    inside = {name for node in nodes for name in node.output if name}
    reads = dict.fromkeys(
        name
        for node in nodes
        for name in node.input
        if name and name not in inside and name not in fixed.constants
    )
    outside = {name for node in fixed.nodes if node not in nodes for name in node.input}
    needed = outside | set(fixed.outputs)
    return Piece(tuple(nodes), tuple(reads), tuple(name for name in inside if name in needed))


def _region_values(
    fixed: ReferenceModel, piece: Piece, run: TwinValues
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Yield pairs of results: those of a region on the original's values, and the original's."""
    feeds: Feeds = {}
    for name in piece.reads:
        value = run.value(name)
        if value is None:
            return
        feeds[name] = value
    wanted = {name: run.value(name) for name in piece.writes}
    if not wanted or any(each is None for each in wanted.values()):
        return
    found = fixed.run_alone(piece, feeds)
    for name, value in wanted.items():
        if value is not None and name in found:
            yield found[name], value
