"""The record of a fixed model: each rewritten node with its rules, assumptions and proof."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from atc_py.check.findings import Finding, ModelCheck, Standing
from atc_py.check.parser_rules import is_of_model
from atc_py.diag import (
    DEVIATES_ON_CANN,
    FIX_DIFFERS,
    NOT_FINITE,
    REFUSED_BY_PARSER,
    AtcError,
    Diagnostic,
    Place,
)
from atc_py.fix.fixed import Applied, Fixed, closest_first
from atc_py.fix.rule import Exactness
from atc_py.fix.start import deciding_values
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.options.command_options import FixOptions
from atc_py.options.fix_rules import FixRules
from atc_py.results.fixing import Difference, Left, NewNodePlace, ProofData, Rewrite
from atc_py.system.structs import replace
from atc_py.text import Text, verbatim

if TYPE_CHECKING:
    from atc_py.compare.proof.region_proof import Disagreement, RegionProof
    from atc_py.compare.proof.result_gap import ResultGap
    from atc_py.compare.proof.target_proof import OnTarget
    from atc_py.compare.proof.whole_models import FixProof


def rewrite_groups(applied: Iterable[Applied]) -> list[tuple[Applied, ...]]:
    """The steps of each rewrite, the node of the file first, in the order of the nodes."""
    groups: list[list[Applied]] = []
    by_value: dict[str, list[Applied]] = {}
    for application in applied:
        several = next(
            (by_value[name] for name in application.node.writes if name in by_value), None
        )
        if several is None:
            several = []
            groups.append(several)
        several.append(application)
        for node in application.written:
            by_value.update(dict.fromkeys(node.writes, several))
    return [tuple(group) for group in sorted(groups, key=lambda group: group[0].node.index)]


class Assumptions:
    """Values and ranges of inputs, and conditions, that the rewrites of one model rest on."""

    def __init__(self, fixed: Fixed, rules: FixRules) -> None:
        """Follow bound values through what they make constant, and ranges through integers."""
        self._floats = _float_values(fixed)
        self._said = {name: verbatim(f"{name} = {value:g}") for name, value in rules.bind.items()}
        self._said |= {
            name: Text("{name} in [{low}, {high}]", name=name, low=low, high=high)
            for name, (low, high) in rules.ranges.items()
        }
        self._constants = {*fixed.file.contents.weights, *rules.bind}
        self._by_node = self._follow(fixed, rules)

    def of(self, applied: Sequence[Applied]) -> tuple[Text, ...]:
        """The assumptions of the rules that were applied to one node."""
        at = applied[0].node.index
        said = [self._said[name] for name in self._by_node.get(at, ())]
        conditions = (application.rule.text.condition for application in applied)
        return tuple(dict.fromkeys((*said, *(condition for condition in conditions if condition))))

    def _follow(self, fixed: Fixed, rules: FixRules) -> Mapping[int, list[str]]:
        """The inputs with values or ranges that reach each node of the file."""
        reached: dict[str, set[str]] = {name: {name} for name in self._said}
        results: dict[int, dict[str, None]] = defaultdict(dict)
        if not self._said:
            return {}
        for node in fixed.file.nodes:
            reads = [*node.reads]
            read = {each for name in reads for each in reached.get(name, ())}
            results[node.index].update(dict.fromkeys(sorted(read)))
            constant = all(name in self._constants for name in reads)
            if constant:
                self._constants.update(node.writes)
            passed = {value for value in read if constant or value in rules.ranges}
            for name in node.writes if passed else ():
                if constant or name not in self._floats:
                    reached[name] = passed
        return {at: list(names) for at, names in results.items()}


def _float_values(fixed: Fixed) -> set[str]:
    nodes = (
        *(application.node for application in fixed.applied),
        *(fixed.model.all_nodes if fixed.model else ()),
    )
    tensors = (
        tensor for node in nodes for tensor in (*node.inputs, *node.outputs) if tensor is not None
    )
    return {tensor.name for tensor in tensors if tensor.dtype is not None and tensor.dtype.is_float}


_OF_CANN = frozenset({DEVIATES_ON_CANN, REFUSED_BY_PARSER})
"""Findings that only rules for CANN remove."""

_UNWANTED = Text("no proof was requested: --random 0")
_OPEN = Text("dims of the model's inputs are open; give them with --input-shape")


def rewrites_of(
    fixed: Fixed,
    groups: Sequence[tuple[Applied, ...]],
    proof: FixProof | None,
    options: FixOptions,
    written: OnnxGraph,
    target: OnTarget | None,
) -> Iterable[Rewrite]:
    """Yield the nodes that were replaced; those in branches have the position of the outer node."""
    times = {} if target is None else target.microseconds
    assumptions = Assumptions(fixed, options.rules)
    positions = {node: position for position, node in enumerate(written.nodes)}
    proofs = [None] * len(groups) if proof is None else proof.rewrites
    for several, judged in zip(groups, proofs, strict=True):
        limits = {application.rule.name: application.rule.limit for application in several}
        new = _new_nodes(several, written, positions)
        first, limit = several[0].node, sum(limits.values())
        yield Rewrite(
            node=first.index,
            name=first.name,
            operator=first.op_type,
            rules=tuple(limits),
            exactness=max(
                (application.rule.exactness for application in several), key=list(Exactness).index
            ).value,
            after=tuple(new_node.operator for new_node in new),
            difference=difference_of(judged) if judged is not None and judged.is_shown else None,
            limit=limit if isfinite(limit) else None,
            shown=_proof_data(judged, options),
            assumptions=assumptions.of(several),
            new=new,
            microseconds=sum(times.get(new_node.position, 0.0) for new_node in new)
            if times
            else None,
        )


def refuse_differences(
    groups: Sequence[tuple[Applied, ...]], proof: FixProof | None, model: Path
) -> None:
    """Refuse rewrites that differ from the original by more than their rules allow."""
    if proof is None:
        return
    results = [
        _differs(several, rewrite.wrong, model)
        for several, rewrite in zip(groups, proof.rewrites, strict=True)
        if rewrite.wrong is not None
    ]
    if not results and proof.diverging_output:
        gap = proof.outputs[proof.diverging_output]
        results = [
            FIX_DIFFERS.diagnostic(
                Text(
                    "output {name} differs by {error} of its range, although every single "
                    "rewrite stays within its class; this is a bug in atc-py, and nothing was "
                    "written",
                    name=repr(proof.diverging_output),
                    error=f"{gap.error:.3g}",
                ),
                place=Place(str(model)),
                help=Text("report the model with this message"),
            )
        ]
    if results:
        raise AtcError(*results)


def _differs(several: tuple[Applied, ...], wrong: Disagreement, model: Path) -> Diagnostic:
    node = several[0].node
    rules = ", ".join(wrong.rules)
    word = Text("rule") if len(wrong.rules) == 1 else Text("rules")
    return FIX_DIFFERS.diagnostic(
        Text(
            "after {word} {rules}, {op_type} differs from the original by {error} of the range "
            "of {output} on {data}, where {limit} is allowed; this is a bug in atc-py, and "
            "nothing was written",
            word=word,
            rules=rules,
            op_type=node.op_type,
            error=f"{wrong.error:.3g}",
            output=repr(wrong.output),
            data=wrong.data,
            limit=f"{wrong.limit:.3g}",
        ),
        place=Place(str(model), node=node.index, node_name=node.name, op_type=node.op_type),
        help=Text(
            "leave the {word} out with --skip {rules}, and report the model with this message",
            word=word,
            rules=" --skip ".join(wrong.rules),
        ),
    )


def _proof_data(proof: RegionProof | None, options: FixOptions) -> ProofData:
    if proof is not None:
        return ProofData(proof.runs, proof.drawn, Text("") if proof.is_shown else proof.why)
    return ProofData(why=_OPEN if options.seeds else _UNWANTED)


def _new_nodes(
    several: Iterable[Applied], written: OnnxGraph, positions: Mapping[OnnxNode, int]
) -> tuple[NewNodePlace, ...]:
    names = (
        name for application in several for new in application.made for name in new.output_names
    )
    nodes = dict.fromkeys(filter(None, map(written.producer, names)))
    return tuple(
        NewNodePlace(positions[node], node.name, node.op_type)
        for node in sorted(nodes, key=positions.__getitem__)
    )


def left_findings(
    fixed: Fixed, findings: Iterable[Finding], faults: Iterable[Diagnostic]
) -> Iterable[Left]:
    """Yield what is left: faults of the model, and findings with the rules that did not fit."""
    for fault in faults:
        place = fault.place or Place()
        yield Left(place.node, place.op_type or "", fault.code.id, Text(fault.message))
    closest = closest_first(fixed.unfit)
    for finding in findings:
        node = finding.place.node
        misfits = () if node is None else closest.get(node, ())
        unfit = dict.fromkeys((miss.rule.name, miss.reason) for miss in misfits)
        operator = finding.place.op_type or ""
        yield Left(node, operator, finding.code.id, finding.message, tuple(unfit))


def errors_left(check: ModelCheck, rules: FixRules) -> list[Finding]:
    """The findings that are left of those that `rules` were to remove."""
    return [
        finding
        for finding in check.findings
        if finding.standing is Standing.ERROR or (rules.for_cann and finding.code in _OF_CANN)
    ]


def placed_in(check: ModelCheck, path: Path, nodes: Sequence[OnnxNode]) -> ModelCheck:
    """The check of a written file with places in the file that it was made from.

    `path` is the original's; `nodes` are those that were written, with their places in it.
    """

    def placed(place: Place) -> Place:
        node = place.node
        if node is None or node >= len(nodes):
            return place._replace(file=str(path))
        name = place.node_name
        if name and not nodes[node].holds_graphs:
            name = nodes[node].place.node_name  # new nodes of one name were named apart
        return place._replace(file=str(path), node=nodes[node].index, node_name=name)

    return replace(
        check,
        findings=tuple(replace(finding, place=placed(finding.place)) for finding in check.findings),
        faults=tuple(
            fault._replace(place=placed(fault.place or Place())) for fault in check.faults
        ),
    )


def difference_of(gap: ResultGap | RegionProof) -> Difference:
    return Difference(gap.error, gap.differing, gap.elements)


class _Proved(TypedDict):
    seeds: tuple[int, ...]
    outputs: Mapping[str, Difference]


def proved(proof: FixProof | None) -> _Proved:
    if proof is None:
        return {"seeds": (), "outputs": {}}
    outputs = {name: difference_of(output) for name, output in proof.outputs.items()}
    return {"seeds": proof.seeds, "outputs": outputs}


def odd_outputs(target: OnTarget | None) -> Iterator[Diagnostic]:
    """Yield a warning for each output that is infinite or NaN on the target alone."""
    if target is None:
        return
    for name, found in target.proof.outputs.items():
        if found.odd:
            yield NOT_FINITE.diagnostic(
                Text(
                    "{count} values of {name} are infinite or NaN in {mode}, but finite in the "
                    "original",
                    count=found.odd,
                    name=name,
                    mode=target.proof.precision_mode,
                ),
                place=Place(field=Text("output {at}", at=name)),
            )


class _Verdicts(TypedDict):
    errors: tuple[int, int]
    verdicts: tuple[str, str]
    left: tuple[Left, ...]
    diagnostics: tuple[Diagnostic, ...]
    deciding: Mapping[str, tuple[float, ...]]


def parser_rules(check: ModelCheck) -> set[str]:
    return {each.rule for each in check.findings if is_of_model(each)}


def verdicts(
    fixed: Fixed,
    checks: tuple[ModelCheck, ModelCheck],
    options: FixOptions,
    target: OnTarget | None = None,
) -> _Verdicts:
    before, after = checks
    left = errors_left(after, options.rules)
    return {
        "errors": (_errors(before.counts), _errors(after.counts)),
        "verdicts": (before.standing.value, after.standing.value),
        "left": tuple(left_findings(fixed, left, after.faults)),
        "diagnostics": (
            *after.faults,
            *(name.diagnostic() for name in left),
            *odd_outputs(target),
        ),
        "deciding": deciding_values(fixed.folded) if left and fixed.folded is not None else {},
    }


def has_errors(check: ModelCheck, options: FixOptions) -> bool:
    """True if the file is broken, or findings are errors under the user's rules."""
    return bool(check.faults or errors_left(check, options.rules))


def _errors(counts: Mapping[Standing, int]) -> int:
    return counts.get(Standing.ERROR, 0)
