"""Small offline models in memory, and runs of single operators on the simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.backend import SimBackend
from atc_py.package.schema import (
    FORMAT,
    FORMAT_VERSION,
    OmAttribute,
    OmModel,
    OmNode,
    OmPort,
    OmTensor,
)
from atc_py.tensor.dtypes import DType

Array: TypeAlias = NDArray[Any]

Attributes: TypeAlias = "Mapping[str, OmAttribute | list[int] | list[float]]"
"""Attributes as tests write them; lists of one type are lists of numbers."""


INTEGERS = [dtype for dtype in DType if dtype.is_integer and dtype is not DType.INT4]
"""Those that arithmetic takes: of int4 there is only what AscendQuant makes."""


@dataclass(frozen=True)
class MemoryModel:
    """A LoadedModel whose constants are in memory, read-only as a file's would be."""

    description: OmModel
    arrays: Mapping[str, Array]

    def array(self, member: str) -> Array:
        return self.arrays[member]


@dataclass
class ModelBuilder:
    """Collects tensors, nodes and ports; every method that makes a tensor returns its position."""

    tensors: list[OmTensor] = field(default_factory=list)
    nodes: list[OmNode] = field(default_factory=list)
    inputs: list[OmPort] = field(default_factory=list)
    outputs: list[OmPort] = field(default_factory=list)
    arrays: dict[str, Array] = field(default_factory=dict)

    def tensor(self, dtype: str, shape: Sequence[int | None], member: str | None = None) -> int:
        name = f"t{len(self.tensors)}"
        self.tensors.append(OmTensor(name, dtype, [*shape], "ND", member))
        return len(self.tensors) - 1

    def input(self, name: str, dtype: str, shape: Sequence[int | None]) -> int:
        position = self.tensor(dtype, shape)
        self.inputs.append(OmPort(name, position))
        return position

    def constant(self, array: Array) -> int:
        member = f"weights/{len(self.arrays)}.npy"
        frozen = array.copy()
        frozen.flags.writeable = False
        self.arrays[member] = frozen
        return self.tensor(array.dtype.name, array.shape, member)

    def node(
        self,
        op: str,
        inputs: Sequence[int],
        outputs: Sequence[tuple[str, Sequence[int | None]]],
        attributes: Attributes | None = None,
    ) -> list[int]:
        positions = [self.tensor(dtype, shape) for dtype, shape in outputs]
        name = f"{op}_{len(self.nodes)}"
        made = cast("dict[str, OmAttribute]", dict(attributes or {}))
        self.nodes.append(OmNode(op, name, "aicore", list(inputs), positions, made, None, []))
        return positions

    def output(self, name: str, tensor: int) -> None:
        self.outputs.append(OmPort(name, tensor))

    def build(self) -> MemoryModel:
        description = OmModel(
            FORMAT,
            FORMAT_VERSION,
            "test",
            "model",
            "sim",
            {},
            self.inputs,
            self.outputs,
            self.tensors,
            self.nodes,
            {},
        )
        return MemoryModel(description, self.arrays)


def run_model(model: MemoryModel, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Return one run on a fresh device."""
    device = SimBackend()
    device.open()
    outputs = device.run(device.load(model), inputs)
    device.close()
    return outputs


def run_operator(
    op: str,
    inputs: Sequence[Array | None],
    outputs: Sequence[tuple[DType, Sequence[int]]],
    attributes: Attributes | None = None,
    constants: Sequence[int] = (),
) -> list[Array]:
    """Return the outputs of one operator; inputs at the positions `constants` become constants.

    The operator runs twice, with known and with open dims of its outputs: that must not matter.
    """
    results = _run_once(op, inputs, outputs, attributes, constants)
    if any(shape for _, shape in outputs) and op not in _UNSEEDED:
        opened = [(dtype, [None] * len(shape)) for dtype, shape in outputs]
        for result, late in zip(
            results, _run_once(op, inputs, opened, attributes, constants), strict=True
        ):
            np.testing.assert_array_equal(late, result)
            assert (late.dtype, late.shape) == (result.dtype, result.shape)
    return results


_UNSEEDED = {"RandomStandardNormal", "RandomUniform", "Multinomial", "NonMaxSuppressionV7"}
"""Operators that need not repeat themselves, and one that fills up what is declared."""


def _run_once(
    op: str,
    inputs: Sequence[Array | None],
    outputs: Sequence[tuple[DType, Sequence[int | None]]],
    attributes: Attributes | None,
    constants: Sequence[int],
) -> list[Array]:
    """Return the outputs of one operator with its output types as they are given."""
    builder, feeds, positions = ModelBuilder(), {}, []
    for index, array in enumerate(inputs):
        if array is None:
            positions.append(-1)
        elif index in constants:
            positions.append(builder.constant(array))
        else:
            positions.append(builder.input(f"x{index}", array.dtype.name, array.shape))
            feeds[f"x{index}"] = array
    types = [(dtype.value, list(shape)) for dtype, shape in outputs]
    made = builder.node(op, positions, types, attributes)
    for index, (position, (name, shape)) in enumerate(zip(made, types, strict=True)):
        builder.output(f"y{index}", position)
        if name in {"float16", "bfloat16"}:
            # the next node must read what a caller would see, not what was there before rounding
            (wide,) = builder.node(
                "Cast", [position], [("float32", shape)], {"dst_type": "float32"}
            )
            builder.output(f"wide{index}", wide)
    results = run_model(builder.build(), feeds)
    for index in range(len(made)):
        if f"wide{index}" in results:
            seen = results[f"y{index}"].astype(np.float32)
            np.testing.assert_array_equal(results[f"wide{index}"], seen)
    return [results[f"y{index}"] for index in range(len(made))]


def random_array(seed: int, shape: Sequence[int], dtype: DType = DType.FLOAT32) -> Array:
    """Return standard normal numbers in `dtype`, or small integers for an integer dtype."""
    generator = np.random.default_rng(seed)
    if dtype.is_integer:
        low = 0 if dtype.value.startswith("u") else -9
        return generator.integers(low, 10, shape).astype(dtype.numpy)
    return np.asarray(generator.standard_normal(shape)).astype(dtype.numpy)
