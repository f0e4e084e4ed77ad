"""Runs of a switched model; each computes only what depends on a switch that changed.

onnxruntime runs the model in parts. The nodes of a part depend on the same switches, so that its
results are those of an earlier run on the sample in which these stood alike; what one form of a layer
alone needs is a part of its own, which runs where that form is chosen. The simulator computes both
forms, and keeps the results of nodes whose inputs are the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.compare.reference import ReferenceModel
from atc_py.device.sim.execution.kept_results import KeptResults
from atc_py.onnx_graph.folding.evaluate import DRAWN
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode, nodes_for
from atc_py.onnx_graph.reading.read import read_model
from atc_py.pipeline.running.samples import Feeds
from atc_py.quantizing.executors import Executor, engine_of, start_executor
from atc_py.quantizing.layers.measured import switch_name
from atc_py.results.output_error import ErrorSums

Form = tuple[str, bool]
"""One of two forms: the value that a switch chooses, and whether with the switch on."""


class SwitchedRuns:
    """A model with switches on its engine."""

    def __init__(
        self,
        choice: str,
        model: Path,
        switches: int,
        outputs: Sequence[str],
        inputs: Sequence[str],
        mark: str = "",
    ) -> None:
        """Open a model that atc-py wrote with so many switches; see `start_executor`."""
        self._kept = KeptResults()
        self._model, self._outputs, self._is_cut = model, outputs, engine_of(choice) != "ort"
        self._names = [switch_name(at) for at in range(switches)]
        names = [*inputs, *self._names]
        self._start = partial(start_executor, choice, model, outputs, names, mark, self._kept)
        self._whole: Executor | None = self._start()
        self._parts: _Parts | None = None
        self._shapes: dict[str, tuple[int, ...]] | None = None

    def cut(self) -> None:
        """Run in parts from now on, where the engine is onnxruntime and the model can be cut.

        It pays in many runs: parts start one by one. Each switch must choose one value.
        """
        if self._is_cut:
            return
        self._is_cut = True
        reference = ReferenceModel(read_model(self._model))
        drawn = any(
            node.op_type in DRAWN or (node.op_type == "Dropout" and any(node.input_names[2:]))
            for node in reference.graph.nodes
        )
        if reference.can_be_amended and not drawn:
            self.close()
            self._parts = _Parts(reference, self._names, self._outputs, self._kept)

    def run(self, feeds: Feeds, on: Collection[int], sample: int) -> dict[str, NDArray[Any]]:
        """The outputs with the switches `on`; other feeds have another number `sample`."""
        shapes = {name: array.shape for name, array in feeds.items()}
        fed = {**feeds, **{name: np.array(at in on) for at, name in enumerate(self._names)}}
        # Parts are made for inputs of one shape.
        if self._parts is not None and self._shapes in (None, shapes):
            self._shapes = shapes
            return self._parts.run(fed, sum(1 << at for at in on), sample)
        if self._whole is None:
            self._whole = self._start()
        return self._whole.run(fed)

    def errors(
        self, samples: Iterable[tuple[Feeds, Feeds]], on: Collection[int]
    ) -> dict[str, ErrorSums]:
        """The errors of floats among the outputs, over samples of inputs and wanted outputs."""
        self._kept.begin()
        results: dict[str, ErrorSums] = {}
        for at, (feeds, wanted) in enumerate(samples):
            for name, array in self.run(feeds, on, at).items():
                if name in wanted and wanted[name].dtype.kind == "f":
                    results.setdefault(name, ErrorSums()).add(array, wanted[name])
        return results

    def close(self) -> None:
        self._parts = None
        if self._whole is not None:
            self._whole.close()
            self._whole = None


class _Parts:
    """A model in parts, those that others read first."""

    def __init__(
        self,
        model: ReferenceModel,
        switches: Sequence[str],
        outputs: Sequence[str],
        kept: KeptResults,
    ) -> None:
        self._outputs, self._kept = outputs, kept
        bits = {name: 1 << at for at, name in enumerate(switches)}
        self._choices = _choices(model.graph, bits)
        groups = _groups(model.graph, bits, self._choices, outputs)
        self._switches = [switches for switches, _ in groups]
        self._model = model.cut([nodes for _, nodes in groups])

    def run(self, feeds: Feeds, on: int, sample: int) -> dict[str, NDArray[Any]]:
        """The outputs; bits of `on` are the switches that are on."""
        values, pieces = dict(feeds), self._model.pieces
        wanted = {self._chosen(name, on) for name in self._outputs}
        needed: list[tuple[int, bytes]] = []
        for at in reversed(range(len(pieces))):
            if wanted.isdisjoint(pieces[at].writes):
                continue
            key = b"%d %d %d" % (at, sample, on & self._switches[at])
            results = self._kept.find(key)
            if results is None:
                needed.append((at, key))
                wanted.update(self._chosen(name, on) for name in pieces[at].reads)
            else:
                values.update(zip(pieces[at].writes, results, strict=True))
        readers = Counter(self._chosen(name, on) for at, _ in needed for name in pieces[at].reads)
        readers.update(self._chosen(name, on) for name in self._outputs)
        for at, key in reversed(needed):
            reads = {name: self._chosen(name, on) for name in pieces[at].reads}
            made = self._model.run_piece(at, {name: values[own] for name, own in reads.items()})
            self._kept.keep(key, [made[name] for name in pieces[at].writes])
            values.update(made)
            readers.subtract(reads.values())
            for name in {*reads.values()}:
                if not readers[name]:
                    del values[name]
        return {name: values[self._chosen(name, on)] for name in self._outputs}

    def _chosen(self, name: str, on: int) -> str:
        """The value that stands for one that switches choose."""
        while name in self._choices:
            bit, forms = self._choices[name]
            name = forms[not on & bit]
        return name


Choices = Mapping[str, tuple[int, tuple[str, str]]]
"""By the value that a switch chooses: the switch's bit, and the value with it on and off."""


