"""A model's device memory, as tables."""

from atc_py.report.tables import Table, format_bytes
from atc_py.results.memory_facts import MemoryFacts
from atc_py.text import COMMA, Text
from atc_py.text.language import spoken

_SHOWN = 12
"""Tensors of the widest moment that the table lists; JSON has all."""

_AT_RUN = Text(", and values with dims known only at run time")


def memory_row(facts: MemoryFacts | None) -> tuple[tuple[str, str], ...]:
    if facts is None:
        return ()
    text = Text("{total}; arena {arena}")
    return (
        ("memory", text.with_values(total=format_bytes(facts.total), arena=_arena_text(facts))),
    )


def memory_tables(facts: MemoryFacts | None) -> list[Table]:
    if facts is None:
        return []
    values = [
        Text("{n} in the arena", n=facts.shared),
        Text("{n} inside a launch", n=facts.on_chip),
    ]
    if facts.at_run:
        values.append(Text("{n} with dims known only at run time", n=facts.at_run))
    rows = [
        ("weights", format_bytes(facts.weights)),
        ("inputs", format_bytes(facts.inputs)),
        ("outputs", format_bytes(facts.outputs) + (_AT_RUN if facts.at_run else "")),
        ("arena", _arena_text(facts)),
        ("workspace", format_bytes(facts.workspace)),
        ("total", format_bytes(facts.total)),
        ("values", COMMA.join(values)),
    ]
    tables = [Table("Memory", ("", ""), tuple(rows))]
    if facts.tensors:
        tables.append(_widest(facts))
    return tables


def _arena_text(facts: MemoryFacts) -> str:
    if not facts.arena:
        return Text("empty")
    text = Text(
        "{size}, {ratio} x the lower bound",
        size=format_bytes(facts.arena),
        ratio=f"{facts.ratio:.2f}",
    )
    return text if facts.reuse else text + Text(": reuse is switched off")


def _widest(facts: MemoryFacts) -> Table:
    rows = [
        (tensor.name, tensor.type, str(tensor.offset), format_bytes(tensor.nbytes))
        for tensor in facts.tensors[:_SHOWN]
    ]
    more = len(facts.tensors) - len(rows)
    if more:
        rest = sum(tensor.nbytes for tensor in facts.tensors[_SHOWN:])
        rows.append((spoken(Text("{more} more", more=more)), "", "", format_bytes(rest)))
    title = Text("Peak: {bytes} while {node} ({op}) runs")
    title = title.with_values(bytes=format_bytes(facts.lower_bound), node=facts.node, op=facts.op)
    return Table(title, ("tensor", "type", "offset>", "size>"), tuple(rows))
