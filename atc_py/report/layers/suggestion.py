"""The record of a search for nodes to keep in float32, and how it is told."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from atc_py.report.escape import visible
from atc_py.report.tables import Table, plain_lines
from atc_py.results.layers_json import output_json

if TYPE_CHECKING:
    from atc_py.results.layers import LayerComparison

__all__ = ["Excluded", "KeptNode", "Suggestion", "suggestion_lines"]

_SHOWN = 20
"""Lines of the file in the text; the file has them all."""


@dataclass(frozen=True, slots=True)
class KeptNode:
    """A line of the file.

    Attributes:
        line: a node's name, or `OpType::T` for all nodes of an operator.
        op: operator on the device.
        nodes: how many nodes of the compiled model it keeps.
        engine: where the first of them runs when it is kept.
    """

    line: str
    op: str
    nodes: int
    engine: str


@dataclass(frozen=True, slots=True)
class Excluded:
    """A node that cannot be kept.

    Attributes:
        line: its name, or `OpType::T`.
        op: operator on the device.
        reason: why.
    """

    line: str
    op: str
    reason: str


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What the search found.

    Attributes:
        target: what was to be reached, in words.
        needed: whether the model missed it to begin with.
        reached: whether it is reached with `kept`.
        kept: what to keep beside what the user keeps already.
        own: lines of the user's own file.
        smallest: whether every smaller set of nodes was tried.
        minimal: whether `kept` was tried without each of its lines.
        candidates: how many lines there were to choose from.
        excluded: nodes that cannot be kept.
        trials: compilations that were tried.
        limit: how many could have been.
        before: the model without the suggestion.
        after: the model with it; where the target is out of reach, with all candidates kept.
        out_of_reach: whether it was seen that no set of nodes reaches the target.
    """

    target: str
    needed: bool
    reached: bool
    kept: tuple[KeptNode, ...]
    own: tuple[str, ...]
    smallest: bool
    minimal: bool
    candidates: int
    excluded: tuple[Excluded, ...]
    trials: int
    limit: int
    before: LayerComparison
    after: LayerComparison
    out_of_reach: bool = False

    @property
    def text(self) -> str:
        """The --keep-dtype file: one line a node, the user's own first."""
        return "".join(f"{line}\n" for line in (*self.own, *(each.line for each in self.kept)))

    def as_json(self) -> dict[str, object]:
        """The suggestion as JSON values."""
        return {
            "target": self.target,
            "needed": self.needed,
            "reached": self.reached,
            "out_of_reach": self.out_of_reach,
            "smallest": self.smallest,
            "minimal": self.minimal,
            "keep": [asdict(each) for each in self.kept],
            "excluded": [asdict(each) for each in self.excluded],
            "candidates": self.candidates,
            "trials": {"done": self.trials, "limit": self.limit},
            "before": _json(self.before),
            "after": _json(self.after),
        }


def suggestion_lines(found: Suggestion) -> list[str]:
    """The suggestion line by line: a verdict, what to keep, errors before and after."""
    lines = [visible(f"suggestion: {_verdict(found)}")]
    lines += [f"  {visible(line)}" for line in _remarks(found)]
    tables = [_kept(found)] if found.kept else []
    if found.kept or (found.out_of_reach and found.candidates):
        tables.append(_errors(found))
    for table in tables:
        lines += ["", *plain_lines(table)]
    return lines


def _verdict(found: Suggestion) -> str:
    """One sentence."""
    if not found.needed:
        return f"nothing to keep: the target ({found.target}) is reached as it is"
    if found.reached:
        return f"{_counted(found)} in float32 reach the target ({found.target})"
    if not found.out_of_reach:
        return (
            f"the limit of {found.limit} compilations ended the search before it was known whether "
            f"the target ({found.target}) can be reached"
        )
    head = f"the target ({found.target}) cannot be reached by keeping nodes in float32"
    if not found.candidates:
        return f"{head}: no node can be kept"
    return f"{head}: it is missed with all {found.candidates} candidates kept{_best(found)}"


def _best(found: Suggestion) -> str:
    """The output that is worst with all candidates kept."""
    done = found.after
    if done.stopped or not done.outputs:
        return ", as the device stops then, too" if done.stopped else ""
    name = max(done.outputs, key=lambda each: done.layers[done.outputs[each]].judged_error)
    judged = done.layers[done.outputs[name]].judged
    return f", where {name} has cosine {judged.cosine:.6g} and SNR {judged.snr:.4g} dB"


def _counted(found: Suggestion) -> str:
    """How many nodes are kept."""
    count = sum(each.nodes for each in found.kept)
    return f"{count} node{'s' if count != 1 else ''}"


def _remarks(found: Suggestion) -> list[str]:
    """How thorough the search was, and what it could not use."""
    if not found.needed:
        return []
    compilations = f"{found.trials} trial compilation{'s' if found.trials != 1 else ''}"
    lines = [f"{compilations} of at most {found.limit}, {found.candidates} candidates"]
    if found.kept and found.smallest:
        lines.append("no smaller set does: all were tried")
    elif found.kept and found.minimal:
        lines.append("none of them can be left out; not all smaller sets were tried")
    elif found.kept:
        lines.append("the search was ended by its limit; --suggest-trials gives it more")
    if found.out_of_reach:
        lines.append("nothing is recommended: what is lost is not lost to 16-bit floats alone")
    slow = [each.line for each in found.kept if each.engine == "aicpu"]
    if slow:
        lines.append(f"slow, because in float32 they run on the AI CPU: {', '.join(slow)}")
    reasons: dict[str, list[str]] = {}
    for each in found.excluded:
        reasons.setdefault(each.reason, []).append(each.line)
    lines += [f"no candidate, {why}: {_some(names)}" for why, names in reasons.items()]
    return lines


def _some(names: list[str], most: int = 5) -> str:
    """The first names, and how many more there are."""
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left} more" if left > 0 else "")


def _kept(found: Suggestion) -> Table:
    """The lines of the file."""
    rows = [(each.line, each.op, str(each.nodes), each.engine) for each in found.kept[:_SHOWN]]
    left = len(found.kept) - _SHOWN
    if left > 0:
        rows.append((f"and {left} more", "", str(sum(n.nodes for n in found.kept[_SHOWN:])), ""))
    return Table("Kept in float32", ("line", "operator", "nodes>", "engine"), tuple(rows))


def _errors(found: Suggestion) -> Table:
    """Errors of the outputs before and after."""
    title = "Outputs with the suggestion"
    if found.out_of_reach:
        title = "Outputs with all candidates kept"
    rows = []
    for name in dict.fromkeys((*found.before.outputs, *found.after.outputs)):
        for when, done in (("before", found.before), ("after", found.after)):
            rows.append((name, when, *_numbers(done, name)))
    columns = ("output", "", "cosine>", "distance>", "SNR dB>", "max abs>", "NaN/Inf>")
    return Table(title, columns, tuple(rows))


def _numbers(done: LayerComparison, name: str) -> tuple[str, ...]:
    """The numbers of an output."""
    if name not in done.outputs:
        return ("not reached", "", "", "", "")
    layer = done.layers[done.outputs[name]]
    cosine, distance, snr = layer.judged
    return (
        "NaN" if math.isnan(cosine) else f"{cosine:.6f}",
        *(f"{each:.4g}" for each in (distance, snr, layer.figures.max_absolute)),
        f"{layer.figures.lost_share:.3%}",
    )


def _json(done: LayerComparison) -> dict[str, object]:
    """Figures of the outputs by name."""
    outputs = {name: output_json(done, name) for name in done.outputs}
    return {"stopped": done.stopped or None, "outputs": outputs}
