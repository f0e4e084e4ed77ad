"""Compiled models of one session: one for each set of shapes, the last few of them kept.

Any thread may ask for one. A model is compiled by one thread at a time, while runs of others go on;
a model that is dropped closes when its last run ends. In a forked process models are loaded anew
when they are first used: threads and locks of a device do not survive a fork.
"""

import os
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import RLock
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from atc_py.adapters.session.errors import load_error
from atc_py.diag import DEVICE_FAILED, AtcError, Diagnostic
from atc_py.pipeline.running.model import Model
from atc_py.tensor.shapes import Shape
from atc_py.text import Text

Array = npt.NDArray[Any]


Key: TypeAlias = "tuple[Shape, ...]"
"""Shapes of the inputs whose dims the model leaves open, in their order."""

_FAILURES = 64
"""Sets of shapes that did not compile and are remembered, so that they fail at once again."""


@dataclass(frozen=True, slots=True)
class ShapeCompilation:
    """Record of a compilation.

    Attributes:
        shapes: dims of the inputs whose dims the model leaves open, by name.
        seconds: time that it took, loading included.
        nbytes: memory that the model needs on the device: weights, values, workspace.
        warnings: findings of the compilation.
    """

    shapes: Mapping[str, Shape]
    seconds: float
    nbytes: int
    warnings: tuple[Diagnostic, ...] = ()


@dataclass(eq=False, slots=True)
class Built:
    """A model that was compiled and loaded."""

    model: Model  # the same on its device
    nbytes: int  # memory that it needs there
    warnings: tuple[Diagnostic, ...] = ()
    # element types of inputs to which options gave another than the model declares
    casts: Mapping[str, np.dtype[Any]] = field(default_factory=dict)
    users: int = 0  # runs that use it now
    forked: bool = False  # True if it was loaded before a fork, in the other process

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """Run once; floats take the type that the options of precision gave an input."""
        if self.casts:
            cast = {name: feeds[name].astype(dtype) for name, dtype in self.casts.items()}
            feeds = {**feeds, **cast}
        return self.model.run(feeds)


class CompiledModels:
    """The models of a session by shapes.

    Attributes:
        runs: number of runs so far, failed ones included.
        run_seconds: time of all of them, without compilation.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        build: Callable[[Mapping[str, Shape]], Built],
        keep: int,
        keep_memory: int,
    ) -> None:
        """Prepare an empty store for `keep` models in `keep_memory` bytes; the newest always stays."""
        self.compilations: list[ShapeCompilation] = []
        self.runs = 0
        self.run_seconds = 0.0
        self._names = names
        self._build = build
        self._keep = keep
        self._keep_memory = keep_memory
        self._models: OrderedDict[Key, Built] = OrderedDict()
        self._dropped: set[Built] = set()
        self._failures: OrderedDict[Key, AtcError] = OrderedDict()
        self._is_closed = False
        self._make_locks()
        _STORES.add(self)
        weakref.finalize(self, _close_all, self._models)

    def run(self, key: Key, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs of the model for those shapes; it is compiled if it is not there.

        Raises:
            AtcError: what compilation and run raise; DEVICE_FAILED where the session is closed.
        """
        kept = self._taken(key)
        started = perf_counter()
        try:
            return kept.run(feeds)
        finally:
            self._given_back(kept, perf_counter() - started)

    def prepare(self, key: Key) -> Model:
        """The model for those shapes, compiled if it is not there."""
        kept = self._taken(key)
        self._given_back(kept)
        return kept.model

    @property
    def kept(self) -> tuple[Mapping[str, Shape], ...]:
        """The shapes whose models are there, the one used last at the end."""
        with self._lock:
            return tuple(self._named(key) for key in self._models)

    @property
    def nbytes(self) -> int:
        """Memory that the kept models need."""
        with self._lock:
            return sum(each.nbytes for each in self._models.values())

    def close(self) -> None:
        """Drop all models; nothing runs any more."""
        with self._lock:
            self._is_closed = True
            for key in list(self._models):
                self._drop(key)

    def after_fork(self) -> None:
        """Take over the models in a process that was forked."""
        self._make_locks()
        self._dropped.clear()
        for kept in self._models.values():
            kept.users, kept.forked = 0, True

    def _make_locks(self) -> None:
        self._lock, self._building = RLock(), RLock()

    def _taken(self, key: Key) -> Built:
        kept = self._found(key)
        if kept is None:
            with self._building:
                kept = self._found(key) or self._built(key)
        if kept.forked:
            self._reload(kept)
        return kept

    def _reload(self, kept: Built) -> None:
        """Load a model of before a fork again."""
        try:
            with self._building:
                if kept.forked:
                    kept.model.reload()
                    kept.forked = False
        except BaseException:
            self._given_back(kept)
            raise

    def _found(self, key: Key) -> Built | None:
        """The model that is there for those shapes with one more user."""
        with self._lock:
            if self._is_closed:
                raise DEVICE_FAILED.error(
                    Text("the session is closed"), help=Text("make another session")
                )
            kept = self._models.get(key)
            if kept is not None:
                self._models.move_to_end(key)
                kept.users += 1
            return kept

    def _built(self, key: Key) -> Built:
        """Compile for those shapes, and drop models that there is no room for any more."""
        known = self._failures.get(key)
        if known is not None:
            raise load_error(known)
        shapes = self._named(key)
        started = perf_counter()
        try:
            built = self._build(shapes)
        except AtcError as error:
            self._failures[key] = load_error(error)
            while len(self._failures) > _FAILURES:
                self._failures.popitem(last=False)
            raise load_error(error) from error
        seconds = perf_counter() - started
        self.compilations.append(ShapeCompilation(shapes, seconds, built.nbytes, built.warnings))
        built.users = 1
        with self._lock:
            self._models[key] = built
            if self._is_closed:
                self._drop(key)
            while len(self._models) > 1 and self._is_over():
                self._drop(next(iter(self._models)))
        return built

    def _is_over(self) -> bool:
        total = sum(each.nbytes for each in self._models.values())
        return len(self._models) > self._keep or total > self._keep_memory

    def _drop(self, key: Key) -> None:
        kept = self._models.pop(key)
        if kept.users:
            self._dropped.add(kept)
        else:
            _close(kept)

    def _given_back(self, kept: Built, seconds: float | None = None) -> None:
        """Count one user less, after a run of so many seconds; a dropped model closes then."""
        with self._lock:
            if seconds is not None:
                self.runs += 1
                self.run_seconds += seconds
            kept.users -= 1
            if not kept.users and kept in self._dropped:
                self._dropped.remove(kept)
                _close(kept)

    def _named(self, key: Key) -> dict[str, Shape]:
        return dict(zip(self._names, key, strict=True))


_INHERITED: list[Model] = []
"""Models of before a fork. Their devices must not be released, which may wait for threads forever."""


def _close(kept: Built) -> None:
    """Release a model; one of before a fork belongs to the other process."""
    if kept.forked:
        _INHERITED.append(kept.model)
    else:
        kept.model.close()


def _close_all(models: OrderedDict[Key, Built]) -> None:
    for kept in models.values():
        _close(kept)


_STORES: weakref.WeakSet[CompiledModels] = weakref.WeakSet()
"""The stores of this process."""


def _after_fork() -> None:
    for store in list(_STORES):
        store.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
