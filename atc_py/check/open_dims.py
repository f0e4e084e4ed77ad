"""Findings that a choice of dims may yet change: not decided, never an error."""

from collections.abc import Iterable

from atc_py.check.findings import Finding, Standing
from atc_py.diag import Diagnostic, Place
from atc_py.onnx_graph.source import SourceNode
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

    Args:
        findings: the findings if the node stays.
        help_: which inputs to fix.
    """
    kept = (Standing.ERROR, Standing.UNKNOWN)
    return [reserved(each, MAY_FOLD, help_) for each in findings if each.standing in kept]


def reserved(finding: Finding, reason: Text, help_: Text) -> Finding:
    """Turn an error into an undecided finding with a reason; leave other findings as they are."""
    if finding.standing is not Standing.ERROR:
        return finding
    observed = SEMICOLON.join(each for each in (finding.observed, reason) if each)
    return replace(finding, standing=Standing.UNKNOWN, observed=observed, help=help_)


def not_yet(finding: Finding, help_: Text) -> Finding:
    """Turn an error about a value that may become constant into an undecided finding."""
    return reserved(finding, NOT_YET, help_)


def doubted(fault: Diagnostic, scope: str, reason: Text, help_: Text) -> Finding:
    """An undecided finding for a possible fault, with the reason."""
    place = fault.place or Place()
    return Finding(
        code=fault.code,
        standing=Standing.UNKNOWN,
        rule=f"{place.op_type or ''}/sound",
        source="",
        place=place,
        scope=scope,
        observed=reason,
        allowed=Text(fault.message),
        help=help_,
    )


def in_branch(fault: Diagnostic, scope: str) -> Finding:
    """An error for what contradicts itself in a branch, which not every run takes."""
    place = fault.place or Place()
    return Finding(
        code=fault.code,
        standing=Standing.ERROR,
        rule=f"{place.op_type or ''}/sound",
        source="",
        place=place,
        scope=scope,
        observed=Text(""),
        allowed=Text(fault.message),
        help=_ONE_BRANCH,
    )


def open_help(view: SourceNode) -> Text:
    """Say which inputs to fix so that a node can be judged."""
    names = COMMA.join(verbatim(name) for name in view.open_inputs)
    return Text("fix the open dims of {names} with --input-shape", names=names)
