"""Launches of two models matched by the network's nodes that they compute."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from atc_py.compare.offline.sides import Side, SideLaunch
from atc_py.results.model_diff import (
    ConversionDifference,
    DiffLaunch,
    DiffTensor,
    LaunchDifference,
)


def matched_launches(first: Side, second: Side) -> list[LaunchDifference]:
    """Groups of launches that share nodes, in the order of the first model's launches.

    A group is as small as it can be: launches of both sides that have no node in common with any
    other. Where no fusion differs it is one launch of each.
    """
    sides = [_computing(first.launches), _computing(second.launches)]
    parent: dict[tuple[int, int], tuple[int, int]] = {}

    def root(key: tuple[int, int]) -> tuple[int, int]:
        while parent.get(key, key) != key:
            parent[key] = parent.get(parent[key], parent[key])  # halves the path
            key = parent[key]
        return key

    owner: dict[str, tuple[int, int]] = {}
    for side, launches in enumerate(sides):
        for at, launch in enumerate(launches):
            for node in launch.nodes or (launch.name,):
                known = owner.setdefault(node, (side, at))
                parent[root((side, at))] = root(known)
    groups: defaultdict[tuple[int, int], tuple[list[DiffLaunch], list[DiffLaunch]]]
    groups = defaultdict(lambda: ([], []))
    for side, launches in enumerate(sides):
        for at, launch in enumerate(launches):
            groups[root((side, at))][side].append(launch)
    return [
        LaunchDifference(_differences(*group), tuple(group[0]), tuple(group[1]))
        for group in groups.values()
    ]


def matched_conversions(first: Side, second: Side) -> list[ConversionDifference]:
    """Conversions by what they change and where their operand comes from."""
    counts = [_conversions(side.launches) for side in (first, second)]
    return [
        ConversionDifference(*key, first=counts[0][key], second=counts[1][key])
        for key in dict.fromkeys([*counts[0], *counts[1]])
    ]


def _computing(launches: Iterable[SideLaunch]) -> list[DiffLaunch]:
    return [each.launch for each in launches if not each.conversion]


def _conversions(launches: Iterable[SideLaunch]) -> Counter[tuple[str, str, str]]:
    return Counter(
        (each.launch.operators[-1], each.conversion, each.source)
        for each in launches
        if each.conversion
    )


def _differences(first: Sequence[DiffLaunch], second: Sequence[DiffLaunch]) -> tuple[str, ...]:
    if not first or not second:
        return ("only in one",)
    if len(first) != 1 or len(second) != 1:
        return ("fusion",)
    (one,), (other,) = first, second
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
