"""What a rule reads of a node and of the graph around it; each fact that lacks is a requirement."""

from collections.abc import Sequence
from math import prod
from typing import Any, cast

from numpy.typing import NDArray

from atc_py.fix import tables
from atc_py.fix.range_rules import Range
from atc_py.fix.ranges import Ranges
from atc_py.fix.unfit import require, skip_unless
from atc_py.ir import ConstData
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.tensors import TensorReader
from atc_py.onnx_graph.source import SourceNode, SourceTensor
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Dims, Shape, format_shape

MOST_NODES = 50_000
"""Nodes that a model may have after its loops are written out."""


class Surroundings:
    """The graph around the nodes of one round of rules.

    Attributes:
        graph: the graph, whose constants are known.
        tensors: reads the tensors of attributes.
        ranges: bounds of the integers in the graph.
    """

    def __init__(
        self,
        graph: OnnxGraph,
        tensors: TensorReader,
        ranges: Ranges,
        written: Sequence[OnnxNode] = (),
        made_bytes: int = 0,
    ) -> None:
        self.graph, self.tensors, self.ranges = graph, tensors, ranges
        self.taken: set[OnnxNode] = set()  # nodes that a rule replaces along with another one
        self.made_bytes = made_bytes  # bytes of the constants that rules have made
        self._written = written

    @property
    def room(self) -> int:
        return MOST_NODES - len(self._written)

    def known(self, name: str) -> NDArray[Any] | None:
        const = self.graph.consts.get(name)
        return None if const is None else const.numpy()

    def only_use(self, name: str) -> OnnxNode | None:
        """The only reader of a value.

        It is None if others read the value too, the model returns it, or the node is replaced
        already.
        """
        alone = self.graph.is_read_once(name)
        return next((use for use in self.graph.uses(name) if alone and use not in self.taken), None)


FLOATS = frozenset({DType.FLOAT16, DType.FLOAT32})
"""Floats that nearly every operator of the lists has."""


class ContextFacts:
    """A node of the model as a rule sees it. A fact that it does not have raises UnfitError.

    Attributes:
        looked_around: whether the rule has asked for more than the node: its graph, or the makers and
            ranges of its inputs.
    """

    def __init__(self, node: OnnxNode, around: Surroundings | None = None) -> None:
        self.node = node
        self.looked_around = False
        # the dtype of new scalars, where it is not that of the first input
        self.computes_in: DType | None = None
        self._surroundings = around

    @property
    def around(self) -> Surroundings:
        """The graph around the node; that of a node which is only restated is of no concern."""
        self.looked_around = True
        skip_unless(self._surroundings is not None)
        return cast("Surroundings", self._surroundings)

    def producer(self, name: str) -> OnnxNode | None:
        return self.around.graph.producer(name)

    # Tensors ------------------------------------------------------------------------------------

    def tensor(self, position: int) -> SourceTensor | None:
        inputs = self.node.inputs
        return inputs[position] if position < len(inputs) else None

    def input(self, position: int) -> SourceTensor:
        tensor = self.tensor(position)
        require(tensor is not None, "input {position} is present", position=position)
        return cast("SourceTensor", tensor)

    def name(self, position: int) -> str:
        tensor = self.tensor(position)
        return "" if tensor is None else tensor.name

    @property
    def names(self) -> list[str]:
        return [self.name(position) for position in range(len(self.node.inputs))]

    def present(self, *positions: int) -> list[str]:
        return [name for name in map(self.name, positions) if name]

    def output(self, position: int) -> SourceTensor | None:
        outputs = self.node.outputs
        return outputs[position] if position < len(outputs) else None

    def dims(self, position: int) -> Dims:
        """The dims of a required input of known rank; single ones may be open."""
        tensor = self.input(position)
        require(tensor.dims is not None, "the rank of {name} is known", name=tensor.name)
        return tensor.required_dims

    def shape(self, position: int) -> Shape:
        tensor = self.input(position)
        known = None if tensor.dims is None else format_shape(tensor.dims)
        require(not tensor.is_open, "the dims of {name} are known", found=known, name=tensor.name)
        return tensor.shape

    def constant(self, position: int) -> NDArray[Any]:
        const = self._const(position)
        tables.require_bytes(const.dtype.itemsize * prod(const.shape))
        return const.numpy()

    def _const(self, position: int) -> ConstData:
        tensor = self.input(position)
        require(tensor.const is not None, "{name} is constant", name=tensor.name)
        return cast("ConstData", tensor.const)

    @property
    def element(self) -> DType:
        """The dtype of the first input, or that of `computes_in`."""
        dtype = self.computes_in or self.input(0).dtype
        require(dtype is not None, "the dtype is known")
        return cast("DType", dtype)

    def floats(self, position: int, name: str = "") -> str:
        """The name of an input of a node on float16 or float32, as which `name` stands in words."""
        if name:
            require(
                self.element in FLOATS,
                "{name} is float16 or float32",
                found=self.element.value,
                name=name,
            )
        require(self.element in FLOATS, "the dtype is float16 or float32", found=self.element.value)
        return self.name(position)

    # Attributes ---------------------------------------------------------------------------------

    def integers(self, name: str, default: Sequence[int] = ()) -> tuple[int, ...]:
        value = self.node.attributes.get(name, tuple(default))
        whole = isinstance(value, tuple) and all(isinstance(number, int) for number in value)
        require(whole, "{name} is a list of integers", name=name)
        return cast("tuple[int, ...]", value)

    def integer(self, name: str, default: int) -> int:
        value = self.node.attributes.get(name, default)
        require(isinstance(value, int), "{name} is an integer", name=name)
        return cast("int", value)

    def flag(self, name: str, *, default: bool) -> bool:
        value = self.integer(name, int(default))
        require(value in {0, 1}, "{name} is 0 or 1", name=name)
        return bool(value)

    def axis(self, default: int, rank: int, name: str = "axis") -> int:
        """An attribute that is one of `rank` axes, counted from the first one."""
        value = self.integer(name, default)
        require(-rank <= value < rank, "{name} is one of the axes", found=value, name=name)
        return value % rank

    def number(self, name: str, default: float) -> float:
        value = self.node.attributes.get(name, default)
        require(isinstance(value, int | float), "{name} is a number", name=name)
        return float(cast("float", value))

    def text(self, name: str, default: str) -> str:
        value = self.node.attributes.get(name, default)
        require(isinstance(value, str), "{name} is text", name=name)
        return str(value)

    # The graph around ---------------------------------------------------------------------------

    def maker(self, tensor: SourceTensor | None) -> SourceNode | None:
        """The node that computes a tensor; None for inputs, constants and absent ones."""
        return None if tensor is None else self.producer(tensor.name)

    def range(self, position: int) -> Range | None:
        """Bounds of an integer input; None for other dtypes and absent inputs."""
        tensor = self.tensor(position)
        return None if tensor is None else self.around.ranges.of(tensor)

    def result_range(self, position: int = 0) -> Range | None:
        """Bounds of an integer output; None for other dtypes and absent outputs."""
        tensor = self.output(position)
        return None if tensor is None else self.around.ranges.of(tensor)

    def may_wrap(self, position: int = 0) -> bool:
        """True unless an integer output is known to fit its dtype before it is stored."""
        tensor = self.output(position)
        return tensor is None or self.around.ranges.may_wrap(tensor)
