"""One run of the original model, in step with the compiled one, with every result available.

Pieces run when one of their results is asked for, once, on the results of those before them, so
all results can be seen and few are held. As many pieces run as one as make few bytes together: an
engine takes milliseconds to start.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from numpy.typing import NDArray

from atc_py.compare.reference import ReferenceModel
from atc_py.onnx_graph.running.piece import Piece

_JOINED_BYTES = 32 << 20
"""Bytes of results up to which pieces run as one."""

_GROWTH = 4
"""Times as many pieces may be joined next: what they make is expected from earlier ones."""

Results = dict[str, "NDArray[Any]"]


class ReferenceRun:
    """One run of the original; results are computed on demand."""

    def __init__(self, model: ReferenceModel, feeds: Mapping[str, NDArray[Any]]) -> None:
        self._model = model
        self._held = model.as_declared(feeds)
        self._next = 0
        self._awaited: Counter[str] = Counter()
        self._reads = Counter(name for piece in model.pieces for name in piece.reads)
        if model.amendment is not None:
            self._reads.update(name for reads in model.amendment.reads.values() for name in reads)
        self._most_joined = 1
        self.seconds = 0.0
        self.peak = self.total = sum(array.nbytes for array in self._held.values())

    def expect(self, names: Mapping[str, int]) -> None:
        self._awaited.update(names)

    def value(self, name: str) -> NDArray[Any] | None:
        const = self._model.made_constant(name)
        if const is not None:
            return const
        there = name in self._held or self._model.graph.producer(name) is not None
        while there and name not in self._held and self._next < len(self._model.pieces):
            self._run_next_pieces()
        return self._held.get(name)

    def output(self, name: str) -> NDArray[Any] | None:
        """The value of an output of the model, which may be one of its constants."""
        const = self._model.graph.consts.get(name)
        return self.value(name) if const is None else const.numpy()

    def release(self, name: str) -> None:
        self._awaited[name] -= 1
        self._drop(name)

    def _run_next_pieces(self) -> None:
        first = self._next
        started = time.perf_counter()
        made = self._results()
        self.seconds += time.perf_counter() - started
        self._held.update(made)
        nbytes = sum(array.nbytes for array in made.values())
        self.total += nbytes
        self.peak = max(self.peak, sum(array.nbytes for array in self._held.values()))
        ran = self._model.pieces[first : self._next]
        read = [name for piece in ran for name in piece.reads]
        self._reads.subtract(read)
        for name in (*made, *read, *self._put_amended(made)):
            self._drop(name)
        fit = _JOINED_BYTES * len(ran) // max(nbytes, 1)
        self._most_joined = max(1, min(_GROWTH * len(ran), fit))

    def _results(self) -> Results:
        """The results of the next pieces, as one or of the first alone."""
        first, model = self._next, self._model
        self._next, piece = self._joined()
        if piece is not None:
            made = model.run_joined(piece, {name: self._held[name] for name in piece.reads})
            if made is not None:
                return made
            self._next = first + 1
            model.joins[first] = self._next, None
        return model.run_piece(
            first, {name: self._held[name] for name in model.pieces[first].reads}
        )

    def _joined(self) -> tuple[int, Piece | None]:
        """The position after the next pieces that run as one, and these; None for one alone."""
        first, model = self._next, self._model
        if first not in model.joins:
            stop, weights = first + 1, model.pieces[first].constant_bytes
            amended = () if model.amendment is None else model.amendment.reads
            while stop < len(model.pieces) and stop - first < self._most_joined:
                weights += model.pieces[stop].constant_bytes
                ended = any(name in amended for name in model.pieces[stop - 1].writes)
                if ended or weights > model.weight_bytes:
                    break
                stop += 1
            model.joins[first] = stop, model.joined(first, stop) if stop > first + 1 else None
        return model.joins[first]

    def _put_amended(self, made: Collection[str]) -> list[str]:
        """Put amended values in place of those among `made`; return what they were computed from."""
        amendment = self._model.amendment
        read: list[str] = []
        if amendment is None:
            return read
        for name in made:
            if name in amendment.reads:
                feeds = {source: self._held[source] for source in amendment.reads[name]}
                self._held[name] = amendment.amended(name, self._held[name], feeds)
                self._reads.subtract([*feeds])
                read += feeds
        return read

    def _drop(self, name: str) -> None:
        if self._reads[name] <= 0 and self._awaited[name] <= 0:
            self._held.pop(name, None)
