"""The body of a Loop or Scan as vectors: what its states become, given a slice of a sequence and them.

A vector is the sum of monomials times matrices, and a constant. A monomial is an elementwise product of
atoms: an input or state of the body, a nonlinear function of a vector, or a linear part that is
multiplied by another vector. Only what recurrent layers are made of is read: products with constant
matrices, sums, elementwise products, Sigmoid and Tanh, parts and joins along the last axis.

Over 400 lines because the reader of a body and the vectors that it makes are one algebra.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from atc_py.fix import tables
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.tensor.shapes import Shape

Monomial: TypeAlias = "tuple[Atom, ...]"
Factor: TypeAlias = "float | NDArray[np.float64]"


@dataclass(frozen=True, slots=True, eq=False)
class Atom:
    """A factor of monomials."""

    kind: str  # `linear`, the operator of a function, or the name of an input or state
    size: int  # number of elements
    serial: int  # its place in the order of atoms
    # the argument of a function, or the linear part; None for inputs and states
    of: Vector | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Vector:
    """A sum of monomials times matrices, and a constant."""

    size: int  # number of elements
    # factor of each monomial, from the right: a matrix, or a number for a multiple of the identity
    terms: dict[Monomial, Factor] = field(default_factory=dict)
    constant: NDArray[np.float64] = field(default_factory=lambda: np.zeros(1))

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for vectors that are the same sum."""
        terms = sorted(
            (tuple(atom.serial for atom in monomial), _digest(factor))
            for monomial, factor in self.terms.items()
        )
        return self.size, tuple(terms), self.whole_constant.tobytes()

    @property
    def whole_constant(self) -> NDArray[np.float64]:
        return np.ascontiguousarray(np.broadcast_to(self.constant, (self.size,)))

    @property
    def single(self) -> Atom | None:
        """The atom that the vector is; None if it is another sum."""
        if len(self.terms) != 1 or self.constant.any():
            return None
        ((monomial, factor),) = self.terms.items()
        return monomial[0] if len(monomial) == 1 and is_number(factor, 1.0) else None

    def times(self, matrix: NDArray[np.float64]) -> Vector:
        terms: dict[Monomial, Factor] = {
            term: factor * matrix if isinstance(factor, float) else factor @ matrix
            for term, factor in self.terms.items()
        }
        return _vector(matrix.shape[1], terms, self.whole_constant @ matrix)

    def plus(self, other: Vector) -> Vector:
        terms = dict(self.terms)
        for monomial, factor in other.terms.items():
            terms[monomial] = _sum(terms.get(monomial, 0.0), factor, monomial[0].size)
        return _vector(max(self.size, other.size), terms, self.constant + other.constant)

    def scaled(self, by: NDArray[np.float64]) -> Vector:
        if by.size == 1:
            number = float(by.reshape(-1)[0])
            terms = {term: factor * number for term, factor in self.terms.items()}
            return _vector(self.size, terms, self.constant * number)
        return self.times(np.diag(np.broadcast_to(by.reshape(-1), (self.size,))))


def is_number(factor: Factor, number: float) -> bool:
    return isinstance(factor, float) and factor == number


