"""Findings that a choice of dims may yet change, and those that merely follow from another.

The first are not decided, never an error. The second are left out: the results of an operator that
is not listed, or of a node that contradicts ONNX, may have unknown types, and whatever cannot be
decided about later nodes then follows from that one finding.
"""

from collections.abc import Callable, Collection, Iterable

from atc_py.check.findings import Finding, Standing
from atc_py.diag import Diagnostic, Place
from atc_py.onnx_graph.source import SourceModel, SourceNode, SourceTensor
from atc_py.system.structs import replace
from atc_py.text import COMMA, SEMICOLON, Text, verbatim

NOT_YET = Text("it may be constant once the open dims are fixed")
"""The reason for values that a choice of dims may make known."""

MAY_FOLD = Text("the node may fold away once the open dims are fixed")


_ONE_BRANCH = Text(
    "only runs that take this branch fail; if yours do not, make the input that decides a "
    "constant: `atc-py fix --bind NAME=VALUE`"
)


def of_vanishing_node(findings: Iterable[Finding], help_: Text) -> list[Finding]:
    """The findings at a node that may fold away: its errors are not decided.

    A rewrite is not mentioned: such a node is expected to be folded by then.

    `findings` hold if the node stays; `help_` says which inputs to fix.
    """
    kept = (Standing.ERROR, Standing.UNKNOWN)
    return [reserved(finding, MAY_FOLD, help_) for finding in findings if finding.standing in kept]


def reserved(finding: Finding, reason: Text, help_: Text) -> Finding:
    """Turn an error into an undecided finding with a reason; leave other findings as they are."""
    if finding.standing is not Standing.ERROR:
        return finding
    observed = SEMICOLON.join(part for part in (finding.observed, reason) if part)
    return replace(finding, standing=Standing.UNKNOWN, observed=observed, help=help_)


def doubted(fault: Diagnostic, scope: str, reason: Text, help_: Text) -> Finding:
    """An undecided finding for a possible fault, with the reason."""
    return _of_fault(fault, scope, Standing.UNKNOWN, reason, help_)


def in_branch(fault: Diagnostic, scope: str) -> Finding:
    """An error for what contradicts itself in a branch, which not every run takes."""
    return _of_fault(fault, scope, Standing.ERROR, Text(""), _ONE_BRANCH)


def _of_fault(
    fault: Diagnostic, scope: str, standing: Standing, observed: Text, help_: Text
) -> Finding:
    place = fault.place or Place()
    return Finding(
        code=fault.code,
        standing=standing,
        rule=f"{place.op_type or ''}/sound",
        source="",
        place=place,
        scope=scope,
        observed=observed,
        allowed=Text(fault.message),
        help=help_,
    )


def open_help(view: SourceNode) -> Text:
    """The inputs to fix so that a node can be judged, as help."""
    names = COMMA.join(verbatim(name) for name in view.open_inputs)
    return Text("fix the open dims of {names} with --input-shape", names=names)


class Consequences:
    """Record of the types that the refused nodes of a model leave unknown.

    `refused` are the positions in the file of nodes that contradict ONNX, `in_branches` positions
    and names of those that do inside of a branch; `is_listed` tells whether the list has a node's
    operator.
    """

    def __init__(
        self,
        model: SourceModel,
        refused: Collection[int],
        is_listed: Callable[[SourceNode], bool],
        in_branches: Collection[tuple[int | None, str]] = (),
    ) -> None:
        self._lost: set[str] = set()
        self._returned: set[str] = set()
        holders: dict[int, list[SourceNode]] = {}
        for node in model.all_nodes:
            if not node.domain and node.op_type == "If":
                holders.setdefault(node.index, []).append(node)
            broken = node.index in refused or (
                bool(node.scope) and (node.index, node.name) in in_branches
            )
            if broken or not is_listed(node) or self.concern(node):
                self._lost.update(_uncertain_tensors(node.outputs))
                for holder in holders.get(node.index, ()) if node.scope else ():
                    self._returned.update(_uncertain_tensors(holder.outputs))
                    self._lost.update(_uncertain_tensors(holder.outputs))

    def concern(self, node: SourceNode) -> bool:
        """True if a node reads, or its branch returns, a tensor left unknown by a refused node."""
        if not self._lost:
            return False  # nothing is returned either
        reads = {tensor.name for tensor in node.inputs if tensor is not None}
        returns = {tensor.name for tensor in node.outputs if tensor is not None}
        return not (reads.isdisjoint(self._lost) and returns.isdisjoint(self._returned))


def _uncertain_tensors(tensors: Iterable[SourceTensor | None]) -> set[str]:
    return {
        tensor.name
        for tensor in tensors
        if tensor is not None and (tensor.settles or not tensor.element or tensor.is_open)
    }
