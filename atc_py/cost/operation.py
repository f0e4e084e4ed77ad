"""The cost model's view of a kernel: operators with their types and attributes, and data."""

from enum import Enum
from functools import cached_property

import msgspec

from atc_py.target import TargetOp
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape, element_count


class KernelEngine(Enum):
    """Engine of a kernel."""

    AICORE = "aicore"
    AICPU = "aicpu"


class Source(Enum):
    """Source or destination of a transfer's data.

    WEIGHTS: constants. FED: inputs and outputs of the model. RESULT: what kernels hand on.
    """

    WEIGHTS = "weights"
    FED = "fed"
    RESULT = "result"

    __hash__ = object.__hash__
    """Members are single objects; Enum's own hash is a call of Python for each look-up."""


class Tensor(msgspec.Struct, frozen=True):
    """A tensor's shape and element type, and what is stored of it."""

    shape: Shape
    dtype: DType
    # dims in memory with the padding of blocks; None where they are those of `shape`
    stored: Shape | None = None

    @property
    def elements(self) -> int:
        return element_count(self.shape)

    @property
    def stored_elements(self) -> int:
        return self.elements if self.stored is None else element_count(self.stored)

    @property
    def nbytes(self) -> int:
        """Bytes in memory; two elements of 4 bits share a byte."""
        return -(-self.stored_elements * self.dtype.bits // 8)


class Operation(msgspec.Struct, frozen=True, dict=True):
    """One target operator at work."""

    row: TargetOp
    inputs: tuple[Tensor | None, ...]  # by position, None where one is absent
    outputs: tuple[Tensor, ...]  # by position
    # (name, value) of those that the node carries, lists as tuples
    attributes: tuple[tuple[str, object], ...] = ()

    def __hash__(self) -> int:
        return hash((self.row.name, self.inputs, self.outputs, self.attributes))

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        return (*(tensor for tensor in self.inputs if tensor is not None), *self.outputs)

    def input(self, position: int) -> Tensor | None:
        return self.inputs[position] if position < len(self.inputs) else None

    def number(self, name: str, default: int) -> int:
        value = dict(self.attributes).get(name, default)
        return value if isinstance(value, int) else default

    def numbers(self, name: str) -> tuple[int, ...]:
        """An attribute that is a list of numbers; empty where it is absent."""
        value = dict(self.attributes).get(name, ())
        if not isinstance(value, tuple):
            return ()
        return tuple(each for each in value if isinstance(each, int))


class Transfer(msgspec.Struct, frozen=True):
    """Bytes that a kernel reads or writes once, at least."""

    nbytes: int
    source: Source


class LaunchGroup(msgspec.Struct, frozen=True, dict=True):
    """A kernel: operators that are launched together, the first of them the head.

    What the operators hand on among themselves stays in the buffers of the cores.
    """

    operations: tuple[Operation, ...]  # in order; views are left out
    engine: KernelEngine
    reads: tuple[Transfer, ...]  # data that come from outside the kernel
    writes: tuple[Transfer, ...]  # data that others read
