"""The body of a Loop or Scan as vectors: what its states become, given a slice of a sequence and them.

Only what recurrent layers are made of is read: products with constant matrices, sums, elementwise
products, Sigmoid and Tanh, parts and joins along the last axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.fix.parts.vectors import Space, Vector, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from atc_py.frontend.rewriting.function_body import BodyNode
    from atc_py.tensor.shapes import Shape

__all__ = ["FUNCTIONS", "Reader", "Rows", "Taken"]

FUNCTIONS = frozenset({"Sigmoid", "Tanh"})
"""Functions of recurrent layers without attributes that the lists leave open."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A value of the body: vectors along the last axis.

    Attributes:
        vector: each of them.
        dims: dims of the value.
    """

    vector: Vector
    dims: Shape

    @property
    def rows(self) -> int:
        """Number of vectors."""
        return int(np.prod(self.dims[:-1], dtype=np.int64))

    def of(self, vector: Vector) -> Rows:
        """Return another vector of as many rows."""
        return Rows(vector, (*self.dims[:-1], vector.size))


@dataclass(frozen=True, slots=True)
class Taken:
    """A slice that each step takes from a sequence.

    Attributes:
        sequence: its name in the model.
        axis: the axis of the steps.
        places: the place of each step.
        keeps: whether the slice keeps the axis.
    """

    sequence: str
    axis: int
    places: tuple[int, ...]
    keeps: bool = False


class _UnreadError(Exception):
    """A node that is none of a recurrent layer."""


class Reader:
    """Reads the nodes of a body, producers first.

    Attributes:
        space: the atoms.
        rows: values that are read, by name.
        taken: the slices that the steps take, by the kinds of their atoms.
    """

    def __init__(
        self,
        constants: Mapping[str, NDArray[Any]],
        places: Mapping[str, list[NDArray[Any]]],
        dims_of: Callable[[str], Shape | None],
    ) -> None:
        """Start without inputs and states.

        Args:
            constants: values of the body that are the same in every step.
            places: integers of the body that the step decides, for every step.
            dims_of: returns the dims of a value around the body.
        """
        self.space = Space()
        self.rows: dict[str, Rows] = {}
        self.taken: dict[str, Taken] = {}
        self._constants = constants
        self._places = places
        self._dims_of = dims_of

    def state(self, name: str, kind: str, dims: Shape) -> None:
        """Take in a state, or a slice of the body's inputs."""
        if dims:
            self.rows[name] = Rows(self.space.leaf(kind, dims[-1]), dims)

    def read(self, nodes: Sequence[BodyNode]) -> None:
        """Read what can be read; values of other nodes are left out."""
        for node in nodes:
            if node.domain or any(name in self._constants for name in node.outputs):
                continue
            try:
                found = self._read(node)
            except (_UnreadError, LookupError, TypeError, ValueError):
                continue
            self.rows.update(zip(node.outputs, found, strict=False))

    def _read(self, node: BodyNode) -> list[Rows]:
        """Return the results of one node."""
        if node.op_type == "Gather":
            return [self._gather(node)]
        if node.op_type in FUNCTIONS:
            x = self.rows[node.inputs[0]]
            return [x.of(self.space.function(node.op_type, x.vector))]
        return _READ[node.op_type](self, node)

    def constant(self, name: str) -> NDArray[np.float64]:
        """Return a constant as floats.

        Raises:
            KeyError: it is not constant.
        """
        return np.asarray(self._constants[name], np.float64)

    def operand(self, name: str) -> Rows:
        """Return a value that may be constant.

        Raises:
            KeyError: it is not read.
            ValueError: it is constant and differs from row to row.
        """
        if name in self.rows:
            return self.rows[name]
        value = self.constant(name)
        row = value.reshape(-1)
        if value.ndim and value.shape[-1] != row.size:
            raise ValueError("rows of a constant differ")
        return Rows(Vector(max(row.size, 1), {}, row), value.shape or (1,))

    def numbers(self, node: BodyNode, position: int, attribute: str) -> list[int] | None:
        """Return integers that are an input or, in older opsets, an attribute; None if absent."""
        if len(node.inputs) > position and node.inputs[position]:
            return [int(each) for each in self._constants[node.inputs[position]].reshape(-1)]
        found = node.attributes.get(attribute)
        return None if found is None else [int(each) for each in found]

    def _gather(self, node: BodyNode) -> Rows:
        """Return the slice of a sequence that each step takes."""
        name, index = node.inputs
        dims, places = self._dims_of(name), self._places[index]
        axis = node.attributes.get("axis", 0)
        if dims is None or places[0].size != 1:
            raise _UnreadError
        axis %= len(dims)
        numbers = tuple(int(each.reshape(-1)[0]) % dims[axis] for each in places)
        taken = Taken(name, axis, numbers)
        kind = f"slice of {name} along {axis} at {numbers}"
        self.taken[kind] = taken
        own = (*dims[:axis], *places[0].shape, *dims[axis + 1 :])
        return Rows(self.space.leaf(kind, own[-1]), own)


def _same(reader: Reader, node: BodyNode) -> list[Rows]:
    """Read Identity."""
    return [reader.rows[node.inputs[0]]]


def _matrix(reader: Reader, node: BodyNode) -> list[Rows]:
    """Read MatMul with a constant matrix."""
    x, matrix = reader.rows[node.inputs[0]], reader.constant(node.inputs[1])
    matrix = matrix.reshape(matrix.shape[-2:])
    return [x.of(x.vector.times(matrix))]


