"""Changes to a check after all rules were asked."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from atc_py.check.findings import Finding, ModelCheck, NodeCount, NodeRow, Standing, worst
from atc_py.check.findings_builder import operator_label
from atc_py.diag import Diagnostic
from atc_py.onnx_graph.source import SourceModel
from atc_py.system.structs import replace

_Key: TypeAlias = tuple[int | None, str | None, str | None]


def amended(check: ModelCheck, view: SourceModel, further: Sequence[Finding]) -> ModelCheck:
    """`check` of `view` with `further` findings, each once, and the nodes' new standing."""
    known = set(check.findings)
    new = [each for each in dict.fromkeys(further) if each not in known]
    if not new:
        return check
    worse: dict[_Key, Standing] = {}
    for each in new:
        key = _key(each)
        worse[key] = worst((each.standing, worse.get(key, Standing.SUPPORTED)))
    rows = []
    for node, row in zip(view.all_nodes, check.rows, strict=True):
        added = worse.get((node.index, node.name, node.op_type), Standing.SUPPORTED)
        rows.append(replace(row, standing=worst((row.standing, added))))
    return _with_rows(replace(check, findings=(*check.findings, *new)), view, rows)


def without_errors(
    check: ModelCheck,
    view: SourceModel,
    undecided: Mapping[Finding, Finding],
    gone: Collection[Diagnostic],
) -> ModelCheck:
    """`check` of `view` with some errors turned undecided, and without some faults.

    Args:
        check: the check.
        view: the model.
        undecided: the replacement of each such error.
        gone: the faults to remove.
    """
    if not (undecided or gone):
        return check
    findings = tuple(undecided.get(each, each) for each in check.findings)
    faults = tuple(each for each in check.faults if each not in gone)
    faulty = {each.place.node for each in faults if each.place}
    errors = {_key(each) for each in findings if each.standing is Standing.ERROR}
    rows = [
        replace(row, standing=Standing.UNKNOWN)
        if row.standing is Standing.ERROR
        and node.index not in faulty
        and (node.index, node.name, node.op_type) not in errors
        else row
        for node, row in zip(view.all_nodes, check.rows, strict=True)
    ]
    return _with_rows(replace(check, findings=findings, faults=faults), view, rows)


def _key(finding: Finding) -> _Key:
    return finding.place.node, finding.place.node_name, finding.place.op_type


def _with_rows(check: ModelCheck, view: SourceModel, rows: Sequence[NodeRow]) -> ModelCheck:
    """The check with other standings of nodes, the operators counted anew."""
    counts: dict[str, Counter[Standing]] = {}
    for node, row in zip(view.all_nodes, rows, strict=True):
        counts.setdefault(operator_label(node), Counter())[row.standing] += 1
    operators = (NodeCount(row.op, row.listed, dict(counts[row.op])) for row in check.operators)
    ranked = sorted(
        operators, key=lambda row: (min(each.rank for each in row.counts), -row.total, row.op)
    )
    return replace(check, rows=tuple(rows), operators=tuple(ranked))
