"""The record of a fixed model: each rewritten node with its rules, assumptions and proof."""

from __future__ import annotations

from collections import defaultdict
from math import isfinite
from typing import TYPE_CHECKING

from atc_py.check.findings import Standing
from atc_py.compare.fix_assumptions import Assumptions
from atc_py.fix.registry import load_rules
from atc_py.fix.rule import Exactness
from atc_py.results.fixing import Difference, Left, NewNodePlace, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import onnx

    from atc_py.check.findings import Finding
    from atc_py.compare.proof import FixProof, ResultGap
    from atc_py.fix.engine import Applied, Fixed
    from atc_py.options.fix_rules import FixRules

__all__ = ["difference_of", "errors_left", "left_findings", "rewrites_of"]


def rewrites_of(
    fixed: Fixed,
    proof: FixProof | None,
    rules: FixRules,
    written: Sequence[onnx.NodeProto],
) -> Iterable[Rewrite]:
    """Yield the nodes that were replaced; those in branches by their names.

    Args:
        fixed: the model after fixing.
        proof: the differences; None without a proof.
        rules: the rules that may apply.
        written: the nodes of the file that was written.
    """
    by_place: dict[tuple[int, str], list[Applied]] = defaultdict(list)
    for applied in fixed.applied:
        by_place[applied.node.index, applied.node.name].append(applied)
    assumptions = Assumptions(fixed, rules)
    makers = _makers(written)
    for place in sorted(by_place):
        several = by_place[place]
        names = tuple(dict.fromkeys(each.rule.name for each in several))
        new = _new_nodes(several, makers)
        limit = sum(load_rules()[name].limit for name in names)
        found = None if proof is None else proof.regions.get(place)
        yield Rewrite(
            node=place[0],
            name=several[0].node.name,
            operator=several[0].node.op_type,
            rules=names,
            exactness=max(
                (each.rule.exactness for each in several), key=list(Exactness).index
            ).value,
            after=tuple(each.operator for each in new),
            difference=None if found is None else difference_of(found),
            limit=limit if isfinite(limit) else None,
            assumptions=assumptions.of(several),
            new=new,
        )


def _makers(written: Sequence[onnx.NodeProto]) -> Mapping[str, NewNodePlace]:
    """Return the nodes of the written file by the names of their results."""
    return {
        name: NewNodePlace(position, node.name, node.op_type)
        for position, node in enumerate(written)
        for name in node.output
        if name
    }


def _new_nodes(
    several: Iterable[Applied], makers: Mapping[str, NewNodePlace]
) -> tuple[NewNodePlace, ...]:
    """Return the nodes of the file that rules wrote in place of one node, in order."""
    names = (name for each in several for new in each.made for name in new.outputs)
    found = {makers[name] for name in names if name in makers}
    return tuple(sorted(found, key=lambda each: each.position))


def left_findings(fixed: Fixed) -> Iterable[Left]:
    """Yield the errors that are left."""
    for finding in errors_left(fixed):
        node = finding.place.node
        unfit = dict.fromkeys(
            (each.rule.name, each.reason) for each in fixed.unfit if each.node.index == node
        )
        yield Left(node, finding.place.op_type or "", finding.message, tuple(unfit))


def errors_left(fixed: Fixed) -> list[Finding]:
    """Return the findings of level error that are left."""
    return [each for each in fixed.after.check.findings if each.standing is Standing.ERROR]


def difference_of(found: ResultGap) -> Difference:
    """Return the figures of the record."""
    return Difference(found.error, found.differing, found.elements)
