"""An operator of a launch that is to be added to a graph."""

from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np

from atc_py.ir import TensorType, Value
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.package.ge.messages import GeAttributes
from atc_py.package.ge.pictures import AippValue
from atc_py.pipeline.huawei.building import LaunchBuilder
from atc_py.pipeline.huawei.tensors import NotModeledError, same_data
from atc_py.text import Text


class LaunchOperator(msgspec.Struct, frozen=True):
    """An operator to add to a graph."""

    type: str
    operands: Mapping[str, Value]  # what it reads, by input
    attributes: GeAttributes  # of the op, which are this operator's where it stands first
    results: Sequence[TensorType]  # types of what the launch writes
    is_head: bool
    is_last: bool
    node: OnnxNode | None  # of the network, where it is known
    # fields of the configuration of AIPP, of a launch that has it
    pictures: Mapping[str, AippValue] | None
    kernel: Callable[[], bytes]  # gives the binary that computes the launch
    assumptions: list[Text]  # takes a text for what was assumed

    @property
    def x(self) -> Value:
        if not self.operands:
            raise NotModeledError(Text("{op} reads nothing", op=self.type))
        return next(iter(self.operands.values()))

    @property
    def own_results(self) -> Sequence[TensorType] | None:
        """Types of its results; None of one whose result another operator of the launch takes."""
        return self.results if self.is_last else None

    def operand(self, name: str) -> Value:
        if name not in self.operands:
            raise NotModeledError(Text("{op} has no input {name}", op=self.type, name=name))
        return self.operands[name]


def vector(value: Value, builder: LaunchBuilder) -> Value:
    """A value of one axis: biases and slopes, whatever axes of length 1 the file gives them."""
    kind = value.type
    if len(kind.dims) == 1 and kind.storage is None:
        return value
    count = int(np.prod(kind.shape, dtype=np.int64))
    if value.const is not None:
        return builder.constant(value.name, same_data(value.const, (count,)))
    return builder.reshape(builder.stored(value, kind.with_storage(None)), (count,))
