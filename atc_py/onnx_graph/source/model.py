"""The source model: an ONNX graph as far as it is known before it is compiled.

Checking and lowering read the same objects: plain values, and nodes of the graph without what is of
protobuf in them. Types may be open
and data may be absent; lowering reads the facts of a tensor with `required_dtype`,
`required_dims`, `shape` and `rank`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeAlias

import msgspec

from atc_py.diag import INTERNAL, Diagnostic
from atc_py.options.compile_options import QuantBias
from atc_py.system.structs import Result
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import MAX_RANK, Dims, Shape, closed_shape, element_count
from atc_py.text import Text, verbatim

if TYPE_CHECKING:
    from atc_py.tensor.const_data import ConstData

FOLD_LIMIT = 256 * 2**20
"""Bytes that folding one node may read, and bytes that it may make; --max-memory may allow less."""

MOST_BYTES = 2**40
"""Bytes of a tensor; more than any device has, and few enough that sums of sizes stay in 64 bits."""


class BiasSource(Enum):
    """The source of a convention."""

    OPTION = "option"
    """The user's --quant-bias."""

    MARK = "mark"
    """The mark that atc-py leaves in the metadata of the files that it writes."""

    PRODUCER = "producer"
    """The producer atc-py in a file without the mark; its biases were folded before there was one."""

    ASSUMED = "assumed"
    """No source: other tools write biases as AMCT does."""


_REASONS = {
    BiasSource.OPTION: Text("by --quant-bias"),
    BiasSource.MARK: Text("stated in the file's metadata"),
    BiasSource.PRODUCER: Text(
        "an earlier atc-py wrote the file; otherwise give --quant-bias unfolded"
    ),
    BiasSource.ASSUMED: Text(
        "assumed: the file does not say, and AMCT writes them so; otherwise give "
        "--quant-bias folded"
    ),
}


class BiasConvention(Result, frozen=True):
    """The convention of biases that were read, and how it is known.

    Attributes:
        form: the convention.
        source: where it comes from.
    """

    form: QuantBias = msgspec.field(name="convention")
    source: BiasSource

    @property
    def text(self) -> Text:
        """`unfolded (stated in the file's metadata)` and the like."""
        return verbatim(self.form.value) + Text(" (") + _REASONS[self.source] + Text(")")


def form_of(convention: BiasConvention | None) -> QuantBias:
    """The convention of a graph; unfolded where no layer was int8 in the file."""
    return QuantBias.UNFOLDED if convention is None else convention.form


class Outcome(Enum):
    """Fate of a node of a quantized model."""

    INTEGER = "integer"
    """A layer that runs on int8."""

    FLOAT = "float"
    """A layer that runs on floats."""

    ROLLED_BACK = "rolled_back"
    """A layer on int8 that the SoC takes back to float16."""

    KEPT = "kept"
    """A node that stays as it is, because the device has no such form."""


class QuantizedNode(Result, frozen=True):
    """A node of a quantized model: a layer, or one that cannot be rewritten.

    Attributes:
        index: position in the file's graph, or in that of the branch, from 0.
        name: its name in the file, possibly empty.
        op_type: its operator in the file.
        outcome: what became of it.
        reason: why it is not on int8, without full stop; None where it is.
        help: what to do, where that is not what always is to be done for such an outcome.
        scope: the subgraph that it stands in, as in `SourceNode`; "" at the top.
        channels: of a convolution on int8, the channels of its data; None where unknown.
    """

    index: int = msgspec.field(name="node")
    name: str
    op_type: str = msgspec.field(name="operator")
    outcome: Annotated[
        Outcome, msgspec.Meta(extra_json_schema={"enum": [outcome.value for outcome in Outcome]})
    ]
    reason: Text | None = None
    help: Text | None = msgspec.field(name="_help", default=None)
    scope: str = msgspec.field(name="_scope", default="")
    channels: int | None = None


INTERNAL_PREFIX = "__"
"""Prefix of the names of a tool's own attributes: ONNX's checker passes them over."""

SourceAttr: TypeAlias = (
    "int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...] | ConstData"
)
"""An attribute of a node: tensors are constants, lists are tuples; a graph is `<graph>`."""

