"""A check to which findings are added after all rules were asked."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from atc_py.check.findings import NodeCount, Standing, worst
from atc_py.check.findings_builder import operator_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.check.findings import Finding, ModelCheck
    from atc_py.source import ModelView

__all__ = ["amended"]


def amended(check: ModelCheck, view: ModelView, further: Sequence[Finding]) -> ModelCheck:
    """`check` of `view` with `further` findings, each once, and what they make of the nodes."""
    new = [each for each in dict.fromkeys(further) if each not in check.findings]
    if not new:
        return check
    worse: dict[tuple[int | None, str | None, str | None], Standing] = {}
    for each in new:
        key = (each.place.node, each.place.node_name, each.place.op_type)
        worse[key] = worst((each.standing, worse.get(key, Standing.SUPPORTED)))
    rows = []
    counts: dict[str, Counter[Standing]] = {}
    for node, row in zip(view.nodes, check.rows, strict=True):
        added = worse.get((node.index, node.name, node.op_type), Standing.SUPPORTED)
        rows.append(replace(row, standing=worst((row.standing, added))))
        counts.setdefault(operator_label(node), Counter())[rows[-1].standing] += 1
    return replace(
        check,
        findings=(*check.findings, *new),
        rows=tuple(rows),
        operators=tuple(_recounted(check.operators, counts)),
    )


def _recounted(
    operators: Sequence[NodeCount], counts: dict[str, Counter[Standing]]
) -> list[NodeCount]:
    """The operators with new counts, the ones with the worst standing first."""
    found = [NodeCount(row.op, row.listed, dict(counts[row.op])) for row in operators]
    return sorted(
        found, key=lambda row: (min(each.rank for each in row.counts), -row.total, row.op)
    )
