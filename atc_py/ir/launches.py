"""Launches: nodes of one scope are one launch, which happens at its last node.

A launch can only run once everything that its nodes read has been computed, and the last of them
stands after all producers. The compiler and the cost model group nodes here; the placement proof
and the simulator derive it on their own, so that they can find a mistake in this module.
"""

from collections.abc import Sequence
from typing import Protocol


class Scoped(Protocol):
    """A node with the number of its launch; 0 is a launch of its own."""

    @property
    def scope(self) -> int: ...


def launch_positions(nodes: Sequence[Scoped]) -> dict[int, list[int]]:
    """Group nodes by launch.

    Returns:
        The position of each launch's last node, ascending, with the positions of all its nodes in
        order. Views are among them: a launch of nothing but views launches nothing.
    """
    ends = {node.scope: position for position, node in enumerate(nodes) if node.scope}
    launches: dict[int, list[int]] = {}
    for position, node in enumerate(nodes):
        launches.setdefault(ends.get(node.scope, position), []).append(position)
    return dict(sorted(launches.items()))
