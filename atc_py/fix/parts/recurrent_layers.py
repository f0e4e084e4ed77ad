"""LSTM and GRU among recurrences, with their weights in ONNX's order of gates.

ONNX, LSTM: C = f . C' + i . c, H = o . tanh(C); GRU: H = (1 - z) . h + z . H', where C' and H' are the
states before the step, `.` is the elementwise product, i, o, f, z, r are Sigmoid and c, h Tanh of sums
of products with W (of the slice) and R (of H').
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from atc_py.fix import tables
from atc_py.fix.parts.vectors import is_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from atc_py.fix.parts.vectors import Atom, Vector

__all__ = ["CellLayer", "gru_of", "lstm_of"]

_PAIR = 2


@dataclass(frozen=True, slots=True)
class CellLayer:
    """A recurrent layer.

    Attributes:
        op_type: LSTM or GRU.
        size: elements of its state.
        w: weights of the slice, [1, gates * size, elements of the slice].
        r: weights of the state, [1, gates * size, size].
        b: biases of both, [1, 2 * gates * size].
        states: positions of its states among those of the loop.
        attributes: of the node, apart from the size.
    """

    op_type: str
    size: int
    w: NDArray[np.float64]
    r: NDArray[np.float64]
    b: NDArray[np.float64]
    states: tuple[int, ...]
    attributes: Mapping[str, Any]


class _Gate(NamedTuple):
    """The argument of a gate: factors of the slice and of the state, and constants of both."""

    w: NDArray[np.float64]
    r: NDArray[np.float64]
    wb: NDArray[np.float64]
    rb: NDArray[np.float64]


def lstm_of(
    updates: Mapping[int, Vector], h: int, c: int, x: tuple[str, int], names: Mapping[int, str]
) -> CellLayer | None:
    """Return the LSTM whose states are `h` and `c`; None if it is none.

    Args:
        updates: what the states become, by position.
        h: position of the state that it returns.
        c: position of its cell.
        x: kind of the atom of the slice, and its number of elements.
        names: kinds of the atoms of the states.
    """
    cell, out = _products(updates[c]), _products(updates[h])
    if cell is None or out is None or (len(cell), len(out)) != (_PAIR, 1):
        return None
    kept = next((each for each in cell if names[c] in _kinds(each)), None)
    added = next((each for each in cell if each is not kept), None)
    if kept is None or added is None:
        return None
    forget, gate = _of_kind(kept, "Sigmoid"), _of_kind(added, "Sigmoid")
    new, shown, tanh = (
        _of_kind(added, "Tanh"),
        _of_kind(out[0], "Sigmoid"),
        _of_kind(out[0], "Tanh"),
    )
    if tanh is None or tanh.of is None or tanh.of.key != updates[c].key:
        return None
    atoms = (gate, shown, forget, new)
    gates = [_gate(each, x, (names[h], updates[h].size)) for each in atoms]
    return _layer("LSTM", gates, (h, c), {})


def gru_of(
    updates: Mapping[int, Vector], h: int, x: tuple[str, int], names: Mapping[int, str]
) -> CellLayer | None:
    """Return the GRU whose state is `h`; None if it is none. Arguments are those of `lstm_of`."""
    update = updates[h]
    new = next((a for m in update.terms for a in m if a.kind == "Tanh"), None)
    z = next((a for m in update.terms for a in m if a.kind == "Sigmoid"), None)
    state = next((a for m in update.terms for a in m if a.kind == names[h]), None)
    if new is None or z is None or state is None or update.constant.any():
        return None
    found = {frozenset(monomial): factor for monomial, factor in update.terms.items()}
    signs = {
        1.0: {frozenset({new}): 1.0, frozenset({z, new}): -1.0, frozenset({z, state}): 1.0},
        -1.0: {frozenset({state}): 1.0, frozenset({z, state}): -1.0, frozenset({z, new}): 1.0},
    }
    # A gate with its roles exchanged is the Sigmoid of the negative.
    sign = next((sign for sign, wanted in signs.items() if wanted == found), None)
    if sign is None:
        return None
    own = names[h], update.size
    last, reset, linear = _new_gate(new, x, own)
    first, second = _gate(z, x, own), _gate(reset, x, own)
    if first is not None:
        first = _Gate(*(sign * each for each in first))
    attributes = {"linear_before_reset": int(linear)}
    return _layer("GRU", [first, second, last], (h,), attributes)


def _new_gate(
    atom: Atom, x: tuple[str, int], h: tuple[str, int]
) -> tuple[_Gate | None, Atom | None, bool]:
    """Return the gate of the new state of a GRU, its reset gate, and if that comes after the product."""
    vector = atom.of
    pairs = [each for each in (vector.terms if vector else {}) if len(each) == _PAIR]
    if vector is None or len(pairs) != 1 or len(vector.terms) > _PAIR:
        return None, None, False
    (pair,) = pairs
    reset = _of_kind(pair, "Sigmoid")
    rest = next((each for each in pair if each is not reset), None)
    w = tables.zeros((x[1], vector.size))
    for monomial, factor in vector.terms.items():
        if monomial is not pair:
            if monomial[0].kind != x[0]:
                return None, None, False
            w = _matrix(factor, x[1])
    bias, factor = vector.whole_constant, vector.terms[pair]
    if rest is None:
        return None, None, False
    if rest.kind == h[0]:
        return _Gate(w, _matrix(factor, h[1]), bias, np.zeros_like(bias)), reset, False
    inner = None if rest.kind != "linear" else _gate(rest, x, h)
    if inner is None or inner.w.any() or not is_number(factor, 1.0):
        return None, None, False
    return _Gate(w, inner.r, bias, inner.wb), reset, True


def _products(vector: Vector) -> list[tuple[Atom, ...]] | None:
    """Return the products of two atoms that a vector is the sum of; None if it is another sum."""
    plain = all(
        len(each) == _PAIR and is_number(factor, 1.0) for each, factor in vector.terms.items()
    )
    return list(vector.terms) if plain and not vector.constant.any() else None


def _kinds(monomial: Sequence[Atom]) -> set[str]:
    return {atom.kind for atom in monomial}


def _of_kind(monomial: Sequence[Atom], kind: str) -> Atom | None:
    """Return the first atom of a kind; None if there is none."""
    return next((atom for atom in monomial if atom.kind == kind), None)


def _gate(atom: Atom | None, x: tuple[str, int], h: tuple[str, int]) -> _Gate | None:
    """Return the argument of an atom; None if it has more than the slice and the state."""
    if atom is None or atom.of is None:
        return None
    known = {kind: tables.zeros((size, atom.size)) for kind, size in (x, h)}
    for monomial, factor in atom.of.terms.items():
        if len(monomial) != 1 or monomial[0].kind not in known:
            return None
        known[monomial[0].kind] = _matrix(factor, monomial[0].size)
    bias = atom.of.whole_constant
    return _Gate(known[x[0]], known[h[0]], bias, np.zeros_like(bias))


def _matrix(factor: float | NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return a factor as a matrix."""
    return factor * tables.eye(size) if isinstance(factor, float) else factor


def _layer(
    op_type: str,
    gates: Sequence[_Gate | None],
    states: tuple[int, ...],
    attributes: Mapping[str, Any],
) -> CellLayer | None:
    """Return a layer, given its gates in ONNX's order; None if one is missing."""
    known = [each for each in gates if each is not None]
    if len(known) < len(gates):
        return None
    size = known[0].r.shape[0]
    if any(each.r.shape != (size, size) for each in known):
        return None
    w = np.concatenate([each.w.T for each in known])[None]
    r = np.concatenate([each.r.T for each in known])[None]
    biases = [each.wb for each in known] + [each.rb for each in known]
    return CellLayer(op_type, size, w, r, np.concatenate(biases)[None], states, attributes)
