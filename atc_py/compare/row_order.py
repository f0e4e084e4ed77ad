"""Outputs whose rows TopK orders: where scores are equal, or nearly so, their order is nobody's.

A row is what stands at one place of the axis that TopK gives the length K. Rows of all outputs with that axis
and the same dims before it move together: each row of the original takes the nearest of the other side, those
that are nearest at their own place first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.onnx_graph.graph import OnnxNode
from atc_py.onnx_graph.source import SourceModel
from atc_py.package.schema import OmModel

_MOST_ROWS = 2000
"""Rows of a set that are compared, each with each."""

Values = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class RowOrder:
    """Outputs that depend on a TopK, and how many rows these select."""

    outputs: frozenset[str] = frozenset()
    counts: frozenset[int] = frozenset()  # the numbers of rows

    @classmethod
    def of_source(cls, model: SourceModel) -> RowOrder:
        """That of a model, as far as its dims are known."""
        outputs = [tensor.name for tensor in model.outputs]
        pairs = [
            (node.inputs[0], node.outputs[0]) for node in model.nodes if node.op_type == "TopK"
        ]
        shapes = (
            (x.dims, y.dims)
            for x, y in pairs
            if x and y and x.dims is not None and y.dims is not None
        )
        nodes = (
            (node.op_type, [x.name for x in node.inputs if x], [y.name for y in node.outputs if y])
            for node in model.nodes
        )
        return cls(_after_top_k(nodes, outputs), _counts(shapes))

    @classmethod
    def of_compiled(
        cls, model: OmModel, nodes: Sequence[OnnxNode], outputs: Iterable[str]
    ) -> RowOrder:
        shapes = (
            (model.tensors[node.inputs[0]].shape, model.tensors[node.outputs[0]].shape)
            for node in model.nodes
            if node.op.startswith("TopK")
        )
        names = ((node.op_type, node.reads, node.writes) for node in nodes)
        return cls(_after_top_k(names, outputs), _counts(shapes))

    def moved(self, found: Values, wanted: Values) -> dict[str, NDArray[Any]]:
        """The outputs `found` whose rows stand elsewhere in `wanted`, in the order of these."""
        ordered = {name: array for name, array in found.items() if name in self.outputs}
        return _in_order_of(ordered, wanted, self.counts) if self.counts else {}


def _after_top_k(
    nodes: Iterable[tuple[str, Iterable[str], Iterable[str]]], outputs: Iterable[str]
) -> frozenset[str]:
    after: set[str] = set()
    for operator, reads, writes in nodes:
        if operator == "TopK" or not after.isdisjoint(reads):
            after.update(writes)
    return frozenset(after.intersection(outputs))


def _counts(shapes: Iterable[tuple[Sequence[int | None], Sequence[int | None]]]) -> frozenset[int]:
    """The numbers of rows selected, given the dims of TopK nodes' inputs and results."""
    counts: set[int] = set()
    for before, after in shapes:
        pairs = [*zip(before, after, strict=False)]
        changed = [dim for other, dim in pairs if other != dim] or [dim for _, dim in pairs[-1:]]
        counts.update(dim for dim in changed if dim)
    return frozenset(counts)


def _in_order_of(found: Values, wanted: Values, counts: Collection[int]) -> dict[str, NDArray[Any]]:
    sets: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for name, array in found.items():
        other = wanted.get(name)
        axis = next((at for at, dim in enumerate(array.shape) if dim in counts), None)
        if axis is not None and other is not None and other.shape == array.shape:
            sets[array.shape[: axis + 1]].append(name)
    moved: dict[str, NDArray[Any]] = {}
    for dims, names in sets.items():
        if not 1 < dims[-1] <= _MOST_ROWS:
            continue
        places = [
            _places(ours, theirs)
            for ours, theirs in zip(
                _rows(found, names, dims), _rows(wanted, names, dims), strict=True
            )
        ]
        if all((each == np.arange(dims[-1])).all() for each in places):
            continue
        for name in names:
            parts = found[name].reshape(len(places), dims[-1], -1)
            parts = np.stack([part[order] for part, order in zip(parts, places, strict=True)])
            moved[name] = parts.reshape(found[name].shape)
    return moved


def _rows(
    values: Values, names: Sequence[str], dims: tuple[int, ...]
) -> Iterator[NDArray[np.float64]]:
    """Yield the rows of all outputs side by side, one matrix for each set."""
    sets = int(np.prod(dims[:-1]))
    sides = [values[name].reshape(sets, dims[-1], -1).astype(np.float64) for name in names]
    yield from np.nan_to_num(np.concatenate(sides, axis=2))


def _places(found: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.intp]:
    order = np.arange(len(wanted))
    span = np.ptp(wanted, axis=0)
    ours, theirs = (side / np.where(span > 0, span, 1.0) for side in (found, wanted))
    gaps = np.stack([np.abs(ours - row).max(axis=1, initial=0.0) for row in theirs])
    stay = gaps.diagonal() <= gaps.min(axis=1)
    left = np.flatnonzero(~stay)
    gaps = gaps[np.ix_(left, left)]
    for _ in left:
        row, place = np.unravel_index(np.argmin(gaps), gaps.shape)
        order[left[row]] = left[place]
        gaps[row, :] = gaps[:, place] = np.inf
    return order
