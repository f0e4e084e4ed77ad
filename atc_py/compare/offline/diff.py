"""The differences of two offline models."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from atc_py.compare.offline.sides import (
    Array,
    Side,
    SideConstant,
    SideLaunch,
    huawei_side,
    own_side,
)
from atc_py.device.opening import open_verified
from atc_py.diag import BAD_HUAWEI_MODEL, Place
from atc_py.package.foreign import is_huawei, is_model_json
from atc_py.package.ge.model import open_huawei
from atc_py.results.model_diff import (
    ConstantDifference,
    ConversionDifference,
    DiffLaunch,
    DiffSide,
    DiffTensor,
    LaunchDifference,
    ModelDiff,
)
from atc_py.text import Text


def diff_models(first: Path, second: Path) -> ModelDiff:
    """Compare two offline models, each of atc-py or of Huawei's atc, or the JSON of one."""
    with _opened(first) as one, _opened(second) as other:
        launches = tuple(matched_launches(one, other))
        conversions = tuple(matched_conversions(one, other))
        both = one.has_constants and other.has_constants
        constants = tuple(matched_constants(one.constants, other.constants)) if both else ()
    equal = sum(len(group.first) for group in launches if not group.differs)
    equal += sum(min(row.first, row.second) for row in conversions)
    total = len(one.launches) + len(other.launches)
    return ModelDiff(
        first=_side(first, one),
        second=_side(second, other),
        score=2 * equal / total if total else 1.0,
        equal=equal,
        launches=launches,
        conversions=conversions,
        constants=constants,
    )


@contextmanager
def _opened(path: Path) -> Iterator[Side]:
    """A model while its constants can be read."""
    if not (is_huawei(path) or is_model_json(path)):
        with open_verified(path) as model:
            yield own_side(model)
        return
    with open_huawei(path) as file:
        if not any(model.graphs for model in file.all_models()):
            raise BAD_HUAWEI_MODEL.error(
                Text("{file} has no graph that could be compared", file=path),
                place=Place(file=str(path)),
                help=Text("encrypted files and om2 archives have no readable graph"),
            )
        yield huawei_side(file)


def _side(path: Path, side: Side) -> DiffSide:
    conversions = sum(bool(each.conversion) for each in side.launches)
    return DiffSide(
        model=str(path),
        producer=side.producer,
        soc=side.soc,
        launches=len(side.launches),
        conversions=conversions,
        fused=sum(len(each.launch.nodes) > 1 for each in side.launches),
        memory=side.memory,
    )


def matched_launches(first: Side, second: Side) -> list[LaunchDifference]:
    """Groups of launches that share nodes, in the order of the first model's launches.

    A group is as small as it can be: launches of both sides that have no node in common with any
    other. Where no fusion differs it is one launch of each.
    """
    sides = _computing(first.launches), _computing(second.launches)
    names = [[launch.nodes or (launch.name,) for launch in launches] for launches in sides]
    groups = [
        ([sides[0][at] for at in one], [sides[1][at] for at in other])
        for one, other in linked_groups(*names)
    ]
    return [
        LaunchDifference(_differences(*group), tuple(group[0]), tuple(group[1])) for group in groups
    ]


def linked_groups(
    first: Sequence[Sequence[str]], second: Sequence[Sequence[str]]
) -> list[tuple[list[int], list[int]]]:
    """Positions of rows of names on both sides, in the smallest groups that share no name."""
    parent: dict[tuple[int, int], tuple[int, int]] = {}

    def root(key: tuple[int, int]) -> tuple[int, int]:
        while parent.get(key, key) != key:
            parent[key] = parent.get(parent[key], parent[key])  # halves the path
            key = parent[key]
        return key

    owner: dict[str, tuple[int, int]] = {}
    for side, rows in enumerate((first, second)):
        for at, names in enumerate(rows):
            for name in names:
                known = owner.setdefault(name, (side, at))
                parent[root((side, at))] = root(known)
    groups: defaultdict[tuple[int, int], tuple[list[int], list[int]]]
    groups = defaultdict(lambda: ([], []))
    for side, rows in enumerate((first, second)):
        for at in range(len(rows)):
            groups[root((side, at))][side].append(at)
    return list(groups.values())


def matched_conversions(first: Side, second: Side) -> list[ConversionDifference]:
    """Conversions by what they change and where their operand comes from."""
    counts = [
        Counter(
            (each.launch.operators[-1], each.conversion, each.source)
            for each in side.launches
            if each.conversion
        )
        for side in (first, second)
    ]
    return [
        ConversionDifference(*key, first=counts[0][key], second=counts[1][key])
        for key in dict.fromkeys([*counts[0], *counts[1]])
    ]


def _computing(launches: Iterable[SideLaunch]) -> list[DiffLaunch]:
    return [each.launch for each in launches if not each.conversion]


def _differences(first: Sequence[DiffLaunch], second: Sequence[DiffLaunch]) -> tuple[str, ...]:
    if not first or not second:
        return ("only in one",)
    if len(first) != 1 or len(second) != 1:
        alike = len(first) == len(second)
        pairs = zip(first, second, strict=False)
        return () if alike and not any(map(_differences_of_two, pairs)) else ("fusion",)
    return _differences_of_two((first[0], second[0]))


def _differences_of_two(launches: tuple[DiffLaunch, DiffLaunch]) -> tuple[str, ...]:
    one, other = launches
    found = []
    if set(one.nodes) != set(other.nodes):
        found.append("nodes")
    if sorted(one.operators) != sorted(other.operators):
        found.append("operators")
    if _types(one, "dtype") != _types(other, "dtype"):
        found.append("dtype")
    if _types(one, "format") != _types(other, "format"):
        found.append("format")
    return tuple(found)


def _types(launch: DiffLaunch, part: str) -> tuple[list[str], list[str]]:
    """Dtypes or formats of operands and of results, whatever their order."""

    def listed(tensors: Iterable[DiffTensor]) -> list[str]:
        return sorted(_plain(getattr(tensor, part)) for tensor in tensors)

    return listed(launch.inputs), listed(launch.outputs)


def _plain(name: str) -> str:
    """A format's name; tensors that are stored row by row have one."""
    return "ND" if name in {"NCHW", "NHWC", "NCDHW", "NDHWC", "HWCN"} else name


def matched_constants(
    first: Iterable[SideConstant], second: Iterable[SideConstant]
) -> Iterator[ConstantDifference]:
    """Constants of the same nodes in pairs: equal bytes first, then equal values, then the rest.

    A constant that several launches read is one for each. Those of one launch with several nodes
    meet those of all launches with a node of it.
    """
    sides = list(first), list(second)
    names = [[constant.nodes or ("",) for constant in constants] for constants in sides]
    for one, other in linked_groups(*names):
        yield from _matched([sides[0][at] for at in one], [sides[1][at] for at in other])


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
