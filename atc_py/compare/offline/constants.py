"""Constants of two models, matched by the network's nodes that read them."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from atc_py.compare.offline.sides import Array, SideConstant
from atc_py.results.model_diff import ConstantDifference

_Pair = tuple[list[SideConstant], list[SideConstant]]


def matched_constants(
    first: Iterable[SideConstant], second: Iterable[SideConstant]
) -> Iterator[ConstantDifference]:
    """Constants of the same nodes in pairs: equal bytes first, then equal values, then the rest.

    A constant that several launches read is one for each. Those of one launch with several nodes
    meet those of all launches with a node of it.
    """
    for pair in _by_nodes(list(first), list(second)):
        yield from _matched(*pair)


def _by_nodes(first: list[SideConstant], second: list[SideConstant]) -> Iterator[_Pair]:
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = parent[parent[name]]  # halves the path
            name = parent[name]
        return name

    sides = first, second
    for constant in (*first, *second):
        for node in constant.nodes[1:]:
            parent[root(node)] = root(constant.nodes[0])
    groups: defaultdict[str, _Pair] = defaultdict(lambda: ([], []))
    for side, constants in enumerate(sides):
        for constant in constants:
            key = root(constant.nodes[0]) if constant.nodes else ""
            groups[key][side].append(constant)
    yield from groups.values()


def _matched(first: list[SideConstant], second: list[SideConstant]) -> Iterator[ConstantDifference]:
    digests = defaultdict(list)
    for other in second:
        digests[_digest(other)].append(other)
    left = []
    for one in first:
        equal = digests[_digest(one)]
        if equal:
            yield _difference("bytes", one, equal.pop(0), 0.0)
        else:
            left.append(one)
    rest = [other for others in digests.values() for other in others]
    yield from _matched_values(left, rest)


def _matched_values(
    first: list[SideConstant], second: list[SideConstant]
) -> Iterator[ConstantDifference]:
    """Pairs by the nearest values, and the constants that are left."""
    values = [other.value() for other in second]
    free = dict.fromkeys(range(len(second)))
    for one in first:
        value = one.value()
        ranked = sorted((*_relation(value, values[at]), at) for at in free)
        best = next((row for row in ranked if row[0] != _UNLIKE), None)
        if best is None:
            yield _difference("first", one, None, None)
            continue
        rank, error, at = best
        del free[at]
        yield _difference(_RELATIONS[rank], one, second[at], error)
    for at in free:
        yield _difference("second", None, second[at], None)


_RELATIONS = ("value", "rounded", "different")
_VALUE, _ROUNDED, _DIFFERENT, _UNLIKE = range(4)


def _relation(first: Array | None, second: Array | None) -> tuple[int, float]:
    """The relation of two constants, the nearest first, and their largest difference."""
    if first is None or second is None or first.size != second.size:
        return _UNLIKE, 0.0
    one, other = _numbers(first), _numbers(second)
    if one is None or other is None:
        return _UNLIKE, 0.0
    if np.array_equal(one, other, equal_nan=True):
        return _VALUE, 0.0
    with np.errstate(all="ignore"):
        error = float(np.nanmax(np.abs(one - other), initial=0.0))
        narrow = min(first.dtype, second.dtype, key=lambda dtype: dtype.itemsize)
        narrowed = first.reshape(-1).astype(narrow), second.reshape(-1).astype(narrow)
    is_rounded = first.dtype != second.dtype and np.array_equal(
        narrowed[0], narrowed[1], equal_nan=True
    )
    return (_ROUNDED if is_rounded else _DIFFERENT), error


def _numbers(array: Array) -> Array | None:
    """The elements as float64 in one row."""
    try:
        return array.reshape(-1).astype(np.float64)
    except (TypeError, ValueError):
        return None


def _digest(constant: SideConstant) -> tuple[str, bytes]:
    return constant.dtype, hashlib.sha256(constant.stored()).digest()


def _difference(
    relation: str, first: SideConstant | None, second: SideConstant | None, error: float | None
) -> ConstantDifference:
    nodes: Sequence[str] = (first or second).nodes if (first or second) else ()  # type: ignore[union-attr]
    return ConstantDifference(relation, tuple(nodes), _named(first), _named(second), error)


def _named(constant: SideConstant | None) -> tuple[str, ...]:
    return () if constant is None else (constant.dtype, constant.format, constant.name)
