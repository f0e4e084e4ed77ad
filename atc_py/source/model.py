"""The source model: an ONNX graph with static types, constants that are not copied, and origins.

This is what lowering sees of ONNX: plain values and nodes, no protobuf.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from atc_py.tensor.shapes import closed_shape

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from atc_py.tensor.const_data import ConstData
    from atc_py.tensor.dtypes import DType
    from atc_py.tensor.shapes import Dims, Shape

__all__ = ["SourceAttr", "SourceBranch", "SourceModel", "SourceNode", "SourceValue"]

SourceAttr: TypeAlias = (
    "int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...] | ConstData"
)
"""An attribute of a node: tensors are constants, strings are decoded, lists are tuples."""


@dataclass(eq=False, slots=True)
class SourceValue:
    """A tensor of the source model.

    Attributes:
        name: its name in the model.
        dtype: element type.
        dims: extents; None for one that only the run knows.
        const: its data where it is an initializer or was folded, else None.
    """

    name: str
    dtype: DType
    dims: Dims
    const: ConstData | None = None

    @property
    def shape(self) -> Shape:
        """The extents, all of them known.

        Raises:
            OpenShapeError: one of them is open.
        """
        return closed_shape(self.dims)

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.dims)


@dataclass(eq=False, slots=True)
class SourceNode:
    """A node of the source model.

    Attributes:
        index: position in the file's graph, from 0.
        name: its name in the file, possibly empty.
        op_type: operator, as ONNX spells it.
        domain: "" for ONNX's own operators.
        opset: version that the model imports for the domain.
        since_version: version of the operator's definition that is in force at that opset; for
            operators that ONNX does not define, 1.
        inputs: by position; None for an optional input that is absent.
        outputs: by position; None for an optional output that is not asked for.
        attributes: the ones that the file sets, by name; graphs are among `branches`.
        branches: the graphs of an If by the names of their attributes.
    """

    index: int
    name: str
    op_type: str
    domain: str
    opset: int
    since_version: int
    inputs: tuple[SourceValue | None, ...]
    outputs: tuple[SourceValue | None, ...]
    attributes: Mapping[str, SourceAttr] = field(default_factory=dict)
    branches: Mapping[str, SourceBranch] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class SourceBranch:
    """A graph that a node runs or does not run.

    Attributes:
        nodes: what is left after folding, producers first; what they take from around the branch
            are values of the graph around it.
        outputs: what the branch hands out, by position.
    """

    nodes: tuple[SourceNode, ...]
    outputs: tuple[SourceValue, ...]


@dataclass(eq=False, slots=True)
class SourceModel:
    """A model that is read, typed and folded.

    Attributes:
        path: the file, as the user gave it; diagnostics name it.
        name: the graph's name.
        opsets: imported version of each domain; "" is ONNX's own.
        inputs: what is fed at run time; initializers are not among them.
        outputs: what the model hands out.
        nodes: what is left after folding, producers first.
        file_nodes: number of nodes in the file's graph, before folding.
        weight_bytes: bytes of all initializers in the file, external ones included.
    """

    path: Path
    name: str
    opsets: Mapping[str, int]
    inputs: tuple[SourceValue, ...]
    outputs: tuple[SourceValue, ...]
    nodes: tuple[SourceNode, ...]
    file_nodes: int
    weight_bytes: int
