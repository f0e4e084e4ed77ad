"""The registry of lowering functions: operator and version to function."""

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias

from atc_py.ir import Value
from atc_py.lowering import ops
from atc_py.lowering.builder import Builder
from atc_py.lowering.op_modules import OPERATORS

Lowering: TypeAlias = Callable[[Builder], Sequence[Value]]


_REGISTRY: dict[str, dict[int, Lowering]] = {}


def lowering(op_type: str, since: int = 1) -> Callable[[Lowering], Lowering]:
    """Register a function that lowers `op_type` from version `since` of its definition on.

    The function takes a builder for one source node and returns one target value for each output
    of that node that it can produce, in order.

    Raises:
        ValueError: that operator and version is taken; the message names both places.
    """

    def register(function: Lowering) -> Lowering:
        versions = _REGISTRY.setdefault(op_type, {})
        if since in versions:
            raise ValueError(
                f"lowering of {op_type} since {since} in {_where(function)} "
                f"clashes with {_where(versions[since])}"
            )
        versions[since] = function
        return function

    return register


def find_lowering(op_type: str, since_version: int) -> Lowering | None:
    """Find the function for the newest version of `op_type` up to `since_version`."""
    versions = _versions(op_type)
    fitting = [since for since in versions if since <= since_version]
    return versions[max(fitting)] if fitting else None


def lowering_versions(op_type: str) -> tuple[int, ...]:
    """The versions from which on functions for `op_type` are registered, oldest first."""
    return tuple(sorted(_versions(op_type)))


def lowered_operators() -> dict[str, tuple[str, ...]]:
    """Every module of `ops/` with the operators that its functions lower, sorted."""
    found: dict[str, list[str]] = {name: [] for name in _modules()}
    for name in found:
        importlib.import_module(f"{ops.__name__}.{name}")
    for op_type, versions in sorted(_REGISTRY.items()):
        for module in sorted({each.__module__ for each in versions.values()}):
            package, _, name = module.rpartition(".")
            if package == ops.__name__:
                found[name].append(op_type)
    return {name: tuple(operators) for name, operators in found.items()}


@cache
def _versions(op_type: str) -> dict[int, Lowering]:
    """The functions of an operator by version, after importing the modules that hold them.

    A module that the table does not list may hold any operator's.
    """
    for name in _modules():
        if name not in OPERATORS or op_type in OPERATORS[name]:
            importlib.import_module(f"{ops.__name__}.{name}")
    return _REGISTRY.setdefault(op_type, {})


@cache
def _modules() -> tuple[str, ...]:
    """The names of the modules of `ops/`."""
    return tuple(module.name for module in pkgutil.iter_modules(ops.__path__))


def _where(function: Lowering) -> str:
    """`module.function`, to name a place."""
    return f"{function.__module__}.{getattr(function, '__qualname__', '?')}"