class Space:
    """The atoms of one body; equal ones are one object."""

    def __init__(self) -> None:
        self._atoms: dict[tuple[object, ...], Atom] = {}

    def leaf(self, name: str, size: int) -> Vector:
        return self._as_vector(self._atom(name, size, None))

    def function(self, kind: str, of: Vector) -> Vector:
        return self._as_vector(self._atom(kind, of.size, of))

    def product(self, one: Vector, other: Vector) -> Vector:
        """The elementwise product; what is not a sum of monomials becomes an atom first."""
        if not one.terms or not other.terms:
            constant, vector = (other, one) if one.terms else (one, other)
            return vector.scaled(constant.constant)
        a, b = self._polynomial(one), self._polynomial(other)
        total = _vector(one.size, {}, a.constant * b.constant)
        for left, factor in [*a.terms.items(), ((), float(a.constant[0]))]:
            for right, again in [*b.terms.items(), ((), float(b.constant[0]))]:
                monomial = tuple(sorted((*left, *right), key=lambda atom: atom.serial))
                if monomial:
                    part: dict[Monomial, Factor] = {monomial: float(factor) * float(again)}
                    total = total.plus(_vector(one.size, part, tables.zeros(1)))
        return total

    def part(self, vector: Vector, start: int, end: int) -> Vector:
        total = _vector(end - start, {}, vector.whole_constant[start:end])
        piece: dict[Monomial, Factor]
        for monomial, factor in vector.terms.items():
            if not isinstance(factor, float):
                piece = {monomial: factor[:, start:end]}
            elif len(monomial) == 1 and monomial[0].of is None:
                piece = {monomial: factor * tables.eye(vector.size)[:, start:end]}
            else:
                atoms = (self._part_of_atom(atom, start, end) for atom in monomial)
                piece = {tuple(sorted(atoms, key=lambda atom: atom.serial)): factor}
            total = total.plus(_vector(end - start, piece, tables.zeros(1)))
        return total

    def _part_of_atom(self, atom: Atom, start: int, end: int) -> Atom:
        if atom.of is None:
            whole = self._as_vector(atom)
            return self._atom("linear", end - start, self.part(whole, start, end))
        return self._atom(atom.kind, end - start, self.part(atom.of, start, end))

    def _polynomial(self, vector: Vector) -> Vector:
        plain = all(isinstance(term, float) for term in vector.terms.values())
        if plain and np.unique(vector.constant).size == 1:
            return _vector(vector.size, vector.terms, vector.constant[:1])
        return self._as_vector(self._atom("linear", vector.size, vector))

    def _atom(self, kind: str, size: int, of: Vector | None) -> Atom:
        key = (kind, size, None if of is None else of.key)
        if key not in self._atoms:
            self._atoms[key] = Atom(kind, size, len(self._atoms), of)
        return self._atoms[key]

    @staticmethod
    def _as_vector(atom: Atom) -> Vector:
        return _vector(atom.size, {(atom,): 1.0}, tables.zeros(1))


def joined(vectors: Sequence[Vector]) -> Vector:
    size = sum(vector.size for vector in vectors)
    total, start = _vector(size, {}, tables.zeros(size)), 0
    for vector in vectors:
        place = tables.zeros((vector.size, size))
        place[:, start : start + vector.size] = tables.eye(vector.size)
        total, start = total.plus(vector.times(place)), start + vector.size
    return total


def _vector(size: int, terms: dict[Monomial, Factor], constant: NDArray[np.float64]) -> Vector:
    plain = {term: _plainest(factor) for term, factor in terms.items()}
    return Vector(
        size, {each: factor for each, factor in plain.items() if not is_number(factor, 0)}, constant
    )


def _plainest(factor: Factor) -> Factor:
    if isinstance(factor, float):
        return factor
    if not factor.any():
        return 0.0
    rows, columns = factor.shape
    if rows == columns and np.array_equal(factor, factor[0, 0] * tables.eye(rows)):
        return float(factor[0, 0])
    return factor


def _sum(one: Factor, other: Factor, size: int) -> Factor:
    if isinstance(one, float) and isinstance(other, float):
        return one + other
    if is_number(one, 0.0) or is_number(other, 0.0):
        return other if is_number(one, 0.0) else one
    a, b = (
        value * tables.eye(size) if isinstance(value, float) else value for value in (one, other)
    )
    return a + b


def _digest(factor: Factor) -> object:
    return factor if isinstance(factor, float) else (factor.shape, hash(factor.tobytes()))


FUNCTIONS = frozenset({"Sigmoid", "Tanh"})
"""Functions of recurrent layers without attributes that the lists leave open."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A value of the body: vectors along the last axis."""

    vector: Vector  # each of them
    dims: Shape  # dims of the value

    @property
    def rows(self) -> int:
        return int(np.prod(self.dims[:-1], dtype=np.int64))

    def of(self, vector: Vector) -> Rows:
        return Rows(vector, (*self.dims[:-1], vector.size))


@dataclass(frozen=True, slots=True)
class Taken:
    """A slice that each step takes from a sequence."""

    sequence: str  # its name in the model
    axis: int  # the axis of the steps
    places: tuple[int, ...]
    keeps: bool = False  # whether the slice keeps the axis


class _UnreadError(Exception):
    """A node that is none of a recurrent layer."""


