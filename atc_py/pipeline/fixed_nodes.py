"""The nodes of a file that rules rewrote, as records of later stages name them."""

from collections.abc import Iterable

from atc_py.fix.fixed import Applied
from atc_py.results.fixing import FixedNode


def fixed_nodes(applied: Iterable[Applied]) -> tuple[FixedNode, ...]:
    """Each rewritten node of the file once, with its rules, in the order of the nodes."""
    found: dict[tuple[int, str], FixedNode] = {}
    for each in applied:
        node, rule = each.node, each.rule.name
        known = found.get((node.index, node.name))
        operator = known.operator if known else node.replaces or node.op_type
        rules = dict.fromkeys((*(known.rules if known else ()), rule))
        found[node.index, node.name] = FixedNode(node.index, node.name, operator, tuple(rules))
    return tuple(found[place] for place in sorted(found))
