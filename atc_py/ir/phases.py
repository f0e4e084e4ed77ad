"""Phases: what must hold of a graph, in the order in which compilation reaches them."""

from enum import IntEnum


class Phase(IntEnum):
    """Progress of a graph; a later phase keeps what the earlier ones promise.

    LOWERED: every node is a target operator with its inputs and attributes.
    TYPED: every node has an engine and its dtypes are one of that engine's columns.
    LAID_OUT: every value has a format that its producer and consumers accept.
    PLACED: every value has a place in memory.
    """

    LOWERED = 1
    TYPED = 2
    LAID_OUT = 3
    PLACED = 4

    @property
    def label(self) -> str:
        return self.name.lower()
