"""A model's device memory, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag.language import spoken
from atc_py.report.tables import Table, format_bytes

if TYPE_CHECKING:
    from atc_py.results.memory_facts import MemoryFacts

__all__ = ["memory_row", "memory_tables"]

_SHOWN = 12
"""Tensors of the widest moment that the table lists; JSON has all."""


def memory_row(facts: MemoryFacts | None) -> tuple[tuple[str, str], ...]:
    """Return the row of a summary; none without a plan."""
    if facts is None:
        return ()
    return (("memory", f"{format_bytes(facts.total)}; {_arena_text(facts)}"),)


def memory_tables(facts: MemoryFacts | None) -> list[Table]:
    """Return the section on memory; empty without a plan."""
    if facts is None:
        return []
    rows = [
        ("weights", format_bytes(facts.weights)),
        ("inputs", format_bytes(facts.inputs)),
        (
            "outputs",
            format_bytes(facts.outputs)
            + ", and values with dims known only at run time" * _grows_at_run(facts),
        ),
        ("arena", _arena_text(facts).removeprefix("arena ")),
        ("workspace", format_bytes(facts.workspace)),
        ("total", format_bytes(facts.total)),
        ("values", _values_text(facts)),
    ]
    tables = [Table("Memory", ("", ""), tuple(rows))]
    if facts.tensors:
        tables.append(_widest(facts))
    return tables


def _grows_at_run(facts: MemoryFacts) -> bool:
    """Return True if the size of some memory is known only at run time."""
    return facts.at_run > 0


def _arena_text(facts: MemoryFacts) -> str:
    """Return the size of the arena, compared with its lower bound."""
    if not facts.arena:
        return "arena empty"
    text = f"arena {format_bytes(facts.arena)}, {facts.ratio:.2f} x the lower bound"
    return text if facts.reuse else f"{text}: reuse is switched off"


def _values_text(facts: MemoryFacts) -> str:
    """Return the counts of values by location."""
    parts = [f"{facts.shared} in the arena", f"{facts.on_chip} inside a launch"]
    if facts.at_run:
        parts.append(f"{facts.at_run} with dims known only at run time")
    return ", ".join(parts)


def _widest(facts: MemoryFacts) -> Table:
    """Return the tensors of the peak moment."""
    rows = [
        (tensor.name, tensor.type, str(tensor.offset), format_bytes(tensor.nbytes))
        for tensor in facts.tensors[:_SHOWN]
    ]
    more = len(facts.tensors) - len(rows)
    if more:
        rest = sum(tensor.nbytes for tensor in facts.tensors[_SHOWN:])
        rows.append((spoken(f"{more} more"), "", "", format_bytes(rest)))
    return Table(
        f"Widest moment: {format_bytes(facts.lower_bound)} while {facts.node} ({facts.op}) runs",
        ("tensor", "type", "offset>", "size>"),
        tuple(rows),
    )
