"""Findings that a choice of dims may yet change: not decided, never an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.check.findings import Finding, Standing
from atc_py.diag import COMMA, SEMICOLON, Place, Words
from atc_py.diag.chinese import both
from atc_py.system.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from atc_py.diag import Diagnostic
    from atc_py.source import SourceNode

__all__ = [
    "MAY_FOLD",
    "NOT_YET",
    "doubted",
    "in_branch",
    "not_yet",
    "of_vanishing_node",
    "open_help",
    "reserved",
]

NOT_YET = Words("it may be constant once the open dims are fixed", "固定未定的维度后可能成为常量")
"""The reason for values that a choice of dims may make known."""

MAY_FOLD = Words(
    "the node may fold away once the open dims are fixed", "固定未定的维度后该节点可能被折叠"
)


_ONE_BRANCH = Words(
    "only runs that take this branch fail; if yours do not, make the input that decides a constant: "
    "`atc-py fix --bind NAME=VALUE`",
    "仅执行该分支时出错；若不会执行，可将决定分支的输入设为常量：`atc-py fix --bind NAME=VALUE`",
)


def of_vanishing_node(findings: Iterable[Finding], help_: Words) -> list[Finding]:
    """Return the findings at a node that may fold away: its errors are not decided.

    A rewrite is not mentioned: such a node is expected to be folded by then.

    Args:
        findings: the findings if the node stays.
        help_: which inputs to fix.
    """
    kept = (Standing.ERROR, Standing.UNKNOWN)
    return [reserved(each, MAY_FOLD, help_) for each in findings if each.standing in kept]


def reserved(finding: Finding, reason: Words, help_: Words) -> Finding:
    """Turn an error into an undecided finding with a reason; leave other findings as they are."""
    if finding.standing is not Standing.ERROR:
        return finding
    observed = SEMICOLON.join(each for each in (finding.observed, reason) if each)
    return replace(finding, standing=Standing.UNKNOWN, observed=observed, help=help_)


def not_yet(finding: Finding, help_: Words) -> Finding:
    """Turn an error about a value that may become constant into an undecided finding."""
    return reserved(finding, NOT_YET, help_)


def doubted(fault: Diagnostic, scope: str, reason: Words, help_: Words) -> Finding:
    """Return an undecided finding for a possible fault, with the reason."""
    place = fault.place or Place()
    return Finding(
        code=fault.code,
        standing=Standing.UNKNOWN,
        rule=f"{place.op_type or ''}/sound",
        source="",
        place=place,
        scope=scope,
        observed=reason,
        allowed=both(fault.message),
        help=help_,
    )


def in_branch(fault: Diagnostic, scope: str) -> Finding:
    """Return an error for what contradicts itself in a branch, which not every run takes."""
    place = fault.place or Place()
    return Finding(
        code=fault.code,
        standing=Standing.ERROR,
        rule=f"{place.op_type or ''}/sound",
        source="",
        place=place,
        scope=scope,
        observed=Words("", ""),
        allowed=both(fault.message),
        help=_ONE_BRANCH,
    )


def open_help(view: SourceNode) -> Words:
    """Say which inputs to fix so that a node can be judged."""
    names = COMMA.join(Words.same(name) for name in view.open_inputs)
    return Words(
        f"fix the open dims of {names.en} with --input-shape",
        f"请用 --input-shape 固定 {names.zh} 的未定维度",
    )
