"""The tensors of a file's graph: initializers as constants, and their bytes."""

from pathlib import Path
from sys import intern

import msgspec
from onnx import GraphProto, TensorProto

from atc_py.diag import AtcError, Place, Sink
from atc_py.diag.codes import BAD_MODEL
from atc_py.ir import ConstData
from atc_py.onnx_graph.folding.graph import ValueType
from atc_py.onnx_graph.reading.tensors import TensorReader, dtype_of_element, tensor_shape
from atc_py.onnx_graph.reading.text import text_of
from atc_py.tensor.shapes import element_count
from atc_py.text import Text


class Contents(msgspec.Struct):
    """The tensors of a graph.

    Attributes:
        weights: initializers by name.
        foreign: types of initializers that cannot be held; an error only where one is used.
        names: names of all initializers, one for each, so that one may stand twice.
        weight_bytes: bytes of initializers and of the tensors of Constant nodes.
    """

    weights: dict[str, ConstData] = msgspec.field(default_factory=dict)
    foreign: dict[str, ValueType] = msgspec.field(default_factory=dict)
    names: list[str] = msgspec.field(default_factory=list)
    weight_bytes: int = 0


def locate_contents(graph: GraphProto, tensors: TensorReader, path: Path) -> Contents:
    """Return where the data of all tensors of `graph` is stored.

    Raises:
        AtcError: with every finding about a tensor: BAD_TENSOR, EXTERNAL_DATA_MISSING,
            EXTERNAL_DATA_OUTSIDE; BAD_MODEL for sparse initializers.
    """
    locator = _Locator(tensors, path)
    for tensor in graph.initializer:
        locator.initializer(tensor)
    for index, node in enumerate(graph.node):
        for attribute in node.attribute:
            if attribute.HasField("t"):
                place = Place(str(path), index, str(node.name), str(node.op_type))
                locator.attribute(attribute.t, place, is_weight=node.op_type == "Constant")
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
                "sparse initializers are not supported",
                place=place,
                help="save the model with this tensor stored densely",
            )
        )

    def _count_bytes(self, const: ConstData) -> None:
        """Count the bytes of a constant."""
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
