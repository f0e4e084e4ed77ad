"""The trial of proposed dims by a run: of the original, and of what is compiled for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.check.findings import Standing
from atc_py.diag import AtcError
from atc_py.onnx_graph.reading.contents import DeclaredInput
from atc_py.onnx_graph.reading.tensors import dtype_of_element
from atc_py.onnx_graph.running.piece import is_short
from atc_py.options.compile_options import CheckOptions, CompileOptions
from atc_py.pipeline.judging import Judgment
from atc_py.pipeline.padding_trial import is_mask, piece_of, results_of
from atc_py.pipeline.proposal.search import Ran
from atc_py.pipeline.running.feeds import random_array
from atc_py.system.temp_folders import work_folder

Feeds = Mapping[str, npt.NDArray[Any]]

_MOST_COMPILED = 64 << 20
"""Bytes of weights up to which the model is compiled and run on the simulator."""

_MOST_RUNS = 12
"""Choices of dims that are run for one model."""


class RunTrial:
    """Runs of one file with chosen dims.

    Args:
        options: those of the check or the conversion for which dims are proposed.
        compiler: compiles a file.
    """

    def __init__(
        self, options: CheckOptions | CompileOptions, compiler: Callable[..., Any]
    ) -> None:
        self._compiler = compiler
        self._options = CompileOptions(
            soc=options.soc,
            precision_mode=options.precision_mode,
            op_specs=options.op_specs,
            precision=options.precision,
        )
        self._left, self._ran = _MOST_RUNS, False

    def __call__(self, judgment: Judgment) -> Ran:
        """Run a file of which nothing is wrong with the dims that it states.

        What may take long is not run: the first such choice ends the trials where none ran before,
        and counts as one that stopped where others did.
        """
        file = judgment.file
        piece = piece_of(file)
        inputs = {each.name: each.dims for each in file.inputs}
        if not self._left or not is_short(piece, inputs, judgment.model.all_nodes):
            self._left = self._left if self._ran else 0
            return Ran.STOPPED if self._ran else Ran.NOT_TRIED
        self._left -= 1
        self._ran = True
        found = Ran.STOPPED
        for feeds in _samples(file.inputs):
            results = results_of(piece, feeds)
            if results is not None:
                found = min(found, _ending(results))
            if found is Ran.WELL:
                small = piece.constant_bytes <= _MOST_COMPILED
                return self._compiled(judgment, feeds) if small else found
        return found

    def _compiled(self, judgment: Judgment, feeds: Feeds) -> Ran:
        """Compile a file that no rule refuses, and run it on the simulator."""
        from atc_py.device.sim.execution.session import SimModel
        from atc_py.package.reader import open_model

        if judgment.of(Standing.ERROR):
            return Ran.WELL
        compiled = False
        try:
            with work_folder() as folder:
                om = folder / "trial.om"
                file = judgment.file
                self._compiler(file.path, om, self._options, read=lambda _path: file, to_run=True)
                compiled = True
                with open_model(om) as package:
                    ports = {port.name for port in package.description.inputs}
                    results = SimModel(package).run({n: feeds[n] for n in feeds if n in ports})
        except AtcError:  # where dims compile, what remains are options for another model
            return Ran.STOPPED if compiled else Ran.WELL
        return _ending(results)


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