def _gemm(reader: Reader, node: BodyNode) -> list[Rows]:
    """Read Gemm with a constant matrix."""
    given = node.attributes
    if given.get("transA", 0):
        raise _UnreadError
    x, matrix = reader.rows[node.inputs[0]], reader.constant(node.inputs[1])
    matrix = matrix.T if given.get("transB", 0) else matrix
    product = x.of(x.vector.times(matrix * float(given.get("alpha", 1.0))))
    if len(node.inputs) < 3 or not node.inputs[2]:  # noqa: PLR2004  (C is the third)
        return [product]
    added = reader.operand(node.inputs[2])
    by = np.array(float(given.get("beta", 1.0)))
    return [_sum_of(product, added.of(added.vector.scaled(by)))]


def _sum_of(one: Rows, other: Rows, sign: float = 1.0) -> Rows:
    """Return a sum; constants broadcast, other values have as many rows."""
    signed = other.vector.scaled(np.array(sign))
    return Rows(one.vector.plus(signed), _common(one, other))


def _common(one: Rows, other: Rows) -> Shape:
    """Return the dims of an elementwise result.

    Raises:
        ValueError: rows that are not constant are repeated.
    """
    dims = tuple(int(each) for each in np.broadcast_shapes(one.dims, other.dims))
    rows = int(np.prod(dims[:-1], dtype=np.int64))
    for each in (one, other):
        if each.vector.terms and (each.rows, each.dims[-1]) != (rows, dims[-1]):
            raise ValueError("rows are repeated")
    return dims


def _add(reader: Reader, node: BodyNode) -> list[Rows]:
    """Read Add and Sum."""
    total = reader.operand(node.inputs[0])
    for name in node.inputs[1:]:
        total = _sum_of(total, reader.operand(name))
    return [total]


def _subtract(reader: Reader, node: BodyNode) -> list[Rows]:
    """Read Sub."""
    one, other = (reader.operand(name) for name in node.inputs)
    return [_sum_of(one, other, sign=-1.0)]


def _negate(reader: Reader, node: BodyNode) -> list[Rows]:
    """Read Neg."""
    x = reader.rows[node.inputs[0]]
    return [x.of(x.vector.scaled(np.array(-1.0)))]


def _multiply(reader: Reader, node: BodyNode) -> list[Rows]:
    """Read Mul."""
    one, other = (reader.operand(name) for name in node.inputs)
    dims = _common(one, other)
    return [Rows(reader.space.product(one.vector, other.vector), dims)]


def _is_last(axis: int, x: Rows) -> bool:
    """Return True if an axis is the last one."""
    return axis in {-1, len(x.dims) - 1}


def _split(reader: Reader, node: BodyNode) -> list[Rows]:
    """Read Split of the last axis."""
    x = reader.rows[node.inputs[0]]
    if not _is_last(node.attributes.get("axis", 0), x):
        raise _UnreadError
    count = len(node.outputs)
    sizes = reader.numbers(node, 1, "split") or [x.dims[-1] // count] * count
    if sum(sizes) != x.dims[-1]:
        raise _UnreadError
    ends = np.cumsum(sizes)
    return [
        x.of(reader.space.part(x.vector, int(end) - size, int(end)))
        for end, size in zip(ends, sizes, strict=True)
    ]


def _slice(reader: Reader, node: BodyNode) -> list[Rows]:
    """Read Slice of the last axis."""
    x = reader.rows[node.inputs[0]]
    starts, ends = reader.numbers(node, 1, "starts"), reader.numbers(node, 2, "ends")
    axes = reader.numbers(node, 3, "axes") or [0]
    steps = reader.numbers(node, 4, "steps") or [1]
    if starts is None or ends is None or len(starts) != 1 or steps != [1]:
        raise _UnreadError
    if not _is_last(axes[0], x):
        raise _UnreadError
    start, end, _ = slice(starts[0], ends[0]).indices(x.dims[-1])
    return [x.of(reader.space.part(x.vector, start, end))]


def _concat(reader: Reader, node: BodyNode) -> list[Rows]:
    """Read Concat along the last axis."""
    parts = [reader.rows[name] for name in node.inputs]
    if not all(_is_last(node.attributes["axis"], each) for each in parts):
        raise _UnreadError
    if len({each.dims[:-1] for each in parts}) != 1:
        raise _UnreadError
    return [parts[0].of(joined([each.vector for each in parts]))]


def _view(reader: Reader, node: BodyNode) -> list[Rows]:
    """Read Reshape, Squeeze and Unsqueeze that keep the last axis."""
    x = reader.rows[node.inputs[0]]
    blank = np.broadcast_to(np.int8(0), x.dims)
    found: tuple[int, ...]
    if node.op_type == "Reshape":
        wanted = reader.numbers(node, 1, "shape") or []
        dims = [x.dims[at] if each == 0 else each for at, each in enumerate(wanted)]
        found = blank.reshape(dims).shape
    else:
        axes = reader.numbers(node, 1, "axes")
        if node.op_type == "Unsqueeze":
            found = np.expand_dims(blank, tuple(axes or ())).shape
        else:
            found = np.squeeze(blank, None if axes is None else tuple(axes)).shape
    if found[-1:] != x.dims[-1:]:
        raise _UnreadError
    return [Rows(x.vector, found)]


_READ: dict[str, Callable[[Reader, BodyNode], list[Rows]]] = {
    "Add": _add,
    "Concat": _concat,
    "Gemm": _gemm,
    "Identity": _same,
    "MatMul": _matrix,
    "Mul": _multiply,
    "Neg": _negate,
    "Reshape": _view,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _view,
    "Sub": _subtract,
    "Sum": _add,
    "Unsqueeze": _view,
}