class Reader:
    """Reads the nodes of a body, producers first."""

    def __init__(
        self,
        constants: Mapping[str, NDArray[Any]],
        places: Mapping[str, list[NDArray[Any]]],
        dims_of: Callable[[str], Shape | None],
    ) -> None:
        """Start without inputs and states.

        `constants` are the same in every step, `places` are integers that the step decides, for
        every step; `dims_of` returns the dims of a value around the body.
        """
        self.space = Space()  # the atoms
        self.rows: dict[str, Rows] = {}  # values that are read, by name
        # the slices that the steps take, by the kinds of their atoms
        self.taken: dict[str, Taken] = {}
        self._constants = constants
        self._places = places
        self._dims_of = dims_of

    def state(self, name: str, kind: str, dims: Shape) -> None:
        """Take in a state, or a slice of the body's inputs."""
        if dims:
            self.rows[name] = Rows(self.space.leaf(kind, dims[-1]), dims)

    def read(self, nodes: Sequence[OnnxNode]) -> None:
        """Read what can be read; values of other nodes are left out."""
        for node in nodes:
            if node.domain or any(name in self._constants for name in node.output_names):
                continue
            try:
                rows = self._read(node)
            except (_UnreadError, LookupError, TypeError, ValueError):
                continue
            self.rows.update(zip(node.output_names, rows, strict=False))

    def _read(self, node: OnnxNode) -> list[Rows]:
        if node.op_type == "Gather":
            return [self._gather(node)]
        if node.op_type in FUNCTIONS:
            x = self.rows[node.input_names[0]]
            return [x.of(self.space.function(node.op_type, x.vector))]
        return _READ[node.op_type](self, node)

    def constant(self, name: str) -> NDArray[np.float64]:
        return np.asarray(self._constants[name], np.float64)

    def operand(self, name: str) -> Rows:
        """A value that may be constant, if it does not differ from row to row."""
        if name in self.rows:
            return self.rows[name]
        value = self.constant(name)
        row = value.reshape(-1)
        if value.ndim and value.shape[-1] != row.size:
            raise ValueError("rows of a constant differ")
        return Rows(Vector(max(row.size, 1), {}, row), value.shape or (1,))

    def numbers(self, node: OnnxNode, position: int, attribute: str) -> list[int] | None:
        """Integers that are an input or, in older opsets, an attribute; None if absent."""
        if len(node.input_names) > position and node.input_names[position]:
            return [
                int(number) for number in self._constants[node.input_names[position]].reshape(-1)
            ]
        return [*node.integers(attribute)] or None

    def _gather(self, node: OnnxNode) -> Rows:
        name, index = node.input_names
        dims, places = self._dims_of(name), self._places[index]
        axis = node.integer("axis")
        if dims is None or places[0].size != 1:
            raise _UnreadError
        axis %= len(dims)
        numbers = tuple(int(place.reshape(-1)[0]) % dims[axis] for place in places)
        taken = Taken(name, axis, numbers)
        kind = f"slice of {name} along {axis} at {numbers}"
        self.taken[kind] = taken
        own = (*dims[:axis], *places[0].shape, *dims[axis + 1 :])
        return Rows(self.space.leaf(kind, own[-1]), own)


def _matrix(reader: Reader, node: OnnxNode) -> list[Rows]:
    x, matrix = reader.rows[node.input_names[0]], reader.constant(node.input_names[1])
    matrix = matrix.reshape(matrix.shape[-2:])
    return [x.of(x.vector.times(matrix))]


def _gemm(reader: Reader, node: OnnxNode) -> list[Rows]:
    if node.integer("transA"):
        raise _UnreadError
    x, matrix = reader.rows[node.input_names[0]], reader.constant(node.input_names[1])
    matrix = matrix.T if node.integer("transB") else matrix
    product = x.of(x.vector.times(matrix * node.number("alpha", 1.0)))
    if len(node.input_names) < 3 or not node.input_names[2]:  # noqa: PLR2004  (C is the third)
        return [product]
    added = reader.operand(node.input_names[2])
    by = np.array(node.number("beta", 1.0))
    return [_sum_of(product, added.of(added.vector.scaled(by)))]


def _sum_of(one: Rows, other: Rows) -> Rows:
    """A sum; constants broadcast, other values have as many rows."""
    return Rows(one.vector.plus(other.vector), _common(one, other))


