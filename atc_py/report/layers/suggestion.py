"""The record of a search for nodes to keep in float32, and how it is told."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from atc_py.report.escape import visible
from atc_py.report.tables import Table, plain_lines
from atc_py.results.layers import number_json

if TYPE_CHECKING:
    from atc_py.results.layers import Figures, LayerComparison

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
        after: the model with it.
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
    lines = [f"suggestion: {_verdict(found)}"]
    lines += [f"  {visible(line)}" for line in _remarks(found)]
    tables = [_kept(found), _errors(found)] if found.kept else []
    for table in tables:
        lines += ["", *plain_lines(table)]
    return lines


def _verdict(found: Suggestion) -> str:
    """One sentence."""
    if not found.needed:
        return f"nothing to keep: the target ({found.target}) is reached as it is"
    count = _counted(found)
    if found.reached:
        return f"{count} in float32 reach the target ({found.target})"
    if not found.kept:
        return f"no set of nodes reaches the target ({found.target}), and none makes it better"
    return f"no set of nodes reaches the target ({found.target}); the best found keeps {count}"


def _counted(found: Suggestion) -> str:
    """How many nodes are kept."""
    count = sum(each.nodes for each in found.kept)
    return f"{count} node{'s' if count != 1 else ''}"


def _remarks(found: Suggestion) -> list[str]:
    """How thorough the search was, and what it could not use."""
    if not found.needed:
        return []
    lines = [
        f"{found.trials} trial compilations of at most {found.limit}, {found.candidates} candidates"
    ]
    if found.kept and found.smallest:
        lines.append("no smaller set does: all were tried")
    elif found.kept and found.minimal:
        lines.append("none of them can be left out; not all smaller sets were tried")
    elif found.kept:
        lines.append("the search was ended by its limit; --suggest-trials gives it more")
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
    rows = []
    for name in dict.fromkeys((*found.before.outputs, *found.after.outputs)):
        for when, done in (("before", found.before), ("after", found.after)):
            figures = _figures(done, name)
            rows.append((name, when, *_numbers(figures)))
    columns = ("output", "", "cosine>", "distance>", "SNR dB>", "max abs>", "NaN/Inf>")
    return Table("Outputs with the suggestion", columns, tuple(rows))


def _figures(done: LayerComparison, name: str) -> Figures | None:
    """The figures of output `name`; None where the device did not come to it."""
    at = done.outputs.get(name)
    return None if at is None else done.layers[at].figures


def _numbers(figures: Figures | None) -> tuple[str, ...]:
    """The numbers of an output."""
    if figures is None:
        return ("not reached", "", "", "", "")
    return (
        "NaN" if math.isnan(figures.cosine) else f"{figures.cosine:.6f}",
        *(f"{each:.4g}" for each in (figures.distance, figures.snr, figures.max_absolute)),
        f"{figures.lost_share:.3%}",
    )


def _json(done: LayerComparison) -> dict[str, object]:
    """Figures of the outputs by name."""
    found = {}
    for name, at in done.outputs.items():
        figures = done.layers[at].figures
        numbers = {
            "cosine": figures.cosine,
            "distance": figures.distance,
            "snr": figures.snr,
            "max_absolute": figures.max_absolute,
            "lost": figures.lost_share,
        }
        found[name] = {key: number_json(value) for key, value in numbers.items()}
    return {"stopped": done.stopped or None, "outputs": found}
