"""Operators of a launch, and their nodes: types by the device's rules, attributes as rows declare them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from atc_py.device.sim.kernel import find_kernel
from atc_py.ir import (
    AttrValue,
    ConstData,
    DenseConst,
    Engine,
    Graph,
    Node,
    Origin,
    TensorType,
    Value,
)
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.package.ge.messages import GeAttributes
from atc_py.package.ge.pictures import AippValue
from atc_py.package.node_view import NodeError, NodeView, TensorFacts, read_attributes
from atc_py.package.schema import OmAttribute
from atc_py.pipeline.huawei.tensors import NotModeledError, same_data
from atc_py.target import find_operator
from atc_py.target.row import Attribute, TargetOp
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Shape
from atc_py.tensor.storage import why_impossible
from atc_py.text import Text, error_text

_RANKS = {4: Format.NCHW, 5: Format.NCDHW}

Inputs = Sequence[Value | None]
Attributes = Mapping[str, AttrValue]


class LaunchBuilder:
    """Adds the nodes of one launch to a graph.

    Attributes:
        made: the nodes of the launch so far.
        origins: of the nodes that are added next.
        name: of their results.
    """

    def __init__(self, graph: Graph, engine: Engine, name: str) -> None:
        """Begin a launch; values are called `name` unless they are given names of their own."""
        self.graph = graph
        self.made: list[Node] = []
        self.origins: tuple[Origin, ...] = ()
        self.name = name
        self._engine = engine

    def add(
        self,
        op: str,
        inputs: Inputs,
        attributes: Attributes | None = None,
        results: Sequence[TensorType] | None = None,
        name: str = "",
    ) -> Value:
        """Add a node, and return its first result, which gets the name.

        By default the types of results are what the device's rules say, stored like the first input
        where that is possible.
        """
        row = find_operator(op)
        if row is None:
            raise NotModeledError(Text("the arithmetic of {op} is not known", op=op))
        given = dict(attributes or {})
        implied = self._implied(row, inputs, given, results)
        if results is None:
            results = [_like(facts, inputs) for facts in implied]
        names = [name or self.name, *(f"{self.name}.{at}" for at in range(1, len(results)))]
        node = self.graph.add_node(
            op, inputs, list(zip(names, results, strict=True)), given, self.origins
        )
        node.engine = self._engine if row.launches_kernel else Engine.LOCAL
        self.made.append(node)
        return node.output

    def constant(self, name: str, data: ConstData, kind: TensorType | None = None) -> Value:
        kind = TensorType(data.dtype, data.shape) if kind is None else kind
        return Value(self.graph.fresh_name(name), kind, data)

    def reshape(self, value: Value, shape: Shape) -> Value:
        """A value, stored row by row, under another shape."""
        numbers = self.constant(f"{value.name}_shape", DenseConst(np.array(shape, np.int64)))
        kind = TensorType(value.type.dtype, shape)
        return self.add("Reshape", [value, numbers], {}, [kind])

    def stored(self, value: Value, wanted: TensorType) -> Value:
        """A value in the storage of a type; the same where it has that."""
        if value.type.storage == wanted.storage:
            return value
        kind = value.type.with_storage(wanted.storage)
        formats = {"src_format": format_name(value.type), "dst_format": format_name(kind)}
        return self.add("TransData", [value], formats, [kind])

    def _implied(
        self,
        row: TargetOp,
        inputs: Inputs,
        attributes: Attributes,
        results: Sequence[TensorType] | None,
    ) -> tuple[TensorFacts, ...]:
        """Types of results by the rules of the simulated device, which are those that are given."""
        kernel = find_kernel(row.name)
        if kernel is None:
            raise NotModeledError(Text("the arithmetic of {op} is not known", op=row.name))
        facts = tuple(None if value is None else _facts_of(value.type) for value in inputs)
        numbers: dict[int, Any] = {
            at: value.const.numpy()
            for at in row.numbers_at(len(inputs))
            if (value := inputs[at]) is not None and value.const is not None
        }
        try:
            stated = read_attributes(row, {key: _stated(each) for key, each in attributes.items()})
            given = tuple(_facts_of(kind) for kind in results or ())
            # Some rules look at the dtype of a result, which then is that of the first input.
            view = NodeView(
                row.name,
                self.name,
                self._engine.value,
                facts,
                given or tuple(each for each in facts if each is not None)[:1],
                stated,
                numbers,
            )
            implied = kernel.types(view)
        except (NodeError, ValueError) as error:
            raise NotModeledError(error_text(error)) from error
        if given and given != implied:
            found, wanted = (", ".join(map(str, each)) for each in (implied, given))
            text = Text("{op} gives {found}, but the file states {wanted}")
            raise NotModeledError(text.with_values(op=row.name, found=found, wanted=wanted))
        return implied


def format_name(kind: TensorType) -> str:
    return kind.format.value if kind.storage is None else kind.storage.format.value


def _facts_of(kind: TensorType) -> TensorFacts:
    return TensorFacts(kind.dtype, kind.dims)


def _stated(value: AttrValue) -> OmAttribute:
    if isinstance(value, DType):
        return value.value
    return list(value) if isinstance(value, tuple) else value


def _like(facts: TensorFacts, inputs: Inputs) -> TensorType:
    """A result's type: format and storage of the first input where the result can have them."""
    first = next((value.type for value in inputs if value is not None), None)
    if first is not None and len(first.dims) == len(facts.dims):
        storage = first.storage
        if storage is not None and why_impossible(facts.dims, first.format, storage) is not None:
            storage = None
        return TensorType(facts.dtype, facts.dims, first.format, storage)
    return TensorType(facts.dtype, facts.dims, _RANKS.get(len(facts.dims), Format.ND))


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


_DTYPES = {dtype.ge: dtype for dtype in DType}


def stated_attributes(
    row: TargetOp, attributes: GeAttributes, constants: Mapping[str, ConstData]
) -> dict[str, AttrValue]:
    """The attributes of a row as the file states them, in an attribute or in a constant operand."""
    stated: dict[str, AttrValue] = {}
    for declared in row.attributes:
        value: Any = attributes.get(declared.name)
        if value is None and declared.name in constants:
            array = constants[declared.name].numpy()
            value = (
                array.item() if array.size == 1 and array.ndim == 0 else array.reshape(-1).tolist()
            )
        converted = _converted(declared, value)
        if converted is not None:
            stated[declared.name] = converted
    return stated


def _converted(declared: Attribute, value: Any) -> AttrValue | None:
    """A value in the type that the row declares; None where it has no such form."""
    if isinstance(value, list | tuple):
        return _listed(declared, [item for item in value if isinstance(item, int | float)])
    kind = declared.type
    if kind == "dtype":
        return _DTYPES.get(value) if isinstance(value, int) else None
    if kind == "string":
        return value if isinstance(value, str) else None
    return _number(declared, value) if isinstance(value, int | float) else None


def _number(declared: Attribute, value: float) -> AttrValue | None:
    if declared.type in {"ints", "floats"}:
        return _listed(declared, [value])
    if declared.type == "bool":
        return bool(value)
    return int(value) if declared.type == "int" else float(value)


def _listed(declared: Attribute, numbers: list[int | float]) -> AttrValue | None:
    if declared.type == "ints":
        return tuple(map(int, numbers))
    if declared.type == "floats":
        return tuple(map(float, numbers))
    if len(numbers) == 1 and declared.type in {"int", "float", "bool"}:
        return _converted(declared, numbers[0])
    return None