_BY_NAME = {dtype.value: dtype for dtype in DType}


def scope_name(branch: str, name: str, index: int, outer: str) -> str:
    """The name of a subgraph: its attribute, its node by name or position, the outer one."""
    label = f'"{name}"' if name else f"node {index}"
    return f"{branch} of {label}" + (outer and f", {outer}")


class SourceTensor(msgspec.Struct, frozen=True, eq=False):
    """A tensor of the source model."""

    name: str  # its name in the model
    element: str  # its element type by atc-py's or else ONNX's name; "" where it is not known
    dims: Dims | None  # its shape, None for an open dim; None where not even the rank is known
    const: ConstData | None = None  # its data where it is an initializer or was folded, else None
    # whether it is a function of shapes and constants alone, and so may be a constant once every
    # dim is known
    settles: bool = False
    holds: tuple[str, ...] = ()  # the tensors of the file whose codes it holds, under other names

    @property
    def dtype(self) -> DType | None:
        """The element type; None where it is not known, or not one that atc-py has."""
        return _BY_NAME.get(self.element)

    @property
    def is_open(self) -> bool:
        """True if a dim or the rank is not known."""
        return self.dims is None or None in self.dims

    @property
    def is_typed(self) -> bool:
        """True if dtype and rank are known and the target can have such a tensor."""
        dtype, dims = self.dtype, self.dims
        if dtype is None or dims is None:
            return False
        if self.const is not None:
            return True
        if len(dims) > MAX_RANK:
            return False
        return None in dims or element_count(closed_shape(dims)) * dtype.itemsize <= MOST_BYTES

    @property
    def required_dtype(self) -> DType:
        """The element type; INTERNAL if unknown: such models are refused before lowering."""
        if self.dtype is None:
            raise INTERNAL.error(Text('the element type of "{name}" is not known', name=self.name))
        return self.dtype

    @property
    def required_dims(self) -> Dims:
        """The dims, whose number must be known; else INTERNAL, for the same reason."""
        if self.dims is None:
            raise INTERNAL.error(Text('the rank of "{name}" is not known', name=self.name))
        return self.dims

    @property
    def shape(self) -> Shape:
        """The dims, all of them known; OpenShapeError where one is open.

        Raises:
            OpenShapeError: one of them is open.
            AtcError: INTERNAL; the rank is not known.
        """
        return closed_shape(self.required_dims)

    @property
    def rank(self) -> int:
        """Number of axes, which must be known.

        Raises:
            AtcError: INTERNAL; it is not known.
        """
        return len(self.required_dims)


class SourceNode(msgspec.Struct, frozen=True, eq=False):
    """A node of the source model."""

    index: int  # position in the file's graph, from 0; nodes of subgraphs have their outer node's
    name: str  # its name in the file, possibly empty
    op_type: str  # operator, as ONNX spells it
    domain: str  # "" for ONNX's own operators
    opset: int  # version that the model imports for the domain; 0 where it imports none
    since_version: int = 1  # version of the definition in force; 1 where ONNX does not define it
    # by position; None for an optional one that is absent
    inputs: tuple[SourceTensor | None, ...] = ()
    outputs: tuple[SourceTensor | None, ...] = ()  # by position; None for one that is not asked for
    # the ones that the file sets, by name
    attributes: Mapping[str, SourceAttr] = msgspec.field(default_factory=dict)
    scope: str = ""  # the subgraph that it stands in, `then_branch of "choose"`; "" at the top
    # names of the model's inputs that it depends on and whose shape is open
    open_inputs: tuple[str, ...] = ()
    # whether it may fold away, or nothing may need it, once every dim is known
    vanishes: bool = False
    # the graphs of an If by the names of their attributes
    branches: Mapping[str, SourceBranch] = msgspec.field(default_factory=dict)
    # operator of the file's node that a rule wrote it in place of; "" where none did
    replaces: str = ""

    @property
    def with_inner(self) -> Iterator[SourceNode]:
        """The node, then those of its branches."""
        yield self
        for branch in self.branches.values():
            for node in branch.nodes:
                yield from node.with_inner

    @property
    def tensors_read(self) -> Iterator[SourceTensor]:
        """The tensors that it and its branches take from around it."""
        yield from (tensor for tensor in self.inputs if tensor is not None)
        for branch in self.branches.values():
            made = {tensor for node in branch.nodes for tensor in node.outputs}
            inner = (tensor for node in branch.nodes for tensor in node.tensors_read)
            yield from (tensor for tensor in (*inner, *branch.outputs) if tensor not in made)


