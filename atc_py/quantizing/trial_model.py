"""The outputs of a calibrated model with any set of its layers on int8, and each layer's own error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.frontend.quantizing.measured import SWITCHES, write_measured
from atc_py.quantizing.executors import start_executor
from atc_py.results.output_error import ErrorSums

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from atc_py.frontend.quantizing.qdq_nodes import Int8Layer
    from atc_py.quantizing.calibrated import Calibrated
    from atc_py.results.output_error import ErrorFigures

    Feeds = Mapping[str, NDArray[Any]]

__all__ = ["TrialModel", "form_errors"]


class TrialModel:
    """A calibrated model whose layers can be switched between floats and int8.

    The outputs in floats are held for the samples that it was made for.
    """

    def __init__(self, found: Calibrated, samples: Sequence[Feeds], executor: str) -> None:
        """Start the model.

        Raises:
            AtcError: what the executor raises.
        """
        model = found.qdq_model
        path = found.folder / "switched.onnx"
        forms = {name: (form,) for name, form in found.forms().items()}
        write_measured(model, path, forms, switched=True)
        self.layers = tuple(forms)
        self._samples = samples
        inputs = [each.name for each in model.file.inputs]
        outputs = [name for name in model.graph.outputs if name not in inputs]
        self._executor = start_executor(executor, path, outputs, inputs)
        self._wanted = [self._run(each, ()) for each in samples]

    def errors(self, on: Collection[str], count: int | None = None) -> dict[str, ErrorSums]:
        """Return the errors of the outputs with the layers `on` on int8, on the first `count` samples.

        Raises:
            AtcError: what the executor raises.
        """
        found: dict[str, ErrorSums] = {}
        pairs = zip(self._samples[:count], self._wanted[:count], strict=True)
        for feeds, wanted in pairs:
            for name, array in self._run(feeds, on).items():
                if wanted[name].dtype.kind == "f":
                    found.setdefault(name, ErrorSums()).add(array, wanted[name])
        return found

    def figures(self, on: Collection[str]) -> dict[str, ErrorFigures]:
        """Return the figures of `errors` on all samples."""
        return {name: each.figures() for name, each in self.errors(on).items()}

    def close(self) -> None:
        """Release the model."""
        self._executor.close()

    def _run(self, feeds: Feeds, on: Collection[str]) -> dict[str, NDArray[Any]]:
        """Return the outputs with the layers `on` on int8."""
        switches = np.array([name in on for name in self.layers], np.bool_)
        return self._executor.run({**feeds, SWITCHES: switches})


def form_errors(
    found: Calibrated,
    forms: Mapping[str, Sequence[Int8Layer]],
    samples: Sequence[Feeds],
    executor: str,
) -> dict[str, tuple[ErrorSums, ...]]:
    """Return the error that each int8 form of a layer makes at its result, for data as in floats.

    Raises:
        AtcError: what the executor raises.
    """
    model = found.qdq_model
    path = found.folder / "measured.onnx"
    names = write_measured(model, path, forms)
    inputs = [each.name for each in model.file.inputs]
    wanted = [name for sums in names.values() for name in sums.names]
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
