"""Which target value stands for which source value, in a graph and in the branches of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from atc_py.frontend.model import SourceValue
    from atc_py.ir import Value

__all__ = ["Scope"]


class Scope:
    """The values of a graph, or of a branch that also sees those around it.

    A branch runs only where it is taken, so what it takes from around it passes a gate: `gate`
    gives the value that is alive only then. Constants need none.

    Attributes:
        gated: the values that have passed this scope's gate.
    """

    def __init__(
        self, outer: Scope | None = None, gate: Callable[[Value], Value] | None = None
    ) -> None:
        self.gated: set[Value] = set()
        self._outer = outer
        self._gate = gate
        self._values: dict[SourceValue, Value] = {}

    def find(self, source: SourceValue) -> Value | None:
        """What stands for `source` here; None where nothing does so far."""
        if source in self._values:
            return self._values[source]
        found = None if self._outer is None else self._outer.find(source)
        if found is not None:
            found = self._values[source] = self.pass_gate(found)
        return found

    def bind(self, source: SourceValue, value: Value) -> None:
        """Let `value` stand for `source` from here on."""
        self._values[source] = value

    def pass_gate(self, value: Value) -> Value:
        """`value` as it is alive in this scope only; a constant and what is in no branch as is."""
        if self._gate is None or value.const is not None:
            return value
        return self.close(value)

    def close(self, value: Value) -> Value:
        """`value`, whatever it is, behind the gate of this scope."""
        if self._gate is None:
            return value
        passed = self._gate(value)
        self.gated.add(passed)
        return passed
