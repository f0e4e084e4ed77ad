"""Random data for the inputs of one launch."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.execution.program import Step
from atc_py.kernels.family import InputSample
from atc_py.kernels.registry import families_of
from atc_py.package.node_view import TensorFacts
from atc_py.tensor.dtypes import DType

_SPAN = 16
"""Integers are drawn from [-16, 16), unsigned ones from [0, 16)."""

_ZEROS = 0.05
"""Share of floats that are 0."""


@dataclass(frozen=True, slots=True)
class SampledNode:
    """One node of a launch."""

    step: Step  # the simulator's launch of the node alone
    # by position, in their true dtypes; None where absent, or where the result so far goes in
    inputs: tuple[NDArray[Any] | None, ...]
    chained: tuple[int, ...]  # the positions of the result so far
    numbers: str  # how near its kernel's numbers are: exact, close or sums


@dataclass(frozen=True, slots=True)
class SampledLaunch:
    """One launch of a kernel: its operator, then its links."""

    parts: tuple[SampledNode, ...]

    @property
    def inputs(self) -> tuple[NDArray[Any], ...]:
        """Inputs that the kernel reads, in the order of its signature."""
        return tuple(array for part in self.parts for array in part.inputs if array is not None)

    @property
    def outputs(self) -> tuple[TensorFacts, ...]:
        return self.parts[-1].step.node.outputs


def case_of(
    kernel: Mapping[str, Any],
    steps: Sequence[Step],
    constants: Mapping[int, NDArray[Any]],
    seed: int,
) -> SampledLaunch:
    """Inputs for one launch: constants as they are, random data for the rest.

    The same seed gives a node the same data everywhere.

    `steps` are the simulator's launches of the nodes, one by one; `constants` are by number of the
    tensor.
    """
    ways = [
        (kernel["numbers"], ()),
        *((link["numbers"], link["reads"]) for link in kernel["links"]),
    ]
    parts = []
    for step, (numbers, reads) in zip(steps, ways, strict=True):
        key = [seed, zlib.crc32(step.node.name.encode())]
        generator = np.random.default_rng(key)
        chained = tuple(at for at, name in enumerate(reads) if name is None)
        inputs: list[NDArray[Any] | None] = []
        for position, tensor in enumerate(step.inputs):
            if tensor < 0 or position in chained:
                inputs.append(None)
            elif tensor in constants:
                inputs.append(np.asarray(constants[tensor], order="C"))
            else:
                inputs.append(_input_data(step, position, generator))
        parts.append(SampledNode(step, tuple(inputs), chained, numbers))
    return SampledLaunch(tuple(parts))


def _input_data(step: Step, position: int, generator: np.random.Generator) -> NDArray[Any]:
    """Data for one input: what its family draws, or what fits its dtype."""
    node = step.node
    facts = node.required(position)
    shapes = tuple(None if kind is None else kind.shape for kind in node.inputs)
    is_open = any(tensor.is_open for tensor in node.outputs)
    results = () if is_open else tuple(tensor.shape for tensor in node.outputs)
    for family in families_of(node.op)[:1]:  # those of one operator draw alike
        sample = InputSample(node.op, node.attributes, shapes, position, facts.dtype, results)
        drawn = family.draw(sample, generator)
        if drawn is not None:
            return np.asarray(drawn, facts.dtype.numpy, order="C")
    return _plain_values(facts.dtype, facts.shape, generator)


def _plain_values(
    dtype: DType, shape: tuple[int, ...], generator: np.random.Generator
) -> NDArray[Any]:
    """Floats around 0, some of them 0; small integers; fair bools."""
    if dtype is DType.BOOL:
        return generator.integers(0, 2, shape).astype(np.bool_)
    if dtype.is_float:
        values = generator.standard_normal(shape) * 2
        zeros = generator.random(shape) < _ZEROS
        return np.where(zeros, 0, values).astype(dtype.numpy)
    low = 0 if dtype.value.startswith("u") else -_SPAN
    return generator.integers(low, _SPAN, shape).astype(dtype.numpy)
