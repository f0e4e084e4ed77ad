"""Types that a file states for its values, and its graph inputs with their open dimensions."""

import msgspec
from onnx import TypeProto, ValueInfoProto

from atc_py.diag import Place
from atc_py.onnx_graph.folding.graph import ValueType
from atc_py.onnx_graph.reading.text import text_of
from atc_py.tensor.shapes import Shape


class DeclaredInput(msgspec.Struct, frozen=True):
    """A graph input as the file declares it.

    Attributes:
        name: its name.
        element: ONNX's number of its element type, 0 where none is given.
        dims: an int for a fixed dim, the dimension's name (often "") for an open one; None
            where not even the rank is given.
        kind: its kind if it is not a tensor: sequence, map, optional ...
    """

    name: str
    element: int
    dims: tuple[int | str, ...] | None
    kind: str = ""

    @property
    def label(self) -> str:
        """The shape as people write it, `Nx3x?x?` for instance."""
        if self.dims is None:
            return "of unknown rank"
        return "x".join(str(dim) or "?" for dim in self.dims) or "scalar"

    def fits(self, shape: Shape) -> bool:
        """True if `shape` agrees with the declaration."""
        if self.dims is None:
            return True
        return len(self.dims) == len(shape) and all(
            isinstance(dim, str) or dim == given
            for dim, given in zip(self.dims, shape, strict=True)
        )


def declared_input(value: ValueInfoProto, place: Place) -> DeclaredInput:
    """`value` as a graph input; negative dims, which some exporters write, are open.

    Raises:
        AtcError: NOT_ONNX for a name that is not text.
    """
    name = text_of(value.name, place)
    kind = value.type.WhichOneof("value")
    if kind not in {None, "tensor_type"}:
        found = str(kind).removesuffix("_type").replace("_", " ")
        return DeclaredInput(name, 0, None, found)
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return DeclaredInput(name, tensor.elem_type, None)
    dims: list[int | str] = []
    for dim in tensor.shape.dim:
        fixed = dim.HasField("dim_value") and dim.dim_value >= 0
        dims.append(dim.dim_value if fixed else text_of(dim.dim_param, place))
    return DeclaredInput(name, tensor.elem_type, tuple(dims))


def type_of_proto(proto: TypeProto) -> ValueType | None:
    """Return what a TypeProto says about a tensor; None for sequences, maps and the like."""
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
