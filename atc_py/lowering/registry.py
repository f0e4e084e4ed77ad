"""The registry of lowering functions: operator and version to function."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from atc_py.ir import Value
from atc_py.lowering.builder import Builder
from atc_py.system.register import Register, place_of

Lowering: TypeAlias = Callable[[Builder], Sequence[Value]]


LOWERINGS: Register[tuple[str, int], Lowering] = Register(
    "lowering of", "atc_py.lowering.ops", sparse=True
)
"""By operator and the version from which on a function lowers it; many operators need none."""


def lowering(op_type: str, since: int = 1) -> Callable[[Lowering], Lowering]:
    """Register a function that lowers `op_type` from version `since` of its definition on.

    The function takes a builder for one source node and returns one target value for each output
    of that node that it can produce, in order.

    Raises:
        ValueError: that operator and version is taken; the message names both places.
    """

    def register(function: Lowering) -> Lowering:
        LOWERINGS.add((op_type, since), function, place_of(function))
        return function

    return register


def find_lowering(op_type: str, since_version: int) -> Lowering | None:
    """Find the function for the newest version of `op_type` up to `since_version`."""
    fitting = [since for since in lowering_versions(op_type) if since <= since_version]
    return LOWERINGS.get((op_type, fitting[-1])) if fitting else None


def lowering_versions(op_type: str) -> tuple[int, ...]:
    """The versions from which on functions for `op_type` are registered, oldest first."""
    return tuple(sorted(since for _, since in LOWERINGS.named(op_type)))
