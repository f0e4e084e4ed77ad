"""Rewrites of a model: the rules that were applied to one node and to what was written in its place."""

from collections.abc import Iterable

from atc_py.fix.fixed import Applied


def rewrite_groups(applied: Iterable[Applied]) -> list[tuple[Applied, ...]]:
    """Return the steps of each rewrite, the node of the file first, in the order of the nodes."""
    groups: list[list[Applied]] = []
    by_value: dict[str, list[Applied]] = {}
    for each in applied:
        several = next(
            (by_value[name] for name in each.step.origin.writes if name in by_value), None
        )
        if several is None:
            several = []
            groups.append(several)
        several.append(each)
        for node in each.step.written:
            by_value.update(dict.fromkeys(node.writes, several))
    return [tuple(each) for each in sorted(groups, key=lambda each: each[0].node.index)]
