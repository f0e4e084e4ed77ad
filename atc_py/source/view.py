"""A model as far as it is known before it is compiled: types may be open, data may be absent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy.typing as npt

    from atc_py.diag import Diagnostic
    from atc_py.source.bias_convention import BiasConvention
    from atc_py.source.quantized import QuantizedNode
    from atc_py.tensor.shapes import Shape

__all__ = [
    "INTERNAL_PREFIX",
    "AttributeView",
    "InputView",
    "Known",
    "ModelView",
    "NodeView",
    "TensorView",
    "scope_name",
]

INTERNAL_PREFIX = "__"
"""What names of a tool's own attributes begin with: ONNX's checker passes them over."""


def scope_name(branch: str, name: str, index: int, outer: str) -> str:
    """What a subgraph is called: its attribute, its node by name or position, what is around."""
    label = f'"{name}"' if name else f"node {index}"
    return f"{branch} of {label}" + (outer and f", {outer}")


class Known(Protocol):
    """Data that is known when the model is compiled."""

    @property
    def shape(self) -> Shape:
        """Its extents."""

    def numpy(self) -> npt.NDArray[Any]:
        """Return the data; large data is read from its file."""


AttributeView: TypeAlias = (
    "int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...] | Known"
)
"""An attribute's value: lists are tuples, tensors are known data; a graph is `<graph>`."""


_BY_NAME = {dtype.value: dtype for dtype in DType}


@dataclass(frozen=True, slots=True, eq=False)
class TensorView:
    """What is known of a tensor.

    Attributes:
        name: its name in the model.
        element: its element type by atc-py's or else ONNX's name; "" where it is not known.
        dims: extents, None for an open one; None where not even the rank is known.
        known: its data where that is a constant.
        settles: whether it is a function of shapes and constants alone, and so may be a constant
            once every dim is known.
    """

    name: str
    element: str
    dims: tuple[int | None, ...] | None
    known: Known | None = None
    settles: bool = False

    @property
    def dtype(self) -> DType | None:
        """The element type; None where it is not known, or none that atc-py has."""
        return _BY_NAME.get(self.element)


@dataclass(frozen=True, slots=True, eq=False)
class NodeView:
    """What is known of a node.

    Attributes:
        index: position in the file's graph, from 0; nodes of subgraphs have their outer node's.
        name: its name in the file, possibly empty.
        op_type: operator, as ONNX spells it.
        domain: "" for ONNX's own operators.
        opset: version that the model imports for the domain; 0 where it imports none.
        since_version: version of the definition in force; 1 where ONNX does not define it.
        inputs: by position; None for an optional one that is absent.
        outputs: by position; None for one that is not asked for.
        attributes: the ones that the file sets, by name.
        scope: the subgraph that it stands in, `then_branch of "choose"`; "" at the top.
        open_inputs: names of the model's inputs that it depends on and whose shape is open.
        vanishes: whether it may fold away, or nothing may need it, once every dim is known.
    """

    index: int
    name: str
    op_type: str
    domain: str
    opset: int
    since_version: int
    inputs: tuple[TensorView | None, ...]
    outputs: tuple[TensorView | None, ...]
    attributes: Mapping[str, AttributeView] = field(default_factory=dict)
    scope: str = ""
    open_inputs: tuple[str, ...] = ()
    vanishes: bool = False


@dataclass(frozen=True, slots=True)
class InputView:
    """An input of the model.

    Attributes:
        name: its name.
        dims: an int for a fixed extent, a name (often "") for an open one; None where the rank
            is open.
    """

    name: str
    dims: tuple[int | str, ...] | None

    @property
    def is_open(self) -> bool:
        """True if the model leaves an extent or the rank open."""
        return self.dims is None or any(isinstance(dim, str) for dim in self.dims)


@dataclass(frozen=True, slots=True, eq=False)
class ModelView:
    """A model as far as it is known.

    Attributes:
        path: the file, as the user gave it.
        name: the graph's name.
        opsets: imported version of each domain; "" is ONNX's own.
        nodes: what constant folding leaves, producers first; nodes of subgraphs after their own.
        inputs: what is fed at run time.
        file_nodes: number of nodes in the file's graph, before folding.
        faults: what breaks ONNX's own rules, or cannot be read.
        quantized: of a model that came quantized, what became of its layers.
        bias_convention: of a model whose layers are int8 already, how their biases are read.
        doubts: what would be faults if the nodes concerned did not vanish.
    """

    path: Path
    name: str
    opsets: Mapping[str, int]
    nodes: tuple[NodeView, ...]
    inputs: tuple[InputView, ...]
    file_nodes: int
    faults: tuple[Diagnostic, ...] = ()
    quantized: tuple[QuantizedNode, ...] = ()
    bias_convention: BiasConvention | None = None
    doubts: tuple[Diagnostic, ...] = ()
