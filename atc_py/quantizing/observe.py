"""Runs of a float model over all samples, or over some: what the tensors that layers read hold."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from atc_py.diag import BAD_SAMPLE, Place
from atc_py.onnx_graph.folding.bind import observe_inputs
from atc_py.onnx_graph.reading.tensors import dtype_of_element, element_name
from atc_py.pipeline.running.model import Port
from atc_py.pipeline.running.samples import Feeds, Samples, checked, evenly
from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.checkpoint import Checkpoint
from atc_py.quantizing.executors import start_executor
from atc_py.quantizing.layers.float_model import FloatModel
from atc_py.system.signal_guard import undisturbed
from atc_py.tensor.shapes import Shape
from atc_py.text import Text


def no_progress(_stage: str) -> None:
    """Say nothing."""


class ChosenSamples:
    """Some of the samples, at even distances; one at a time is in memory."""

    def __init__(self, model: FloatModel, samples: Samples, most: int | None) -> None:
        """Choose at most so many samples; None for all."""
        self._ports, self._samples = ports_of_model(model), samples
        self._positions = evenly(samples.count, samples.count if most is None else most)
        self.count = len(self._positions)

    def __iter__(self) -> Iterator[Feeds]:
        for at, (_, feeds) in enumerate(checked(self._samples, self._ports)):
            if at in self._positions:
                yield feeds

    def first(self) -> Feeds:
        return next(iter(self))


def first_feeds(model: FloatModel, samples: Samples, most: int) -> list[Feeds]:
    ports = ports_of_model(model)
    return [feeds for _, feeds in islice(checked(samples, ports), most)]


_LONG = 100
"""Seconds from which on time left is given in minutes."""

_CALIBRATE = Text("calibrate")


def ports_of_model(
    model: FloatModel, shapes: Mapping[str, Shape] | None = None
) -> tuple[Port, ...]:
    """The inputs of a model; dims that it and `shapes` leave open are None."""
    results = []
    own = model.file
    observed = observe_inputs(own.path, own.inputs, shapes or {}, None, own.nodes)
    for port in model.file.inputs:
        dtype = dtype_of_element(port.element)
        if dtype is None or port.dims is None:
            kind = port.kind or f"{element_name(port.element)}, {port.label}"
            raise BAD_SAMPLE.error(
                Text(
                    "no sample can be made for input {name}, which is {kind}",
                    name=repr(port.name),
                    kind=kind,
                ),
                place=Place(str(model.file.path), field=Text("input {at}", at=port.name)),
            )
        results.append(Port(port.name, dtype, observed[port.name].dims or ()))
    return tuple(results)


def observe(
    model: FloatModel,
    names: Sequence[str],
    samples: Samples,
    choice: str,
    *,
    checkpoint: Checkpoint | None = None,
    tell: Callable[[str], None] = no_progress,
) -> tuple[Mapping[str, Histogram], str]:
    """The values of the tensors called `names` in all samples, and the name of the engine.

    Only samples that `checkpoint` lacks are run.
    """
    results = {name: Histogram() for name in names}
    done = 0 if checkpoint is None else checkpoint.load(results)

    def count(position: int, label: str, values: Mapping[str, NDArray[Any]]) -> None:
        places = {name: Place(label, field=Text("tensor {tensor}", tensor=name)) for name in values}
        if checkpoint is None:
            for name, array in values.items():
                results[name].add(array, places[name])
            return
        # What is written has whole samples, also where one is refused or the run is interrupted.
        own = {name: Histogram() for name in values}
        for name, array in values.items():
            own[name].add(array, places[name])
        with undisturbed():
            for name, form in own.items():
                results[name].merge(form)
            checkpoint.counted(position + 1)
        checkpoint.write_if_due(results)

    try:
        engine = run_samples(model, names, samples, choice, count, start=done, tell=tell)
    finally:
        if checkpoint is not None:
            checkpoint.write(results)
    return results, engine


def run_samples(  # noqa: PLR0913  (a run and its observers)
    model: FloatModel,
    names: Sequence[str],
    samples: Samples,
    choice: str,
    see: Callable[[int, str, Mapping[str, NDArray[Any]]], None],
    *,
    path: Path | None = None,
    start: int = 0,
    stage: Text = _CALIBRATE,
    tell: Callable[[str], None] = no_progress,
) -> str:
    """Run a model over samples, from position `start` on; return the name of the engine.

    `see` is called with position, label and values, those called `names`, of each sample; `path` is
    the file that runs in place of the model's, with the same inputs; `stage` names the run in the
    progress.
    """
    ports = ports_of_model(model)
    executor = start_executor(choice, path or model.file.path, names, [port.name for port in ports])
    began = time.monotonic()
    try:
        for position, (label, feeds) in enumerate(checked(samples, ports)):
            if position < start:
                continue
            spent = time.monotonic() - began
            tell(_progress(stage, position, samples.count, position - start, spent))
            see(position, label, executor.run(feeds))
    finally:
        executor.close()
    return executor.name


def _progress(stage: Text, position: int, count: int, done: int, seconds: float) -> Text:
    share = Text(
        "{stage}: sample {position} of {count}, {position_2} %",
        stage=stage,
        position=position + 1,
        count=count,
        position_2=100 * position // max(count, 1),
    )
    if not done:
        return share
    left = seconds / done * (count - position)
    if left < _LONG:
        return share + Text(", {n} s left", n=f"{left:.0f}")
    return share + Text(", {n} min left", n=f"{left / 60:.0f}")
