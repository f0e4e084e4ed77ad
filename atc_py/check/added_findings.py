"""Changes to a check after all rules were asked, and the exception of a model that breaks some."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from atc_py.check.findings import Finding, ModelCheck, NodeCount, NodeRow, Standing, ranked, worst
from atc_py.check.findings_builder import labelled
from atc_py.diag import AtcError, Diagnostic
from atc_py.onnx_graph.source import SourceModel
from atc_py.spec import Library
from atc_py.system.structs import replace

_Key: TypeAlias = tuple[int | None, str | None, str | None]


def amended(check: ModelCheck, view: SourceModel, further: Sequence[Finding]) -> ModelCheck:
    """`check` of `view` with `further` findings, each once, and the nodes' new standing."""
    known = set(check.findings)
    new = [finding for finding in dict.fromkeys(further) if finding not in known]
    if not new:
        return check
    worse: dict[_Key, Standing] = {}
    for finding in new:
        key = _key(finding)
        worse[key] = worst((finding.standing, worse.get(key, Standing.SUPPORTED)))
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
    findings = tuple(undecided.get(finding, finding) for finding in check.findings)
    faults = tuple(fault for fault in check.faults if fault not in gone)
    faulty = {fault.place.node for fault in faults if fault.place}
    errors = {_key(finding) for finding in findings if finding.standing is Standing.ERROR}
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
    counts: dict[str, Counter[Standing]] = {}
    for node, row in zip(view.all_nodes, rows, strict=True):
        label = labelled(node.op_type, node.domain)
        counts.setdefault(label, Counter())[row.standing] += 1
    operators = (NodeCount(row.op, row.listed, dict(counts[row.op])) for row in check.operators)
    return replace(check, rows=tuple(rows), operators=ranked(operators))


def with_kept(check: ModelCheck, specs: Library) -> ModelCheck:
    """`check` with the names of its operators that `specs` keeps; verdicts stay.

    Raises:
        AtcError: BAD_SPEC where the file of an operator has a fault.
    """
    names = sorted(row.op.rpartition("::")[2] for row in check.operators if row.listed)
    listed = ((name, specs.find(name)) for name in dict.fromkeys(names))
    return replace(check, kept=tuple(name for name, spec in listed if spec and spec.kept))


class RulesBrokenError(AtcError):
    """A model cannot be compiled: it contradicts itself, breaks rules, or needs missing lowerings.

    Attributes:
        check: all findings, also those that do not prevent compilation.
        missing: operators that are on the list and do not compile yet.
    """

    def __init__(self, check: ModelCheck, missing: Iterable[Diagnostic] = ()) -> None:
        self.check = check
        self.missing = tuple(missing)
        errors = [finding for finding in check.findings if finding.standing is Standing.ERROR]
        super().__init__(
            *check.faults, *(problem.diagnostic() for problem in errors), *self.missing
        )
