"""Steps of quantization judged by the model's outputs: parts are kept that do not make them worse.

What a step changes is on in some runs over a few samples and off in others. Where all parts
together make the outputs worse, the parts that promise most are tried by halves, and the set with
the least noise at the outputs is taken, which may be none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.quantizing.executors import start_executor
from atc_py.quantizing.layers.float_model import FloatModel
from atc_py.quantizing.layers.measured import SWITCHES
from atc_py.quantizing.layers.switched import SwitchedForm, write_switched
from atc_py.results.output_error import ErrorSums

Feeds = Mapping[str, NDArray[Any]]


JUDGED = 4
"""Samples on which steps are judged."""


class StepSamples:
    """The first samples, and what the float model makes of them.

    Attributes:
        outputs: names of the outputs.
        feeds: inputs of each sample; there are as many as of `wanted`.
        wanted: outputs of each sample.
    """

    def __init__(self, outputs: Sequence[str]) -> None:
        self.outputs = tuple(outputs)
        self.feeds: Sequence[Feeds] = ()
        self.wanted: list[dict[str, NDArray[Any]]] = []

    def see(self, values: Mapping[str, NDArray[Any]]) -> None:
        """Take in the outputs of a sample, unless there are enough."""
        if len(self.wanted) < JUDGED:
            self.wanted.append({name: np.array(values[name]) for name in self.outputs})


class KeptParts(msgspec.Struct, frozen=True):
    """The parts of a step that are kept.

    Attributes:
        kept: their positions.
        gain: by how much the noise at the outputs falls with them, in dB; None if there is none.
        whole_gain: the same with all parts.
    """

    kept: tuple[int, ...]
    gain: float | None
    whole_gain: float | None


def judged_outputs(model: FloatModel) -> list[str]:
    """The outputs by which a model is judged: those that nodes make."""
    inputs = {each.name for each in model.file.inputs}
    return [name for name in dict.fromkeys(model.graph.outputs) if name not in inputs]


class StepJudge:
    """A model in which parts of steps are switched on and off; use it in a `with` block."""

    def __init__(
        self,
        model: FloatModel,
        path: Path,
        forms: Sequence[SwitchedForm],
        count: int,
        samples: StepSamples,
        executor: str,
    ) -> None:
        """Write the model to `path` and start it.

        Args:
            model: the float model.
            path: the file, in the folder of the model.
            forms: layers on int8 with their switches.
            count: number of switches.
            samples: those that are run.
            executor: the engine.

        Raises:
            AtcError: what the executor raises.
        """
        write_switched(model, path, forms, count)
        self._samples, self._count = samples, count
        self._known: dict[frozenset[int], float] = {}
        names = [each.name for each in model.file.inputs]
        self._executor = start_executor(executor, path, list(samples.outputs), [*names, SWITCHES])

    def verdict(self, parts: Sequence[int]) -> KeptParts:
        """Return which of `parts` are kept, those that promise most first; the others are off.

        Raises:
            AtcError: what the executor raises.
        """
        return select_parts(parts, self._noise)

    def close(self) -> None:
        """Release the model."""
        self._executor.close()

    def __enter__(self) -> StepJudge:  # noqa: PYI034  (Self is not in Python 3.10)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _noise(self, on: Sequence[int]) -> float:
        """Noise to signal at the outputs with the parts `on`, summed up over outputs."""
        key = frozenset(on)
        if key not in self._known:
            switches = np.array([at in key for at in range(self._count)], np.bool_)
            sums: dict[str, ErrorSums] = {}
            for feeds, wanted in zip(self._samples.feeds, self._samples.wanted, strict=True):
                for name, array in self._executor.run({**feeds, SWITCHES: switches}).items():
                    if wanted[name].dtype.kind == "f":
                        sums.setdefault(name, ErrorSums()).add(array, wanted[name])
            self._known[key] = sum(each.noise for each in sums.values())
        return self._known[key]


def select_parts(parts: Sequence[int], noise_of: Callable[[Sequence[int]], float]) -> KeptParts:
    """The parts to keep: all, unless there is less noise without them, or with the first.

    Args:
        parts: positions of parts, those that promise most first.
        noise_of: returns the noise at the outputs with some parts on.
    """
    plain, whole = noise_of(()), noise_of(parts)
    tried = {tuple(parts): whole}
    size = len(parts) // 2
    while whole > plain and size:
        tried[tuple(parts[:size])] = noise_of(parts[:size])
        size //= 2
    tried[()] = plain
    kept = min(tried, key=lambda each: tried[each])
    return KeptParts(kept, _gain(plain, tried[kept]) if kept else None, _gain(plain, whole))


def _gain(before: float, after: float) -> float | None:
    """By how much noise falls, in dB; None where that is no number."""
    known = 0 < before < math.inf and 0 < after < math.inf
    return 10 * math.log10(before / after) if known else None
