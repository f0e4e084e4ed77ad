"""What a file's graph holds: declared types, initializers, and names that keep ONNX's rules.

The rules are structural: one producer for every value, no cycle, names that exist.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from sys import intern

import msgspec
from onnx.onnx_pb import GraphProto, TensorProto, TypeProto, ValueInfoProto

from atc_py.diag import BAD_MODEL, BAD_TENSOR, AtcError, Place, Sink
from atc_py.ir import ConstData, CycleError, producers_first
from atc_py.onnx_graph.graph import OnnxNode, ValueType
from atc_py.onnx_graph.reading.nodes import text_of
from atc_py.onnx_graph.reading.tensors import (
    TensorReader,
    dtype_of_element,
    element_name,
    element_of_dtype,
    size_complaint,
    tensor_shape,
)
from atc_py.tensor.shapes import Shape, element_count, format_shape
from atc_py.text import Text


class DeclaredInput(msgspec.Struct, frozen=True):
    """A graph input as the file declares it."""

    name: str
    element: int  # ONNX's number of its element type, 0 where none is given
    # an int for a fixed dim, the dimension's name (often "") for an open one; None where not even
    # the rank is given
    dims: tuple[int | str, ...] | None
    kind: str = ""  # its kind if it is not a tensor: sequence, map, optional ...

    @property
    def label(self) -> str:
        """The shape as people write it, `Nx3x?x?` for instance."""
        if self.dims is None:
            return "of unknown rank"
        return "x".join(str(dim) or "?" for dim in self.dims) or "scalar"

    def fits(self, shape: Shape) -> bool:
        if self.dims is None:
            return True
        return len(self.dims) == len(shape) and all(
            isinstance(dim, str) or dim == given
            for dim, given in zip(self.dims, shape, strict=True)
        )


def declared_input(value: ValueInfoProto, place: Place) -> DeclaredInput:
    """`value` as a graph input; negative dims, which some exporters write, are open."""
    name = text_of(value.name, place)
    kind = value.type.WhichOneof("value")
    if kind not in {None, "tensor_type"}:
        label = str(kind).removesuffix("_type").replace("_", " ")
        return DeclaredInput(name, 0, None, label)
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return DeclaredInput(name, tensor.elem_type, None)
    dims: list[int | str] = []
    for dim in tensor.shape.dim:
        fixed = dim.HasField("dim_value") and dim.dim_value >= 0
        dims.append(dim.dim_value if fixed else text_of(dim.dim_param, place))
    return DeclaredInput(name, tensor.elem_type, tuple(dims))


def type_of_proto(proto: TypeProto) -> ValueType | None:
    """The type of a tensor that a TypeProto states; None for sequences, maps and the like."""
    if proto.WhichOneof("value") != "tensor_type":
        return None
    tensor = proto.tensor_type
    if not tensor.HasField("shape"):
        return ValueType(tensor.elem_type, None)
    dims = tuple(
        dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else None
        for dim in tensor.shape.dim
    )
    return ValueType(tensor.elem_type, dims)


class Contents(msgspec.Struct):
    """The tensors of a graph."""

    weights: dict[str, ConstData] = msgspec.field(default_factory=dict)  # initializers by name
    # types of initializers that cannot be held; an error only where one is used
    foreign: dict[str, ValueType] = msgspec.field(default_factory=dict)
    # names of all initializers, one for each, so that one may stand twice
    names: list[str] = msgspec.field(default_factory=list)
    weight_bytes: int = 0  # bytes of initializers and of the tensors of Constant nodes


def locate_contents(
    graph: GraphProto, nodes: Iterable[OnnxNode], tensors: TensorReader, path: Path
) -> Contents:
    """The places of the data of all tensors of `graph`, whose `nodes` are in the file's order.

    An AtcError has every finding about a tensor: BAD_TENSOR, EXTERNAL_DATA_MISSING,
    EXTERNAL_DATA_OUTSIDE; BAD_MODEL for sparse initializers.
    """
    locator = _Locator(tensors, path)
    for tensor in graph.initializer:
        locator.initializer(tensor)
    without: set[bytes] = set()  # what nodes without tensors state
    for index, node in enumerate(nodes):
        if node.stated in without:
            continue
        held = [attribute.t for attribute in node.proto.attribute if attribute.HasField("t")]
        for tensor in held:
            place = Place(str(path), index, node.name, node.op_type)
            locator.attribute(tensor, place, is_weight=node.op_type == "Constant")
        if node.stated and not held:
            without.add(node.stated)
    for sparse in graph.sparse_initializer:
        name = text_of(sparse.values.name, Place(file=str(path)))
        locator.refuse_sparse(name)
    locator.sink.raise_errors()
    return locator.contents


class _Locator:
    """Gathers the contents of one graph, and their faults."""

    def __init__(self, tensors: TensorReader, path: Path) -> None:
        self._tensors = tensors
        self._path = path
        self.contents = Contents()
        self.sink = Sink()

    def initializer(self, tensor: TensorProto) -> None:
        const = self._tensors.plain(tensor)
        name: str | bytes = tensor.name
        if const is not None and isinstance(name, str):
            name = intern(name)
            self.contents.names.append(name)
            self.contents.weights[name] = const
            self._count_bytes(const)
        else:
            self._unusual(tensor)

    def _unusual(self, tensor: TensorProto) -> None:
        """Take an initializer in that is large, of another form than most, or at fault."""
        name = text_of(tensor.name, Place(file=str(self._path)))
        place = Place(file=str(self._path), field=Text("initializer {name}", name=repr(name)))
        self.contents.names.append(name)
        if dtype_of_element(tensor.data_type) is None:
            known = ValueType(tensor.data_type, self._foreign_shape(tensor, place))
            self.contents.foreign[name] = known
            return
        const = self._const(tensor, place)
        if const is not None:
            self.contents.weights[name] = const
            self._count_bytes(const)

    def attribute(self, tensor: TensorProto, place: Place, *, is_weight: bool) -> None:
        if dtype_of_element(tensor.data_type) is None:
            return
        const = self._const(tensor, place)
        if const is not None and is_weight:
            self._count_bytes(const)

    def refuse_sparse(self, name: str) -> None:
        place = Place(file=str(self._path), field=Text("initializer {name}", name=repr(name)))
        self.sink.add(
            BAD_MODEL.diagnostic(
                Text("sparse initializers are not supported"),
                place=place,
                help=Text("save the model with this tensor stored densely"),
            )
        )

    def _count_bytes(self, const: ConstData) -> None:
        self.contents.weight_bytes += element_count(const.shape) * const.dtype.itemsize

    def _const(self, tensor: TensorProto, place: Place) -> ConstData | None:
        """The tensor as a constant, or None after a finding."""
        try:
            return self._tensors.const(tensor, place)
        except AtcError as error:
            self.sink.extend(error.diagnostics)
            return None

    def _foreign_shape(self, tensor: TensorProto, place: Place) -> tuple[int, ...] | None:
        """The shape of a tensor whose data is not looked at."""
        try:
            return tensor_shape(tensor, place)
        except AtcError as error:
            self.sink.extend(error.diagnostics)
            return None


def check_names(
    inputs: Sequence[str],
    initializers: Sequence[str],
    nodes: Sequence[OnnxNode],
    outputs: Sequence[str],
    whole: Place,
    sink: Sink,
) -> None:
    """Report values with no producer or several, and nodes without operator.

    `inputs` and `initializers` may contain duplicates; files of IR version 3 list initializers
    among the inputs, too. `whole` is the place of the file.
    """
    for kind, listed in (("input", inputs), ("initializer", initializers)):
        if len(set(listed)) == len(listed):
            continue
        for name, count in Counter(listed).items():
            if count > 1:
                message = Text(
                    "the {kind} {name} is declared {count} times",
                    kind=kind,
                    name=repr(name),
                    count=count,
                )
                sink.add(BAD_MODEL.diagnostic(message, place=whole))
    sources = {*inputs, *initializers}
    known = _check_producers(nodes, sources, sink).keys() | sources
    for node in nodes:
        for name in () if known.issuperset(node.reads) else dict.fromkeys(node.reads):
            if name not in known:
                message = Text("nothing produces its input {name}", name=repr(name))
                sink.add(BAD_MODEL.diagnostic(message, place=node.place))
    for name in dict.fromkeys(outputs):
        if name not in known:
            message = Text("nothing produces the graph output {name}", name=repr(name))
            sink.add(BAD_MODEL.diagnostic(message, place=whole))


def check_weights(
    inputs: Iterable[DeclaredInput], contents: Contents, place: Place, sink: Sink
) -> None:
    """Report initializers that are graph inputs, too, and declared there with another type."""
    for declared in inputs:
        const = contents.weights.get(declared.name)
        if const is None:
            continue
        if declared.element not in {0, element_of_dtype(const.dtype)}:
            actual, stated = const.dtype.value, element_name(declared.element)
        elif not declared.fits(const.shape):
            actual, stated = f"of shape {format_shape(const.shape)}", declared.label
        else:
            continue
        message = Text(
            "the initializer {declared} is {actual}, as an input it is {stated}",
            declared=repr(declared.name),
            actual=actual,
            stated=stated,
        )
        sink.add(BAD_MODEL.diagnostic(message, place=place))


def check_declared(inputs: Iterable[DeclaredInput], place: Place, sink: Sink) -> None:
    """Report inputs without a name, or too large for a tensor; open dims count as 1."""
    for declared in inputs:
        if not declared.name:
            sink.add(BAD_MODEL.diagnostic(Text("a tensor must have a name"), place=place))
        fixed = tuple(dim for dim in declared.dims or () if isinstance(dim, int))
        complaint = size_complaint(declared.element, fixed)
        if complaint is not None:
            at = place.with_field(Text("input {at}", at=repr(declared.name)))
            sink.add(BAD_TENSOR.diagnostic(complaint, place=at))


def _check_producers(
    nodes: Sequence[OnnxNode], sources: set[str], sink: Sink
) -> dict[str, OnnxNode]:
    """The first producers of values, by name."""
    producers: dict[str, OnnxNode] = {}
    for node in nodes:
        if not node.op_type:
            sink.add(BAD_MODEL.diagnostic(Text("a node without operator"), place=node.place))
        for name in node.writes:
            if name in sources or name in producers:
                first = producers.get(name)
                label = Text("an input or initializer")
                if first:
                    label = Text("node {n}", n=first.index)
                message = Text(
                    "it produces {name}, which {label} provides already",
                    name=repr(name),
                    label=label,
                )
                sink.add(BAD_MODEL.diagnostic(message, place=node.place))
            else:
                producers[name] = node
    return producers


def sort_nodes(nodes: Sequence[OnnxNode]) -> list[OnnxNode]:
    """`nodes` with producers first, the file's order kept if it can be; BAD_MODEL for a cycle."""
    if _are_sorted(nodes):
        return list(nodes)
    producers = {name: node for node in nodes for name in node.writes}

    def needs(node: OnnxNode) -> list[OnnxNode]:
        return [producers[name] for name in node.reads if name in producers]

    try:
        return producers_first(nodes, needs)
    except CycleError as error:
        message = Text("it needs its own output: the graph has a cycle")
        raise BAD_MODEL.error(message, place=error.item.place) from None


def _are_sorted(nodes: Sequence[OnnxNode]) -> bool:
    """True if no node reads what itself or one after it makes."""
    later: set[str] = set()
    for node in reversed(nodes):
        later.update(node.writes)
        if not later.isdisjoint(node.reads):
            return False
    return True
