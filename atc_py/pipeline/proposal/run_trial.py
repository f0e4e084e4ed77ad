"""The trial of proposed dims by a run: of the original, and of what is compiled for them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.check.findings import Standing
from atc_py.diag import AtcError
from atc_py.onnx_graph.reading.contents import DeclaredInput
from atc_py.onnx_graph.reading.tensors import dtype_of_element
from atc_py.onnx_graph.running.piece import ENGINES, NotRunError
from atc_py.options.compile_options import CheckOptions, CompileOptions
from atc_py.pipeline.judging import Judgment
from atc_py.pipeline.padding_trial import is_mask, piece_of
from atc_py.pipeline.proposal.search import Ran
from atc_py.pipeline.running.feeds import random_array
from atc_py.tensor.shapes import element_count

Feeds = Mapping[str, npt.NDArray[Any]]

_MOST_WEIGHTS = 512 << 20
"""Bytes of weights up to which the original is run."""

_MOST_COMPILED = 64 << 20
"""Bytes of weights up to which the model is compiled and run on the simulator."""

_MOST_VALUES = 1 << 26
"""Elements that all nodes together may write."""

_MOST_RUNS = 12
"""Choices of dims that are run for one model."""


class RunTrial:
    """Runs of one file with chosen dims.

    Args:
        options: those of the check or the conversion for which dims are proposed.
    """

    def __init__(self, options: CheckOptions | CompileOptions) -> None:
        self._options = CompileOptions(
            soc=options.soc,
            precision_mode=options.precision_mode,
            op_specs=options.op_specs,
            precision=options.precision,
        )
        self._left = _MOST_RUNS

    def __call__(self, judgment: Judgment) -> Ran:
        """Run a file of which nothing is wrong with the dims that it states."""
        file = judgment.file
        piece = piece_of(file)
        weights = piece.constant_bytes
        if weights > _MOST_WEIGHTS or _written(judgment) > _MOST_VALUES:
            return Ran.NOT_TRIED
        if not self._left:
            return Ran.STOPPED
        self._left -= 1
        found = Ran.STOPPED
        for feeds in _samples(file.inputs):
            for engine in ENGINES:
                try:
                    results = piece.run(feeds, engine)
                except NotRunError:
                    continue
                found = min(found, _ending(results))
                break
            if found is Ran.WELL:
                return self._compiled(judgment, feeds) if weights <= _MOST_COMPILED else found
        return found

    def _compiled(self, judgment: Judgment, feeds: Feeds) -> Ran:
        """Compile a file that no rule refuses, and run it on the simulator."""
        from atc_py.device.sim.execution.session import SimModel
        from atc_py.package.reader import open_model
        from atc_py.pipeline.compile import compile_model

        if judgment.of(Standing.ERROR):
            return Ran.WELL
        try:
            with tempfile.TemporaryDirectory() as folder:
                om = Path(folder) / "trial.om"
                compile_model(
                    judgment.file.path, om, self._options, read=lambda _path: judgment.file
                )
                with open_model(om) as package:
                    ports = {port.name for port in package.description.inputs}
                    results = SimModel(package).run({n: feeds[n] for n in feeds if n in ports})
        except AtcError:
            return Ran.STOPPED
        return _ending(results)


def _written(judgment: Judgment) -> int:
    """Elements that nodes write; an open dim counts as 1."""
    return sum(
        element_count(dim for dim in value.dims if dim is not None)
        for node in judgment.model.all_nodes
        for value in node.outputs
        if value is not None and value.dims is not None
    )


def _samples(inputs: tuple[DeclaredInput, ...]) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Yield data for all inputs: integers are 1, then as large as the largest dim.

    The former are rows of any table, the latter the length of any sequence.
    """
    longest = max(
        (dim for each in inputs for dim in each.dims or () if isinstance(dim, int)), default=1
    )
    for integer in dict.fromkeys((1, longest)):
        feeds = {}
        for position, each in enumerate(inputs):
            dtype = dtype_of_element(each.element)
            if dtype is None or each.kind:
                return
            shape = tuple(dim if isinstance(dim, int) else 1 for dim in each.dims or ())
            if dtype.is_float and not is_mask(each):
                feeds[each.name] = random_array(dtype, shape, [0, position])
            else:
                value = 1 if is_mask(each) else integer
                feeds[each.name] = np.full(shape, value).astype(dtype.numpy)
        yield feeds


def _ending(results: Feeds) -> Ran:
    return Ran.WELL if all(map(_has_numbers, results.values())) else Ran.WITHOUT_NUMBERS


def _has_numbers(array: npt.NDArray[Any]) -> bool:
    """True for results with at least one number that is finite."""
    if not array.size or array.dtype.kind != "f":
        return bool(array.size)
    return bool(np.isfinite(array).any())
