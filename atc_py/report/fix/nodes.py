"""Nodes that rules rewrote before compilation or quantization, as a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from atc_py.report.tables import Table
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.results.fixing import FixedNode


_NAMED = 3


def fixed_nodes_table(nodes: Iterable[FixedNode]) -> Table:
    """Operators and rules with the nodes that they rewrote; nodes alike share a row."""
    rows: dict[tuple[str, str], list[str]] = defaultdict(list)
    for node in nodes:
        label = f'{node.node} "{node.name}"' if node.name else str(node.node)
        rows[node.operator, ", ".join(node.rules)].append(label)
    return Table(
        "Rewritten by --fix",
        ("nodes>", "operator", "rules", "places in the file"),
        tuple((str(len(row)), *key, node_list(row)) for key, row in rows.items()),
        said=(3,),
    )


def node_list(labels: list[str]) -> str:
    """The first few labels, and how many more there are."""
    # One more label takes no more room than the words that it is left out.
    most = len(labels) if len(labels) == _NAMED + 1 else _NAMED
    rest = len(labels) - most
    return ", ".join(labels[:most]) + (Text(" and {left} more", left=rest) if rest > 0 else "")
