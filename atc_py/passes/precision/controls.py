"""Users' choices for single nodes, operators, inputs and outputs besides the precision mode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from atc_py.diag import NO_BFLOAT16, NOT_IN_MODEL, Diagnostic, Place, nearest_of_many
from atc_py.ir import Node
from atc_py.onnx_graph.source import SourceModel
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.precision.mix_lists import MixList, default_list
from atc_py.target import Soc, socs
from atc_py.target.soc import SocFamily
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_T = TypeVar("_T")


class Custom(msgspec.Struct, frozen=True):
    """Dtypes of a node's first inputs and outputs that must be taken as they are."""

    inputs: tuple[DType, ...] = ()
    outputs: tuple[DType, ...] = ()


class NodeSettings(msgspec.Struct, Generic[_T], frozen=True):
    """Values for single nodes and for all nodes of an operator; those of a node come first.

    Nodes are named as in the ONNX file, and a fused node has the names of all that it came from.
    Operators are named as in the ONNX file or as the target has them.
    """

    nodes: dict[str, _T] = msgspec.field(default_factory=dict)
    types: dict[str, _T] = msgspec.field(default_factory=dict)

    @property
    def says_something(self) -> bool:
        return bool(self.nodes or self.types)

    def by_node(self, node: Node) -> _T | None:
        names = (origin.name for origin in node.origins if origin.name)
        return next((self.nodes[name] for name in names if name in self.nodes), None)

    def by_type(self, node: Node) -> _T | None:
        ops = (node.op, *(origin.op_type for origin in node.origins))
        return next((self.types[op] for op in ops if op in self.types), None)

    def of(self, node: Node) -> _T | None:
        if not self.says_something:
            return None
        own = self.by_node(node)
        return self.by_type(node) if own is None else own


class Controls(msgspec.Struct, frozen=True):
    """ATC's finer controls of precision."""

    keep: NodeSettings[bool] = msgspec.field(
        default_factory=NodeSettings
    )  # what keeps the model's dtypes
    custom: NodeSettings[Custom] = msgspec.field(
        default_factory=NodeSettings
    )  # dtypes that must be taken
    implementations: NodeSettings[str] = msgspec.field(
        default_factory=NodeSettings
    )  # implementation modes
    # the lists of the mixed modes that operators were added to
    lists: Mapping[str, MixList] = msgspec.field(default_factory=dict)
    # the lists that they were removed from
    removed: Mapping[str, MixList] = msgspec.field(default_factory=dict)
    fp16_inputs: frozenset[str] = frozenset()  # model inputs that are fed as float16
    # dtypes of outputs by name; "" stands for all others
    outputs: Mapping[str, DType] = msgspec.field(default_factory=dict)
    clip_weights: bool = True  # float weights that become narrower are clamped to finite values
    # whether all float32 products of the cube are of HF32; None for the defaults
    allow_hf32: bool | None = None

    @property
    def concern_nodes(self) -> bool:
        return self.keep.says_something or self.custom.says_something

    def keeps(self, node: Node) -> bool:
        return self.keep.of(node) is not None

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


_NEAREST = 3


class ModelNames(msgspec.Struct, frozen=True):
    """The names of a model's parts."""

    nodes: Mapping[str, Sequence[str]]  # outputs by node, as in the ONNX file
    types: frozenset[str]  # operators of the model; those of the target may be named as well
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @classmethod
    def of(
        cls,
        view: SourceModel,
        file_nodes: Iterable[tuple[str, Sequence[str]]],
        outputs: Iterable[str],
    ) -> ModelNames:
        """The names of a model with the outputs `outputs`, of which folding leaves `view`.

        `file_nodes` are names of the file's nodes, folded ones as well, with their outputs.
        """
        found: dict[str, Sequence[str]] = {node.name: () for node in view.all_nodes if node.name}
        found |= {name: results for name, results in file_nodes if name}
        own = {each for node in view.all_nodes for each in (node.op_type, node.replaces) if each}
        inputs = tuple(each.name for each in view.inputs)
        return cls(found, frozenset(own), inputs, tuple(outputs))


def unknown_name(kind: str, name: str, known: Iterable[str], place: Place) -> Diagnostic:
    near = nearest_of_many(name, known, _NEAREST)
    offered = ", ".join(map(repr, near))
    return NOT_IN_MODEL.diagnostic(
        Text("no {kind} is called {name}", kind=kind, name=repr(name)),
        place=place,
        help=Text("the nearest names are {near}", near=offered)
        if near
        else Text("the model has no named {kind}", kind=kind),
    )


def check_soc(mode: PrecisionMode, soc: Soc) -> None:
    if mode.is_bfloat16 and not soc.bfloat16:
        known = ", ".join(each.name for each in socs() if each.bfloat16)
        raise NO_BFLOAT16.error(
            Text("{mode} needs bfloat16, which {soc} does not have", mode=mode.value, soc=soc.name),
            place=Place(field="--precision-mode"),
            help=Text("SoCs with bfloat16 are {known}", known=known),
        )
