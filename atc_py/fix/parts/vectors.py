"""Vectors as sums of products: what the body of a recurrence computes, in a form that can be compared.

A vector is the sum of monomials times matrices, and a constant. A monomial is an elementwise product of
atoms: an input or state of the body, a nonlinear function of a vector, or a linear part that is
multiplied by another vector.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from atc_py.fix import tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Monomial: TypeAlias = "tuple[Atom, ...]"
    Factor: TypeAlias = "float | NDArray[np.float64]"

__all__ = ["Atom", "Space", "Vector", "is_number", "joined"]


@dataclass(frozen=True, slots=True, eq=False)
class Atom:
    """A factor of monomials.

    Attributes:
        kind: `linear`, the operator of a function, or the name of an input or state.
        size: number of elements.
        serial: its place in the order of atoms.
        of: the argument of a function, or the linear part; None for inputs and states.
    """

    kind: str
    size: int
    serial: int
    of: Vector | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Vector:
    """A sum of monomials times matrices, and a constant.

    Attributes:
        size: number of elements.
        terms: factor of each monomial, from the right: a matrix, or a number for a multiple of the
            identity.
        constant: the constant.
    """

    size: int
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
        """The constant with all elements."""
        return np.ascontiguousarray(np.broadcast_to(self.constant, (self.size,)))

    @property
    def single(self) -> Atom | None:
        """The atom that the vector is; None if it is another sum."""
        if len(self.terms) != 1 or self.constant.any():
            return None
        ((monomial, factor),) = self.terms.items()
        return monomial[0] if len(monomial) == 1 and is_number(factor, 1.0) else None

    def times(self, matrix: NDArray[np.float64]) -> Vector:
        """Return the product with a matrix from the right."""
        terms: dict[Monomial, Factor] = {
            each: factor * matrix if isinstance(factor, float) else factor @ matrix
            for each, factor in self.terms.items()
        }
        return _vector(matrix.shape[1], terms, self.whole_constant @ matrix)

    def plus(self, other: Vector) -> Vector:
        """Return the sum of two vectors of one size."""
        terms = dict(self.terms)
        for monomial, factor in other.terms.items():
            terms[monomial] = _sum(terms.get(monomial, 0.0), factor, monomial[0].size)
        return _vector(max(self.size, other.size), terms, self.constant + other.constant)

    def scaled(self, by: NDArray[np.float64]) -> Vector:
        """Return the product with one number, or with one for each element."""
        if by.size == 1:
            number = float(by.reshape(-1)[0])
            terms = {each: factor * number for each, factor in self.terms.items()}
            return _vector(self.size, terms, self.constant * number)
        return self.times(np.diag(np.broadcast_to(by.reshape(-1), (self.size,))))


def is_number(factor: Factor, number: float) -> bool:
    """Return True if a factor is that multiple of the identity."""
    return isinstance(factor, float) and factor == number


class Space:
    """The atoms of one body; equal ones are one object."""

    def __init__(self) -> None:
        self._atoms: dict[tuple[object, ...], Atom] = {}

    def leaf(self, name: str, size: int) -> Vector:
        """Return an input or state as a vector."""
        return self._as_vector(self._atom(name, size, None))

    def function(self, kind: str, of: Vector) -> Vector:
        """Return a function of a vector, element by element."""
        return self._as_vector(self._atom(kind, of.size, of))

    def product(self, one: Vector, other: Vector) -> Vector:
        """Return the elementwise product; what is not a sum of monomials becomes an atom first."""
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
        """Return elements `start` to `end`."""
        total = _vector(end - start, {}, vector.whole_constant[start:end])
        piece: dict[Monomial, Factor]
        for monomial, factor in vector.terms.items():
            if not isinstance(factor, float):
                piece = {monomial: factor[:, start:end]}
            elif len(monomial) == 1 and monomial[0].of is None:
                piece = {monomial: factor * tables.eye(vector.size)[:, start:end]}
            else:
                atoms = (self._part_of_atom(each, start, end) for each in monomial)
                piece = {tuple(sorted(atoms, key=lambda atom: atom.serial)): factor}
            total = total.plus(_vector(end - start, piece, tables.zeros(1)))
        return total

    def _part_of_atom(self, atom: Atom, start: int, end: int) -> Atom:
        """Return elements `start` to `end` of an atom as an atom."""
        if atom.of is None:
            whole = self._as_vector(atom)
            return self._atom("linear", end - start, self.part(whole, start, end))
        return self._atom(atom.kind, end - start, self.part(atom.of, start, end))

    def _polynomial(self, vector: Vector) -> Vector:
        """Return a vector whose factors are numbers, and whose constant is one number."""
        plain = all(isinstance(each, float) for each in vector.terms.values())
        if plain and np.unique(vector.constant).size == 1:
            return _vector(vector.size, vector.terms, vector.constant[:1])
        return self._as_vector(self._atom("linear", vector.size, vector))

    def _atom(self, kind: str, size: int, of: Vector | None) -> Atom:
        """Return the atom of these facts."""
        key = (kind, size, None if of is None else of.key)
        if key not in self._atoms:
            self._atoms[key] = Atom(kind, size, len(self._atoms), of)
        return self._atoms[key]

    @staticmethod
    def _as_vector(atom: Atom) -> Vector:
        """Return an atom as a vector."""
        return _vector(atom.size, {(atom,): 1.0}, tables.zeros(1))


def joined(vectors: Sequence[Vector]) -> Vector:
    """Return vectors one after the other."""
    size = sum(each.size for each in vectors)
    total, start = _vector(size, {}, tables.zeros(size)), 0
    for each in vectors:
        place = tables.zeros((each.size, size))
        place[:, start : start + each.size] = tables.eye(each.size)
        total, start = total.plus(each.times(place)), start + each.size
    return total


def _vector(size: int, terms: dict[Monomial, Factor], constant: NDArray[np.float64]) -> Vector:
    """Return a vector in its plainest form."""
    plain = {each: _plainest(factor) for each, factor in terms.items()}
    return Vector(
        size, {each: factor for each, factor in plain.items() if not is_number(factor, 0)}, constant
    )


def _plainest(factor: Factor) -> Factor:
    """Return a multiple of the identity, or of no matrix at all, as a number."""
    if isinstance(factor, float):
        return factor
    if not factor.any():
        return 0.0
    rows, columns = factor.shape
    if rows == columns and np.array_equal(factor, factor[0, 0] * tables.eye(rows)):
        return float(factor[0, 0])
    return factor


def _sum(one: Factor, other: Factor, size: int) -> Factor:
    """Return the sum of two factors of a monomial."""
    if isinstance(one, float) and isinstance(other, float):
        return one + other
    if is_number(one, 0.0) or is_number(other, 0.0):
        return other if is_number(one, 0.0) else one
    a, b = (each * tables.eye(size) if isinstance(each, float) else each for each in (one, other))
    return a + b


def _digest(factor: Factor) -> object:
    """Return what is equal for equal factors."""
    return factor if isinstance(factor, float) else (factor.shape, hash(factor.tobytes()))
