"""Trials of a switched model: which layers are on int8, on which samples; in any process."""

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from atc_py.pipeline.running.samples import Feeds
from atc_py.pipeline.running.stored_array import StoredArray, stored_array
from atc_py.quantizing.switched_runs import SwitchedRuns
from atc_py.results.output_error import ErrorSums
from atc_py.system.process import limited_threads


class TrialSample(NamedTuple):
    """One sample."""

    feeds: Mapping[str, StoredArray]
    wanted: Mapping[str, StoredArray]  # its outputs in floats, as far as a file can hold them


def stored_sample(feeds: Feeds, wanted: Feeds, start: Path) -> TrialSample:
    """Write the arrays of a sample to files whose names begin with that of `start`."""
    kept = {name: array for name, array in wanted.items() if array.dtype.kind not in "OSU"}
    return TrialSample(_store(feeds, start, "feed"), _store(kept, start, "output"))


def _read(arrays: Mapping[str, StoredArray]) -> Feeds:
    return {name: array.read() for name, array in arrays.items()}


def _store(arrays: Feeds, start: Path, kind: str) -> dict[str, StoredArray]:
    return {
        name: stored_array(array, start.with_name(f"{start.name}-{kind}{at}.bin"))
        for at, (name, array) in enumerate(arrays.items())
    }


class SwitchedModel(NamedTuple):
    """A model whose layers can be switched between floats and int8."""

    path: Path
    layers: tuple[str, ...]  # names of the layers, in the order of its switches
    inputs: tuple[str, ...]  # names of its inputs, the switches not among them
    outputs: tuple[str, ...]  # names of the outputs that are compared
    executor: str  # the engine that runs it
    is_cut: bool = False  # whether onnxruntime runs it in parts


class SwitchedTrial(NamedTuple):
    """A set of layers to try."""

    model: SwitchedModel
    on: frozenset[str]  # names of the layers on int8
    samples: tuple[TrialSample, ...]


class RunningModel:
    """A switched model on its engine.

    The engine has one thread: with more, the order of additions, and so the last bits of its
    results, would depend on how many cores there are.
    """

    def __init__(self, model: SwitchedModel) -> None:
        """Start the engine, whose own files have names of this process."""
        self._layers = model.layers
        ports = model.outputs, model.inputs, f".{os.getpid()}"
        with limited_threads(1):
            self._runs = SwitchedRuns(model.executor, model.path, len(model.layers), *ports)
        if model.is_cut:
            self.cut()

    def cut(self) -> None:
        """Run in parts from now on, where that can be."""
        self._runs.cut()

    def outputs(self, feeds: Feeds, on: Collection[str], sample: int) -> dict[str, NDArray[Any]]:
        """The outputs of a sample, which has that number, with the layers `on` on int8."""
        with limited_threads(1):
            return self._runs.run(feeds, self._places(on), sample)

    def errors(self, on: Collection[str], samples: Iterable[TrialSample]) -> dict[str, ErrorSums]:
        """The errors of the outputs of floats on some samples, with the layers `on` on int8."""
        read = ((_read(sample.feeds), _read(sample.wanted)) for sample in samples)
        with limited_threads(1):
            return self._runs.errors(read, self._places(on))

    def close(self) -> None:
        self._runs.close()

    def _places(self, on: Collection[str]) -> list[int]:
        return [at for at, name in enumerate(self._layers) if name in on]


_RUNNING: dict[SwitchedModel, RunningModel] = {}
"""The model that this process ran last, for its next trial."""


def run_trial(trial: SwitchedTrial) -> dict[str, ErrorSums]:
    """The errors of a trial; the model stays on its engine."""
    running = _RUNNING.get(trial.model)
    if running is None:
        while _RUNNING:
            _RUNNING.popitem()[1].close()
        running = _RUNNING[trial.model] = RunningModel(trial.model)
    return running.errors(trial.on, trial.samples)
