"""Results of nodes that runs of like models share: what computes the same on the same runs once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.backend import LoadedModel
from atc_py.device.sim.execution.launch import Cost
from atc_py.device.sim.execution.program import Step
from atc_py.device.sim.execution.session import SimModel, Values
from atc_py.device.sim.kernel import Workspace
from atc_py.system.memory_limit import memory_limit

_MOST_BYTES = 256 << 20
_SHARE = 8
"""Part of the memory limit that results take at most."""

_ENTRY = 400
"""Bytes that an entry takes beside the elements of its arrays: key, tuples, headers; measured."""

Results = tuple["NDArray[Any]", ...]


class KeptResults:
    """Carriers of the results of nodes within a bound of bytes; the least recently used ones go first.

    A key is a digest of operator, types and attributes of a node and of the keys of what it reads, down
    to the data of constants and of what is fed: results of equal keys are equal in every bit.

    Attributes:
        seconds: of the last launch of a node, by the digest of its operator, types and attributes.
    """

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self.seconds: dict[bytes, float] = {}
        self._bound = self._most = min(most, memory_limit() // _SHARE)
        self._taken = 0
        self._results: dict[bytes, tuple[int, Results]] = {}
        self._model = 0

    def begin(self, left: int | None = None) -> int:
        """Begin with another model; what it uses or adds stays until the next one.

        Args:
            left: bytes of the memory limit that the model leaves, of which results take at most
                half; None for as many as before.

        Returns:
            The bytes that results may take beside it.
        """
        self._model += 1
        if left is not None:
            self._most = max(min(self._bound, left // 2), 0)
        self._make_room(0)
        return self._most

    def find(self, key: bytes) -> Results | None:
        _, results = self._results.pop(key, (0, None))
        if results is not None:
            self._results[key] = self._model, results
        return results

    def keep(self, key: bytes, arrays: Collection[NDArray[Any]]) -> None:
        """Keep copies of results, where those that this model does not use leave the room."""
        size = _size(arrays)
        if key in self._results or not self._make_room(size):
            return
        copies = tuple(array.copy() for array in arrays)
        for copy in copies:
            copy.flags.writeable = False
        self._taken += size
        self._results[key] = self._model, copies

    def _make_room(self, size: int) -> bool:
        while self._taken + size > self._most:
            oldest = next(iter(self._results), None)
            if oldest is None or self._results[oldest][0] == self._model:
                return False
            _, results = self._results.pop(oldest)
            self._taken -= _size(results)
        return True


def _size(arrays: Collection[NDArray[Any]]) -> int:
    return sum(array.nbytes for array in arrays) + _ENTRY


class SparingModel(SimModel):
    """A loaded model that runs the nodes whose results are wanted and not kept.

    All nodes run where one is late, may be left out, or draws numbers.

    Attributes:
        seen: positions of the tensors that the observer looks at.
    """

    seen: Collection[int] = ()

    def __init__(self, model: LoadedModel, kept: KeptResults) -> None:
        super().__init__(model, merged=False)
        self._kept = kept
        self._spares = not self._has_gates and not any(
            step.is_late or "seed" in step.node.attributes for step in self._program.steps
        )
        self.room.limit -= kept.begin(self.room.limit - self.room.planned if self._spares else 0)
        self._workspace = Workspace(self.room.scratch)
        self._facts = {step.index: _facts_key(step) for step in self._program.steps}

    def _launched(
        self, values: Values, observe: Callable[[int, NDArray[Any]], None] | None
    ) -> list[Cost]:
        if not self._spares:
            return super()._launched(values, observe)
        keys = self._keys(values)
        known, needed = self._split(keys)
        self._running = costs = []
        for step in self._program.steps:
            results = known.get(step.index)
            if step.index in needed:
                # Another node of this run may have computed the same.
                results = None if step.kernel.alias else self._kept.find(keys[step.index])
                if results is None:
                    costs.append(self._launched_and_kept(step, values, keys[step.index], observe))
                    continue
            seconds = self._kept.seconds.get(self._facts[step.index], 0.0)
            costs.append((seconds, [0] * len(step.outputs)))
            for tensor, array in zip(step.outputs, results or (), strict=False):
                values[tensor] = array
                if observe is not None:
                    observe(tensor, array)
        return costs

    def _launched_and_kept(
        self,
        step: Step,
        values: Values,
        key: bytes,
        observe: Callable[[int, NDArray[Any]], None] | None,
    ) -> Cost:
        """Launch a step, and keep its results and seconds; the results of an alias are its input's."""
        made: list[NDArray[Any]] = []

        def seen(tensor: int, array: NDArray[Any]) -> None:
            made.append(array)
            if observe is not None:
                observe(tensor, array)

        cost = self._observed(step, values, seen)
        self._kept.seconds[self._facts[step.index]] = cost[0]
        if not step.kernel.alias:
            self._kept.keep(key, made)
        return cost

    def _split(self, keys: dict[int, bytes]) -> tuple[dict[int, Results], set[int]]:
        """Kept results by step, and the steps that run, for what is looked at and returned."""
        wanted = {*self.seen, *self._program.outputs.values()}
        known: dict[int, Results] = {}
        needed: set[int] = set()
        for step in reversed(self._program.steps):
            if wanted.isdisjoint(step.outputs):
                continue
            results = None if step.kernel.alias else self._kept.find(keys[step.index])
            if results is None:
                needed.add(step.index)
                wanted.update(step.inputs)
            else:
                known[step.index] = results
        return known, needed

    def _keys(self, feeds: Values) -> dict[int, bytes]:
        members, tensors = self.description.members, self.description.tensors
        sources = {at: _fed_key(array) for at, array in feeds.items() if array is not None}
        for at in self._program.constants:
            sources[at] = members[tensors[at].member or ""].sha256.encode()
        keys: dict[int, bytes] = {}
        for step in self._program.steps:
            digest = hashlib.sha256(self._facts[step.index])
            for tensor in step.inputs:
                digest.update(sources[tensor] if tensor >= 0 else b"-")
            key = keys[step.index] = digest.digest()
            for at, tensor in enumerate(step.outputs):
                sources[tensor] = b"%d:" % at + key
        return keys


def _facts_key(step: Step) -> bytes:
    node = step.node
    facts = node.op, node.engine, node.inputs, node.outputs, sorted(node.attributes.items())
    return hashlib.sha256(repr(facts).encode()).digest()


def _fed_key(array: NDArray[Any]) -> bytes:
    head = f"{array.dtype.str}{array.shape}".encode()
    return hashlib.sha256(head + np.ascontiguousarray(array).tobytes()).digest()
