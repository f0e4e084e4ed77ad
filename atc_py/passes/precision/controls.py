"""Users' choices for single nodes, operators, inputs and outputs besides the precision mode."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from atc_py.ir import Node
from atc_py.passes.precision.mix_lists import MixList, default_list
from atc_py.target.soc import SocFamily
from atc_py.tensor.dtypes import DType

_T = TypeVar("_T")


class Custom(msgspec.Struct, frozen=True):
    """Dtypes of a node's first inputs and outputs that must be taken as they are."""

    inputs: tuple[DType, ...] = ()
    outputs: tuple[DType, ...] = ()


class Controls(msgspec.Struct, frozen=True):
    """ATC's finer controls of precision.

    Nodes are named as in the ONNX file, and a fused node has the names of all that it came from.
    Operators are named as in the ONNX file or as the target has them.

    Attributes:
        keep_nodes: nodes that keep the model's dtypes.
        keep_types: operators that do.
        custom_nodes: dtypes by node.
        custom_types: dtypes by operator; a node's own come first.
        lists: the lists of the mixed modes that operators were added to.
        removed: the lists that they were removed from.
        fp16_inputs: model inputs that are fed as float16.
        outputs: dtypes of outputs by name; "" stands for all others.
        clip_weights: float weights that become narrower are clamped to finite values.
        allow_hf32: whether all float32 products of the cube are of HF32; None for the defaults.
        implementation_nodes: implementation modes by node.
        implementation_types: implementation modes by operator; a node's own come first.
    """

    keep_nodes: frozenset[str] = frozenset()
    keep_types: frozenset[str] = frozenset()
    custom_nodes: Mapping[str, Custom] = msgspec.field(default_factory=dict)
    custom_types: Mapping[str, Custom] = msgspec.field(default_factory=dict)
    lists: Mapping[str, MixList] = msgspec.field(default_factory=dict)
    removed: Mapping[str, MixList] = msgspec.field(default_factory=dict)
    fp16_inputs: frozenset[str] = frozenset()
    outputs: Mapping[str, DType] = msgspec.field(default_factory=dict)
    clip_weights: bool = True
    allow_hf32: bool | None = None
    implementation_nodes: Mapping[str, str] = msgspec.field(default_factory=dict)
    implementation_types: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def concern_nodes(self) -> bool:
        named = (self.keep_nodes, self.keep_types, self.custom_nodes, self.custom_types)
        return any(named)

    def keeps(self, node: Node) -> bool:
        by_name = any(origin.name in self.keep_nodes for origin in node.origins if origin.name)
        return by_name or not self.keep_types.isdisjoint(_types(node))

    def custom_of(self, node: Node) -> Custom | None:
        return _of(node, self.custom_nodes, self.custom_types)

    def implementation_of(self, node: Node) -> str | None:
        return _of(node, self.implementation_nodes, self.implementation_types)

    def implementation_by_name(self, node: Node) -> str | None:
        return _of(node, self.implementation_nodes, {})

    def implementation_by_type(self, node: Node) -> str | None:
        return _of(node, {}, self.implementation_types)

    def list_of(self, op: str, family: SocFamily) -> MixList:
        """The list that operator `op` is on for a SoC of `family`.

        What is removed from a list that it is not on stays where it is, as with ATC.
        """
        published = default_list(op, family)
        left = MixList.GRAY if self.removed.get(op) is published else published
        return self.lists.get(op, left)

    def moves(self, op: str) -> bool:
        return op in self.lists or op in self.removed

    def output_dtype(self, name: str) -> DType | None:
        return self.outputs.get(name) or self.outputs.get("")


def _of(node: Node, by_node: Mapping[str, _T], by_type: Mapping[str, _T]) -> _T | None:
    found = [by_node.get(origin.name) for origin in node.origins if origin.name]
    found += [by_type.get(name) for name in _types(node)]
    return next((each for each in found if each is not None), None)


def _types(node: Node) -> tuple[str, ...]:
    return (node.op, *(origin.op_type for origin in node.origins))
