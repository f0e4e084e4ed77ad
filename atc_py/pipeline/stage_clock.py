"""The time that each stage of a command takes."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from atc_py.results.conversion import Stage


class StageClock:
    """Keeps the time of each stage, summed up where it runs several times.

    Attributes:
        prefix: what stands before the names of stages where they are announced.
    """

    def __init__(self, on_stage: Callable[[str], None] | None) -> None:
        self.prefix = ""
        self._seconds: dict[str, float] = {}
        self._on_stage = on_stage

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages that ran, in the order of their first runs."""
        return tuple(Stage(*each) for each in self._seconds.items())

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time the block as stage `name`."""
        if self._on_stage is not None:
            self._on_stage(f"{self.prefix}{name}")
        started = time.perf_counter()
        yield
        taken = time.perf_counter() - started
        self._seconds[name] = self._seconds.get(name, 0.0) + taken
