"""What was finally written for each node: the part of the fixed model between what the node reads and makes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.compare.proof.region_data import OWN_RUN, DataSet, is_float
from atc_py.compare.proof.region_proof import RegionProof, RegionTest, run_drawn
from atc_py.compare.reference import ReferenceModel
from atc_py.compare.reference_run import ReferenceRun
from atc_py.diag import REFERENCE_FAILED
from atc_py.fix.fixed import Applied
from atc_py.fix.tidy.tidying import Twin
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.onnx_graph.running.piece import Piece, PieceSettings
from atc_py.tensor.shapes import format_shape
from atc_py.text import Text


class TwinValues:
    """Values of the original that those of a fixed model stand for."""

    def __init__(self, original: ReferenceModel, twins: Mapping[str, Sequence[Twin]]) -> None:
        """Take the original, and the twins that tidying made."""
        self._found: dict[str, Twin] = {}
        for name, several in twins.items():
            twin = next((twin for twin in several if original.is_there(twin.value)), None)
            if twin is not None and not original.is_there(name):
                self._found[name] = twin

    def __contains__(self, name: str) -> bool:
        """True for a value that stands for one of the original's."""
        return name in self._found

    def __iter__(self) -> Iterator[str]:
        """Yield the values that stand for others."""
        return iter(self._found)

    def source(self, name: str) -> str:
        """The original's name of a value."""
        return self._found[name].value if name in self._found else name

    def value(self, name: str, run: ReferenceRun) -> NDArray[Any] | None:
        """A value of the fixed model, as a run of the original has it; None if it has none.

        Raises:
            AtcError: REFERENCE_FAILED where the run gives it dims that contradict the types of the model.
        """
        value = run.value(self.source(name))
        relation = self._found[name].relation if name in self._found else None
        if value is None or relation is None:
            return value
        try:
            return relation.entered(value)
        except ValueError as error:
            raise REFERENCE_FAILED.error(
                Text(
                    "in the run of the original, {source} has the dims {shape}, which "
                    "contradict the types in the model",
                    source=repr(self.source(name)),
                    shape=format_shape(value.shape),
                )
            ) from error


_NARROW = 2
"""Bytes of a 16-bit float."""

_OPEN = 64
"""Regions whose engines wait for the next run of the original; beyond these they start again."""

Feeds = dict[str, "NDArray[Any]"]


@dataclass(slots=True, kw_only=True)
class FinalRegion(RegionTest):
    """One rewrite in the fixed model."""

    group: tuple[Applied, ...]
    twins: TwinValues
    waits: bool  # whether engines stay for the next run of the original
    _types: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = field(default_factory=dict)

    @property
    def reads(self) -> tuple[str, ...]:
        """The values of the original that the new form reads."""
        return tuple(dict.fromkeys((*self.after.reads, *self.before.reads)))

    @property
    def writes(self) -> tuple[str, ...]:
        """The results of the node that the original shows."""
        return self.after.writes

    @property
    def looked_at(self) -> Iterator[str]:
        """The values of the original that are looked at, once for each look."""
        return (self.twins.source(name) for name in (*self.reads, *self.writes))

    def prove_shown(self, run: ReferenceRun, made_by: Sequence[str]) -> None:
        """Run the new form on the values of a run of the original, and compare with that run."""
        reads = {name: self.twins.value(name, run) for name in self.reads}
        wanted = {name: self.twins.value(name, run) for name in self.writes}
        feeds = {name: value for name, value in reads.items() if value is not None}
        results = {name: value for name, value in wanted.items() if value is not None}
        # An engine computes 16-bit floats in wider ones: what overflows is not what the node read.
        if results and feeds.keys() >= {*self.after.reads} and not _overflowed(feeds.values()):
            types = {name: (array.dtype, array.shape) for name, array in feeds.items()}
            if types != self._types:
                self.close()  # An engine takes the dims that it was started with.
                self._types = types
            self.run_after(DataSet(OWN_RUN, feeds), results, made_by)
        for name in self.looked_at:
            run.release(name)
        if not self.waits:
            self.close()

    def prove_drawn(self, seeds: Sequence[int], visible: Feeds) -> None:
        """Run the node and its new form on drawn data, where the new form reads no other values."""
        step = self.group[0]
        self.close()
        if set(step.reads).issuperset(self.after.reads) and self.before.writes:
            run_drawn(self, step, seeds, visible)
        self.close()


