"""Nodes of a launch: types by the device's own rules, constants, attributes as rows declare them."""

from collections.abc import Mapping, Sequence
from typing import Any

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
from atc_py.package.node_view import NodeError, NodeView, TensorFacts, read_attributes
from atc_py.package.schema import OmAttribute
from atc_py.pipeline.huawei.tensors import NotModeledError
from atc_py.target import find_operator
from atc_py.target.row import TargetOp
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
        """Add a node, and return its first result.

        Args:
            op: target operator.
            inputs: by position.
            attributes: by name.
            results: types of its results; by default what the device's rules say, stored like the
                first input where that is possible.
            name: of the first result.
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
        names = [
            each.format.value if each.storage is None else each.storage.format.value
            for each in (value.type, kind)
        ]
        return self.add(
            "TransData", [value], {"src_format": names[0], "dst_format": names[1]}, [kind]
        )

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
