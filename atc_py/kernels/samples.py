"""Random data for the inputs of one node, and what the simulator makes of them."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.device.sim.kernel import Call, Rounding
from atc_py.device.sim.numerics import (
    carrier_dtype,
    from_carrier,
    is_rounded,
    round_to_grid,
    to_carrier,
)
from atc_py.dtypes import DType
from atc_py.emit.family import Sample, families

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from atc_py.device.sim.program import Step

__all__ = ["Case", "case_of", "expected_results", "summed_sizes"]

_SPAN = 16
"""Integers are drawn from [-16, 16), unsigned ones from [0, 16)."""

_ZEROS = 0.05
"""Share of floats that are 0."""


@dataclass(frozen=True, slots=True)
class Case:
    """One launch of a kernel.

    Attributes:
        step: the simulator's launch of the same node.
        inputs: by position, in their true dtypes; None where absent.
    """

    step: Step
    inputs: tuple[NDArray[Any] | None, ...]


def case_of(step: Step, constants: Mapping[int, NDArray[Any]], seed: int) -> Case:
    """Inputs for one node: its constants as they are, random data for the rest.

    The same seed gives a node the same data everywhere.
    """
    key = [seed, zlib.crc32(step.node.name.encode())]
    generator = np.random.default_rng(key)
    inputs: list[NDArray[Any] | None] = []
    for position, tensor in enumerate(step.inputs):
        if tensor < 0:
            inputs.append(None)
        elif tensor in constants:
            inputs.append(np.asarray(constants[tensor], order="C"))
        else:
            inputs.append(_drawn(step, position, generator))
    return Case(step, tuple(inputs))


def _drawn(step: Step, position: int, generator: np.random.Generator) -> NDArray[Any]:
    """Data for one input: what its family draws, or what fits its dtype."""
    node = step.node
    facts = node.required(position)
    shapes = tuple(None if each is None else each.shape for each in node.inputs)
    family = families().get(node.op)
    if family is not None:
        sample = Sample(node.op, node.attributes, shapes, position, facts.dtype)
        found = family.draw(sample, generator)
        if found is not None:
            return np.asarray(found, facts.dtype.numpy, order="C")
    return _plain(facts.dtype, facts.shape, generator)


def _plain(dtype: DType, shape: tuple[int, ...], generator: np.random.Generator) -> NDArray[Any]:
    """Floats around 0, some of them 0; small integers; fair bools."""
    if dtype is DType.BOOL:
        return generator.integers(0, 2, shape).astype(np.bool_)
    if dtype.is_float:
        values = generator.standard_normal(shape) * 2
        zeros = generator.random(shape) < _ZEROS
        return np.where(zeros, 0, values).astype(dtype.numpy)
    low = 0 if dtype.value.startswith("u") else -_SPAN
    return generator.integers(low, _SPAN, shape).astype(dtype.numpy)


def summed_sizes(case: Case) -> tuple[NDArray[Any], ...]:
    """Sizes of what is summed up to the results: the results of the inputs' magnitudes."""
    inputs = tuple(
        np.abs(array) if array is not None and facts is not None and facts.dtype.is_float else array
        for array, facts in zip(case.inputs, case.step.node.inputs, strict=True)
    )
    return expected_results(Case(case.step, inputs))


def expected_results(case: Case) -> tuple[NDArray[Any], ...]:
    """What the simulator's kernel makes of the inputs, in true dtypes."""
    step, node = case.step, case.step.node
    carriers = tuple(
        None if array is None or facts is None else to_carrier(array, facts.dtype)
        for array, facts in zip(case.inputs, node.inputs, strict=True)
    )
    outputs = tuple(np.zeros(each.shape, carrier_dtype(each.dtype)) for each in node.outputs)
    if any(output.size for output in outputs):
        with np.errstate(all="ignore"):
            step.kernel.run(Call(node, carriers, outputs))
            for each, output in zip(node.outputs, outputs, strict=True):
                if step.kernel.rounding is Rounding.BOUNDARY and is_rounded(each.dtype):
                    round_to_grid(output, each.dtype, output)
    with np.errstate(all="ignore"):
        return tuple(
            from_carrier(output, each.dtype)
            for output, each in zip(outputs, node.outputs, strict=True)
        )