def _overflowed(arrays: Iterable[NDArray[Any]]) -> bool:
    narrow = (array for array in arrays if is_float(array.dtype) and array.itemsize == _NARROW)
    return any(np.isinf(array.astype(np.float32)).any() for array in narrow)


class FinalRegions:
    """The rewrites of a fixed model.

    Attributes:
        regions: by rewrite; None where the fixed model does not show the node's results.
    """

    def __init__(
        self,
        original: ReferenceModel,
        fixed: ReferenceModel,
        groups: Sequence[tuple[Applied, ...]],
        proofs: Sequence[RegionProof],
        twins: Mapping[str, Sequence[Twin]],
    ) -> None:
        self._original = original
        self._fixed = fixed
        self._order = {node: at for at, node in enumerate(fixed.graph.nodes)}
        kept = {name for group in groups for name in group[0].writes}
        self._rules: dict[str, dict[str, float]] = {}
        for applied in (applied for group in groups for applied in group):
            for name in (name for node in applied.written for name in node.writes):
                self._rules.setdefault(name, {})[applied.rule.name] = applied.rule.limit
        self._new = self._rules.keys() - kept
        self._twins = TwinValues(original, twins)
        there = filter(fixed.graph.producer, self._twins)
        self._shown_as = {self._twins.source(name): name for name in there}
        self.regions = [
            self._region(group, proof, waits=at < _OPEN)
            for at, (group, proof) in enumerate(zip(groups, proofs, strict=True))
        ]

    def in_order(self) -> Iterator[FinalRegion]:
        """Yield the regions that a run of the original can show."""
        return (region for region in self.regions if region is not None)

    def awaited(self) -> Iterator[str]:
        """Yield the values that regions look at, once for each look."""
        for name in self.in_order():
            yield from name.looked_at

    def _region(
        self, group: tuple[Applied, ...], proof: RegionProof, *, waits: bool
    ) -> FinalRegion | None:
        step = group[0]
        shown = [name for name in step.writes if self._fixed.graph.producer(name)]
        # Values of the fixed model stand for results that it does not show.
        gone = {*step.writes}.difference(shown)
        writes = [*shown, *(self._shown_as[name] for name in gone if name in self._shown_as)]
        if not writes:
            return None
        nodes = self._nodes_between(set(step.reads), writes)
        file = self._fixed.file
        settings = PieceSettings(file.opsets, file.tensors)
        after = Piece(nodes, file.contents.weights, tuple(writes), settings)
        settings = PieceSettings(step.opsets, self._original.file.tensors)
        before = Piece(step.nodes, step.consts, tuple(shown), settings)
        limits = {applied.rule.name: applied.rule.limit for applied in group}
        for name in (name for node in nodes for name in node.writes):
            # What the node reads may have gone, so that rewrites before it belong to its region.
            limits.update(self._rules.get(name, {}))
        total = sum(limits.values())
        return FinalRegion(
            tuple(limits), total, before, after, proof,
            group=group, twins=self._twins, waits=waits,
        )  # fmt: skip

    def _nodes_between(self, reads: set[str], writes: Sequence[str]) -> list[OnnxNode]:
        """The nodes that make `writes` of what the original shows, producers first."""
        results: set[OnnxNode] = set()
        waiting = [*writes]
        while waiting:
            node = self._fixed.graph.producer(waiting.pop())
            if node is None or node in results:
                continue
            results.add(node)
            waiting += [name for name in node.reads if not self._ends_at(name, reads)]
        return sorted(results, key=self._order.__getitem__)

    def _ends_at(self, name: str, reads: set[str]) -> bool:
        """True for a value that the node reads, or that the original's own run shows."""
        if name in reads or name in self._twins:
            return True
        return name not in self._new and self._original.is_there(name)
