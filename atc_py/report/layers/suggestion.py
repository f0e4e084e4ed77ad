"""A search for nodes to keep in float32, as lines, a table and JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from atc_py.diag.language import spoken, spoken_parts
from atc_py.report.escape import visible
from atc_py.report.tables import Table

if TYPE_CHECKING:
    from atc_py.results.layer_comparison import LayerComparison, Suggestion

__all__ = ["outputs_with", "suggestion_blocks", "suggestion_words"]

_SHOWN = 20
"""Lines of the file in the text; the file has them all."""


def suggestion_blocks(found: Suggestion) -> list[str | Table]:
    """Return the suggestion as lines and tables: a verdict, what to keep, errors before and after."""
    lines: list[str | Table] = [spoken(visible(f"suggestion: {_verdict(found)}"))]
    lines += [f"  {spoken_parts(visible(line))}" for line in _remarks(found)]
    tables = [_file_lines(found)] if found.kept else []
    if found.kept or (found.out_of_reach and found.candidates):
        tables.append(outputs_with(found))
    for table in tables:
        lines += ["", table]
    return lines


def suggestion_words(found: Suggestion) -> list[str]:
    """Return the verdict of the search, and remarks on it, as sentences."""
    return [_verdict(found), *_remarks(found)]


def _verdict(found: Suggestion) -> str:
    """Return one sentence."""
    if not found.needed:
        return f"nothing to keep: the target ({found.target}) is already reached"
    if found.reached:
        return f"{_kept_count(found)} in float32 reach the target ({found.target})"
    if not found.out_of_reach:
        return (
            f"the limit of {found.limit} compilations ended the search before it was known whether "
            f"the target ({found.target}) can be reached"
        )
    head = f"the target ({found.target}) cannot be reached by keeping nodes in float32"
    if not found.candidates:
        return f"{head}: no node can be kept"
    return f"{head}: it is missed with all {found.candidates} candidates kept{_worst_output(found)}"


def _worst_output(found: Suggestion) -> str:
    """Name the output that is worst with all candidates kept."""
    done = found.after
    if done.stopped or not done.outputs:
        return ", because the device stops then, too" if done.stopped else ""
    name = max(done.outputs, key=lambda each: done.layers[done.outputs[each]].judged_error)
    judged = done.layers[done.outputs[name]].judged
    return f", where {name} has cosine {judged.cosine:.6g} and SNR {judged.snr:.4g} dB"


def _kept_count(found: Suggestion) -> str:
    """Return the number of kept nodes in words."""
    count = sum(each.nodes for each in found.kept)
    return f"{count} node{'s' if count != 1 else ''}"


def _remarks(found: Suggestion) -> list[str]:
    """Return remarks on how thorough the search was and what it could not use."""
    if not found.needed:
        return []
    compilations = f"{found.trials} trial compilation{'s' if found.trials != 1 else ''}"
    lines = [f"{compilations} of at most {found.limit}, {found.candidates} candidates"]
    if found.samples > 1:
        lines.append(f"each of them was judged by {found.samples} samples")
    if found.kept and found.smallest:
        lines.append("no smaller set reaches the target: all were tried")
    elif found.kept and found.minimal:
        lines.append("none of them can be omitted; not all smaller sets were tried")
    elif found.kept:
        lines.append("the search ended at its limit; --suggest-trials raises it")
    if found.out_of_reach:
        lines.append("nothing is recommended: 16-bit floats are not the only cause of the error")
    slow = [each.line for each in found.kept if each.engine == "aicpu"]
    if slow:
        lines.append(f"slow, because in float32 they run on the AI CPU: {', '.join(slow)}")
    reasons: dict[str, list[str]] = {}
    for each in found.excluded:
        reasons.setdefault(each.reason, []).append(each.line)
    lines += [f"not a candidate, {why}: {_first_names(names)}" for why, names in reasons.items()]
    return lines


def _first_names(names: list[str], most: int = 5) -> str:
    """Return the first names, and how many more there are."""
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left} more" if left > 0 else "")


def _file_lines(found: Suggestion) -> Table:
    """Return the lines of the file."""
    rows = [(each.line, each.op, str(each.nodes), each.engine) for each in found.kept[:_SHOWN]]
    left = len(found.kept) - _SHOWN
    if left > 0:
        rows.append(
            (spoken(f"and {left} more"), "", str(sum(n.nodes for n in found.kept[_SHOWN:])), "")
        )
    return Table("Kept in float32", ("line", "operator", "nodes>", "engine"), tuple(rows))


def outputs_with(found: Suggestion) -> Table:
    """Return errors of the outputs before and after."""
    title = "Outputs with the suggestion"
    if found.out_of_reach:
        title = "Outputs with all candidates kept"
    rows = []
    for name in dict.fromkeys((*found.before.outputs, *found.after.outputs)):
        for when, done in (("before", found.before), ("after", found.after)):
            rows.append((name, spoken(when), *_numbers(done, name)))
    columns = ("output", "", "cosine>", "distance>", "SNR dB>", "max abs>", "NaN/Inf>")
    return Table(title, columns, tuple(rows))


def _numbers(done: LayerComparison, name: str) -> tuple[str, ...]:
    """Return the numbers of an output."""
    if name not in done.outputs:
        return (spoken("not reached"), "", "", "", "")
    layer = done.layers[done.outputs[name]]
    cosine, distance, snr = layer.judged
    return (
        "NaN" if math.isnan(cosine) else f"{cosine:.6f}",
        *(f"{each:.4g}" for each in (distance, snr, layer.figures.max_absolute)),
        f"{layer.figures.lost_share:.3%}",
    )