def _choices(graph: OnnxGraph, bits: Mapping[str, int]) -> Choices:
    return {
        node.writes[0]: (bits[node.input_names[0]], (node.input_names[1], node.input_names[2]))
        for node in graph.nodes
        if node.op_type == "Where"
        and node.input_names[0] in bits
        and all(graph.producer(name) for name in node.input_names[1:])
    }


def _groups(
    graph: OnnxGraph, bits: Mapping[str, int], choices: Choices, outputs: Sequence[str]
) -> list[tuple[int, list[OnnxNode]]]:
    """The switches that the nodes of each part depend on, and the nodes.

    What depends on no input, as weights that are dequantized, is computed in each part that needs
    it.
    """
    forms = _forms(graph, choices, outputs)
    shown = {*outputs, *(name for _, both in choices.values() for name in both)}
    moving, found = {*graph.inputs, *bits}, dict(bits)
    fixed: list[OnnxNode] = []
    groups: dict[tuple[int, Form | None], list[OnnxNode]] = {}
    for node in graph.nodes:
        if moving.isdisjoint(node.reads) and shown.isdisjoint(node.writes):
            fixed.append(node)
            continue
        moving.update(node.writes)
        switches = 0
        for name in node.reads:
            switches |= found.get(name, 0)
        found.update(dict.fromkeys(node.writes, switches))
        if node.writes[0] not in choices:
            groups.setdefault((switches, forms[node.writes[0]]), []).append(node)
    # A part reads those of fewer switches, and one for a form that of the same for all: as a switch
    # chooses one value, readers of that value depend on more switches than its forms do.
    order = sorted(groups, key=lambda group: (group[0].bit_count(), group[1] is not None))
    return [
        (
            group[0],
            [*nodes_for(fixed, (n for node in groups[group] for n in node.reads))[0]]
            + groups[group],
        )
        for group in order
    ]


def _forms(graph: OnnxGraph, choices: Choices, outputs: Sequence[str]) -> dict[str, Form | None]:
    """The form that alone needs a value; None where others do, too."""
    needs: dict[str, set[Form | None]] = {name: {None} for name in outputs}
    for node in reversed(graph.nodes):
        if node.writes[0] in choices:
            for name, on in zip(choices[node.writes[0]][1], (True, False), strict=True):
                needs.setdefault(name, set()).add((node.writes[0], on))
            continue
        own = {form for name in node.writes for form in needs.get(name, ())}
        form = own.pop() if len(own) == 1 else None
        for name in node.reads:
            needs.setdefault(name, set()).add(form)
        needs.update({name: {form} for name in node.writes})
    return {name: next(iter(own)) if len(own) == 1 else None for name, own in needs.items()}
