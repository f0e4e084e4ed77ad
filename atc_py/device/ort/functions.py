"""Model-local functions: each distinct body of an operator is written once and called by name."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from onnx import AttributeProto, FunctionProto, NodeProto, helper

from atc_py.device.ort.body import OPSET, Body
from atc_py.device.ort.node import CompiledNode
from atc_py.target.row import AttributeValue
from atc_py.tensor.dtypes import DType

DOMAIN = "ascend"
"""Domain of the functions; their names are CANN's."""


class Functions:
    """The functions of a model.

    Operators have several bodies, because attributes and dtypes decide what nodes there are. The
    first has the operator's name alone, further ones are overloads `2`, `3`, ... of it.
    """

    def __init__(self) -> None:
        self._overloads: dict[str, dict[bytes, FunctionProto]] = {}

    def __iter__(self) -> Iterator[FunctionProto]:
        for overloads in self._overloads.values():
            yield from overloads.values()

    def call(
        self, node: CompiledNode, body: Body, operands: Sequence[str], results: Sequence[str]
    ) -> NodeProto:
        """A node that calls the function with `body`, which is written unless it is there.

        Args:
            node: what the body computes.
            body: the finished body; its inputs and outputs have their formal names.
            operands: names of the values for the body's inputs and repacked constants, in order.
            results: names for its results.
        """
        formal = [*body.inputs.values(), *(each.value for each in body.repacked)]
        names = sorted(node.attributes)
        function = helper.make_function(
            DOMAIN,
            node.op,
            formal,
            list(body.outputs),
            body.nodes,
            [helper.make_opsetid("", OPSET)],
            attributes=names,
            doc_string=node.row.summary,
        )
        overloads = self._overloads.setdefault(node.op, {})
        key = function.SerializeToString(deterministic=True)
        if key not in overloads:
            function.overload = str(len(overloads) + 1) if overloads else ""
            overloads[key] = function
        call = helper.make_node(node.op, operands, results, node.name, domain=DOMAIN)
        call.overload = overloads[key].overload
        call.attribute.extend(_attributes(node.attributes))
        return call


def _attributes(attributes: Mapping[str, AttributeValue]) -> Iterator[Any]:
    """Yield attributes of a target operator as ONNX writes them: a flag as 0 or 1, a dtype by name."""
    for name in sorted(attributes):
        value = attributes[name]
        if isinstance(value, DType):
            yield helper.make_attribute(name, value.value)
        elif isinstance(value, bool):
            yield helper.make_attribute(name, int(value))
        elif isinstance(value, tuple):
            floats = any(isinstance(each, float) for each in value)
            kind = AttributeProto.FLOATS if floats else AttributeProto.INTS
            yield helper.make_attribute(name, list(value), attr_type=kind)
        else:
            yield helper.make_attribute(name, value)
