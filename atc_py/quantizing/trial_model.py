"""The outputs of a calibrated model with any set of its layers on int8, and each layer's own error."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from atc_py.pipeline.running.samples import Feeds
from atc_py.quantizing.executors import start_executor
from atc_py.quantizing.layers.measured import SwitchedForm, write_measured, write_switched
from atc_py.quantizing.switched_trials import (
    RunningModel,
    SwitchedModel,
    SwitchedTrial,
    run_trial,
    stored_sample,
)
from atc_py.results.output_error import ErrorFigures, ErrorSums

if TYPE_CHECKING:
    from atc_py.quantizing.calibrated import Calibrated
    from atc_py.quantizing.layers.qdq_nodes import Int8Layer
    from atc_py.system.jobs.task_executor import TaskExecutor


_CUT = 0.002
"""Seconds of runs for each node from which on they are in parts, which take some time to start."""


class TrialModel:
    """A calibrated model whose layers can be switched between floats and int8.

    The samples that judge it, and its outputs in floats, are in files.

    Attributes:
        seconds: mean processor time of a run in floats.
    """

    def __init__(self, found: Calibrated, samples: Iterable[Feeds], executor: str) -> None:
        """Start the model, and run it in floats."""
        model = found.qdq_model
        folder = Path(mkdtemp(dir=found.folder))
        path = found.folder / f"{folder.name}.onnx"
        forms = found.forms()
        switched = [SwitchedForm(at, off=None, on=form) for at, form in enumerate(forms.values())]
        write_switched(model, path, switched, len(forms))
        self.layers, self._nodes = tuple(forms), len(model.file.nodes)
        inputs = tuple(port.name for port in model.file.inputs)
        outputs = tuple(name for name in model.graph.outputs if name not in inputs)
        self._model = SwitchedModel(path, self.layers, inputs, outputs, executor)
        self._running = RunningModel(self._model)
        self._ready: dict[tuple[frozenset[str], int], dict[str, ErrorSums]] = {}
        stored, self.seconds = [], 0.0
        for at, feeds in enumerate(samples):
            began = time.process_time()
            wanted = self._running.outputs(feeds, (), at)
            self.seconds += time.process_time() - began
            stored.append(stored_sample(feeds, wanted, folder / f"sample{at}"))
        self._samples = tuple(stored)
        self.seconds /= max(len(stored), 1)

    def expect(self, runs: int) -> None:
        """Prepare for so many runs: long ones share what does not change."""
        if not self._model.is_cut and runs * self.seconds > _CUT * self._nodes:
            self._model = self._model._replace(is_cut=True)
            self._running.cut()

    def errors(self, on: Collection[str], count: int | None = None) -> dict[str, ErrorSums]:
        """The errors of the outputs with the layers `on` on int8, on the first `count` samples."""
        samples = self._samples[:count]
        ready = self._ready.pop((frozenset(on), len(samples)), None)
        return self._running.errors(on, samples) if ready is None else ready

    def make_ahead(
        self,
        tasks: TaskExecutor,
        sets: Iterable[Collection[str]],
        count: int | None = None,
        done: Callable[[int], object] = int,
    ) -> None:
        """Make trials at the same time, which `errors` then takes, unless the first is made already.

        One that fails is left to `errors`, which meets the failure itself.

        `sets` are the layers on int8 of each trial; `done` gets the number of trials that are done.
        """
        samples = self._samples[:count]
        keys = [*dict.fromkeys((frozenset(group), len(samples)) for group in sets)]
        if keys and keys[0] in self._ready:
            return
        wanted = [
            SwitchedTrial(self._model, key[0], samples) for key in keys if key not in self._ready
        ]
        for number, outcome in enumerate(tasks.map_unordered(run_trial, wanted), 1):
            if outcome.value is not None:
                self._ready[outcome.task.on, len(samples)] = outcome.value
            done(number)

    def figures(self, on: Collection[str]) -> dict[str, ErrorFigures]:
        return {name: error.figures() for name, error in self.errors(on).items()}

    def close(self) -> None:
        self._running.close()


def form_errors(
    calibrated: Calibrated,
    forms: Mapping[str, Sequence[Int8Layer]],
    samples: Iterable[Feeds],
    executor: str,
) -> dict[str, tuple[ErrorSums, ...]]:
    """The error that each int8 form of a layer makes at its result, for data as in floats."""
    model = calibrated.qdq_model
    path = calibrated.folder / "measured.onnx"
    names = write_measured(model, path, forms)
    inputs = [port.name for port in model.file.inputs]
    wanted = [n for sums in names.values() for n in (sums.signal, *sums.noise, *sums.power)]
    errors = {name: tuple(ErrorSums() for _ in forms[name]) for name in names}
    running = start_executor(executor, path, wanted, inputs)
    try:
        for feeds in samples:
            made = {name: float(array) for name, array in running.run(feeds).items()}
            for name, sums in names.items():
                pairs = zip(errors[name], sums.noise, sums.power, strict=True)
                for error, noise, power in pairs:
                    error.add_sums(made[sums.signal], made[noise], made[power])
    finally:
        running.close()
    return errors