def _common(one: Rows, other: Rows) -> Shape:
    """The dims of an elementwise result."""
    dims = tuple(int(shape) for shape in np.broadcast_shapes(one.dims, other.dims))
    rows = int(np.prod(dims[:-1], dtype=np.int64))
    for operand in (one, other):
        if operand.vector.terms and (operand.rows, operand.dims[-1]) != (rows, dims[-1]):
            raise ValueError("rows are repeated")
    return dims


def _add(reader: Reader, node: OnnxNode) -> list[Rows]:
    total = reader.operand(node.input_names[0])
    for name in node.input_names[1:]:
        total = _sum_of(total, reader.operand(name))
    return [total]


def _negated(x: Rows) -> Rows:
    return x.of(x.vector.scaled(np.array(-1.0)))


def _subtract(reader: Reader, node: OnnxNode) -> list[Rows]:
    one, other = (reader.operand(name) for name in node.input_names)
    return [_sum_of(one, _negated(other))]


def _multiply(reader: Reader, node: OnnxNode) -> list[Rows]:
    one, other = (reader.operand(name) for name in node.input_names)
    dims = _common(one, other)
    return [Rows(reader.space.product(one.vector, other.vector), dims)]


def _is_last(axis: int, x: Rows) -> bool:
    return axis in {-1, len(x.dims) - 1}


def _split(reader: Reader, node: OnnxNode) -> list[Rows]:
    x = reader.rows[node.input_names[0]]
    if not _is_last(node.integer("axis"), x):
        raise _UnreadError
    count = len(node.output_names)
    sizes = reader.numbers(node, 1, "split") or [x.dims[-1] // count] * count
    if sum(sizes) != x.dims[-1]:
        raise _UnreadError
    ends = np.cumsum(sizes)
    return [
        x.of(reader.space.part(x.vector, int(end) - size, int(end)))
        for end, size in zip(ends, sizes, strict=True)
    ]


def _slice(reader: Reader, node: OnnxNode) -> list[Rows]:
    x = reader.rows[node.input_names[0]]
    starts, ends = reader.numbers(node, 1, "starts"), reader.numbers(node, 2, "ends")
    axes = reader.numbers(node, 3, "axes") or [0]
    steps = reader.numbers(node, 4, "steps") or [1]
    if starts is None or ends is None or len(starts) != 1 or steps != [1]:
        raise _UnreadError
    if not _is_last(axes[0], x):
        raise _UnreadError
    start, end, _ = slice(starts[0], ends[0]).indices(x.dims[-1])
    return [x.of(reader.space.part(x.vector, start, end))]


def _concat(reader: Reader, node: OnnxNode) -> list[Rows]:
    parts = [reader.rows[name] for name in node.input_names]
    if not all(_is_last(node.integer("axis", 1), part) for part in parts):
        raise _UnreadError
    if len({part.dims[:-1] for part in parts}) != 1:
        raise _UnreadError
    return [parts[0].of(joined([part.vector for part in parts]))]


def _view(reader: Reader, node: OnnxNode) -> list[Rows]:
    x = reader.rows[node.input_names[0]]
    blank = np.broadcast_to(np.int8(0), x.dims)
    result: tuple[int, ...]
    if node.op_type == "Reshape":
        wanted = reader.numbers(node, 1, "shape") or []
        dims = [x.dims[at] if dim == 0 else dim for at, dim in enumerate(wanted)]
        result = blank.reshape(dims).shape
    else:
        axes = reader.numbers(node, 1, "axes")
        if node.op_type == "Unsqueeze":
            result = np.expand_dims(blank, tuple(axes or ())).shape
        else:
            result = np.squeeze(blank, None if axes is None else tuple(axes)).shape
    if result[-1:] != x.dims[-1:]:
        raise _UnreadError
    return [Rows(x.vector, result)]


_READ: dict[str, Callable[[Reader, OnnxNode], list[Rows]]] = {
    "Add": _add,
    "Concat": _concat,
    "Gemm": _gemm,
    "Identity": lambda reader, node: [reader.rows[node.input_names[0]]],
    "MatMul": _matrix,
    "Mul": _multiply,
    "Neg": lambda reader, node: [_negated(reader.rows[node.input_names[0]])],
    "Reshape": _view,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _view,
    "Sub": _subtract,
    "Sum": _add,
    "Unsqueeze": _view,
}
