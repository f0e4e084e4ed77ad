"""The target value of each source value, in a graph and in its branches."""

from __future__ import annotations

from collections.abc import Callable

from atc_py.ir import Value
from atc_py.onnx_graph.source import SourceTensor


class Scope:
    """The values of a graph, or of a branch that also sees those around it.

    A branch runs only where it is taken, so what it takes from around it passes a gate: `gate`
    gives the value that is alive only then. Constants need none.
    """

    def __init__(
        self, outer: Scope | None = None, gate: Callable[[Value], Value] | None = None
    ) -> None:
        self._gated: set[Value] = set()
        self._outer = outer
        self._gate = gate
        self._values: dict[SourceTensor, Value] = {}

    def find(self, source: SourceTensor) -> Value | None:
        """The stand-in for `source` here; None where there is none so far."""
        if source in self._values:
            return self._values[source]
        found = None if self._outer is None else self._outer.find(source)
        if found is not None:
            found = self._values[source] = found if found.const is not None else self._passed(found)
        return found

    def bind(self, source: SourceTensor, value: Value) -> None:
        """Let `value` stand for `source` from here on; a constant in the graphs around as well.

        So branches that take one constant from around them share it.
        """
        if value.const is not None and self._outer is not None:
            self._outer.bind(source, value)
        else:
            self._values[source] = value

    def close(self, value: Value) -> Value:
        """`value` alive in this scope only: after the gate unless it is there."""
        if self._gate is None or self._is_gated(value):
            return value
        return self._passed(value)

    def _passed(self, value: Value) -> Value:
        """`value` after the gate; `value` itself in a graph that is not a branch."""
        if self._gate is None:
            return value
        passed = self._gate(value)
        self._gated.add(passed)
        return passed

    def _is_gated(self, value: Value) -> bool:
        """True if `value` comes, by whatever way, from one that passed the gate.

        That is enough, since every way into a Merge is dead where one is: what leaves a branch is
        after its gate, and the condition of an If in this scope is after the gate of the scope.
        """
        seen: set[Value] = set()
        pending = [value]
        while pending:
            each = pending.pop()
            if each in self._gated:
                return True
            if each not in seen and each.producer is not None:
                seen.add(each)
                pending.extend(each.producer.present_inputs)
        return False