class SourceBranch(msgspec.Struct, frozen=True, eq=False):
    """A graph that a node runs or does not run."""

    # those left after folding, producers first; tensors that they take from around it are tensors
    # of the graph around it
    nodes: tuple[SourceNode, ...]
    outputs: tuple[SourceTensor, ...]  # the tensors that the branch returns, by position


class SourceModel(msgspec.Struct, frozen=True, eq=False):
    """A model that is read, typed and folded as far as it can be."""

    path: Path  # the file, as the user gave it; diagnostics name it
    name: str
    opsets: Mapping[str, int]  # imported version of each domain; "" is ONNX's own
    # the tensors that are fed at run time; initializers are not among them
    inputs: tuple[SourceTensor, ...]
    outputs: tuple[SourceTensor, ...]
    # the nodes that are left after folding, producers first; those of branches are in their nodes
    nodes: tuple[SourceNode, ...]
    file_nodes: int  # number of nodes in the file's graph, before folding
    weight_bytes: int = 0  # bytes of all initializers in the file, external ones included
    # the findings that ONNX's own rules are broken, or that something cannot be read
    faults: tuple[Diagnostic, ...] = ()
    # the findings that would be faults if the nodes concerned did not vanish
    doubts: tuple[Diagnostic, ...] = ()
    # the findings that show only in runs that take a branch of an If: shapes or types that
    # contradict each other inside of it
    branch_faults: tuple[Diagnostic, ...] = ()
    # of a model that came quantized, what became of its layers
    quantized: tuple[QuantizedNode, ...] = ()
    # of a model whose layers are int8 already, how their biases are read
    bias_convention: BiasConvention | None = None

    @property
    def all_nodes(self) -> tuple[SourceNode, ...]:
        """Every node, those of branches after their own."""
        if not any(node.branches for node in self.nodes):
            return self.nodes
        return tuple(inner for node in self.nodes for inner in node.with_inner)


class FileGraph(msgspec.Struct, frozen=True):
    """The graph of a file: every node as the file has it, and what is known of each value."""

    path: Path
    name: str
    producer: str  # name and version of the tool that wrote it
    opsets: Mapping[str, int]  # imported version of each domain
    inputs: tuple[str, ...]  # names of the values that are fed
    outputs: tuple[str, ...]  # names of the values that the model returns
    # producers first; they read what their subgraphs read, and have attributes as text
    nodes: tuple[SourceNode, ...]
    values: Mapping[str, SourceTensor]  # what is known of each value, by name
    constants: frozenset[str]  # names of the values whose data the file holds
    parameters: int  # elements of all constants of the file
    weight_bytes: int


class OpenDim(Result, frozen=True):
    """Dim that the model leaves open; axes whose dims have one name share it.

    Attributes:
        name: as the model names it; "" for one without a name.
        places: the inputs and axes that have it.
        rank: the rank of the first of these inputs.
    """

    name: str
    places: tuple[tuple[str, int], ...]
    rank: int

    @property
    def is_batch(self) -> bool:
        """True if it seems to count samples: it leads inputs of several axes."""
        return self.rank > 1 and any(axis == 0 for _, axis in self.places)


class Broken(NamedTuple):
    """A place of a file that breaks a rule of CANN's parser about whole models."""

    rule: str
    node: SourceNode | None = None  # the node; None for the model
    observed: Text = Text("")  # the value seen
    scope: str = ""  # the subgraph that the node stands in; "" at the top
    arguments: tuple[str, ...] = ()  # of CANN's own message
    field: str | None = None  # the part of the node or of the model
    deviates: bool = False  # whether parsing goes on, with another model than ONNX's
    foreign: tuple[str, ...] = ()  # of several imports, the other domains that nodes need
