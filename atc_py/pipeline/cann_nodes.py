"""The nodes of a file that were written as CANN computes them, as records of later stages name them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from atc_py.results.cann_nodes import CannDeviation, CannNode

if TYPE_CHECKING:
    from atc_py.fix.as_cann import WrittenOut


def cann_nodes(written: Iterable[WrittenOut]) -> tuple[CannNode, ...]:
    """Return each deviating node of the file once, with its deviations, in the order of the nodes."""
    found: dict[tuple[int, str], CannNode] = {}
    for each in written:
        node, row = each.node, each.met.row
        key = node.index, node.name
        known = found.get(key)
        said = CannDeviation(f"{each.operator}/{row.name}", each.met.certainty.value, row.effect.en)
        deviations = (*(known.deviations if known else ()), said)
        operator = known.operator if known else node.replaces or node.op_type
        # A rule may have made several nodes of one: each meets the deviation.
        found[key] = CannNode(*key, operator, tuple(dict.fromkeys(deviations)))
    return tuple(found[place] for place in sorted(found))
