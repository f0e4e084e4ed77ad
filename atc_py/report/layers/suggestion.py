"""A search for nodes to keep in float32, as lines, a table and JSON."""

import math

from atc_py.report.tables import Table, first_names, visible
from atc_py.results.layer_comparison import LayerComparison, Suggestion
from atc_py.text import Text, plural
from atc_py.text.language import spoken

_SHOWN = 20
"""Lines of the file in the text; the file has them all."""


def suggestion_blocks(suggestion: Suggestion) -> list[str | Table]:
    verdict = Text("suggestion: {verdict}", verdict=_verdict(suggestion))
    lines: list[str | Table] = [visible(spoken(verdict))]
    lines += [f"  {visible(spoken(line))}" for line in _remarks(suggestion)]
    tables = [_file_lines(suggestion)] if suggestion.kept else []
    if suggestion.kept or (suggestion.out_of_reach and suggestion.candidates):
        tables.append(outputs_with(suggestion))
    for table in tables:
        lines += ["", table]
    return lines


def suggestion_words(suggestion: Suggestion) -> list[str]:
    return [_verdict(suggestion), *_remarks(suggestion)]


def _verdict(suggestion: Suggestion) -> str:
    if not suggestion.needed:
        return Text(
            "nothing to keep: the target ({target}) is already reached", target=suggestion.target
        )
    if suggestion.reached:
        return plural(
            sum(each.nodes for each in suggestion.kept),
            "{n} node in float32 reaches the target ({target})",
            "{n} nodes in float32 reach the target ({target})",
            target=suggestion.target,
        )
    if not suggestion.out_of_reach:
        return Text(
            "the limit of {limit} compilations ended the search before it was known "
            "whether the target ({target}) can be reached",
            limit=suggestion.limit,
            target=suggestion.target,
        )
    if not suggestion.candidates:
        return Text(
            "the target ({target}) cannot be reached by keeping nodes in float32: no node can be "
            "kept",
            target=suggestion.target,
        )
    return Text(
        "the target ({target}) cannot be reached by keeping nodes in float32: it is missed with "
        "all {candidates} candidates kept{worst}",
        target=suggestion.target,
        candidates=suggestion.candidates,
        worst=_worst_output(suggestion),
    )


def _worst_output(suggestion: Suggestion) -> str:
    done = suggestion.after
    if done.stopped or not done.outputs:
        return Text(", because the device stops in that case, too") if done.stopped else ""
    name = max(done.outputs, key=lambda each: done.layers[done.outputs[each]].judged_error)
    judged = done.layers[done.outputs[name]].judged
    return Text(
        ", where {name} has cosine {cosine} and SNR {snr} dB",
        name=name,
        cosine=f"{judged.cosine:.6g}",
        snr=f"{judged.snr:.4g}",
    )


def _remarks(suggestion: Suggestion) -> list[str]:
    if not suggestion.needed:
        return []
    lines: list[str] = [
        plural(
            suggestion.trials,
            "{n} trial compilation of at most {limit}, {candidates} candidates",
            "{n} trial compilations of at most {limit}, {candidates} candidates",
            limit=suggestion.limit,
            candidates=suggestion.candidates,
        )
    ]
    if suggestion.samples > 1:
        lines.append(Text("each of them was judged by {n} samples", n=suggestion.samples))
    if suggestion.kept and suggestion.smallest:
        lines.append("no smaller set reaches the target: all were tried")
    elif suggestion.kept and suggestion.minimal:
        lines.append("none of them can be omitted; not all smaller sets were tried")
    elif suggestion.kept:
        lines.append("the search ended at its limit; --suggest-trials raises it")
    if suggestion.out_of_reach:
        lines.append("nothing is recommended: 16-bit floats are not the only cause of the error")
    slow = [each.line for each in suggestion.kept if each.engine == "aicpu"]
    if slow:
        text = Text("slow, because in float32 they run on the AI CPU: {slow}")
        lines.append(text.with_values(slow=", ".join(slow)))
    reasons: dict[str, list[str]] = {}
    for each in suggestion.excluded:
        reasons.setdefault(each.reason, []).append(each.line)
    lines += [
        Text("not a candidate, {why}: {names}", why=Text(why), names=first_names(names))
        for why, names in reasons.items()
    ]
    return lines


def _file_lines(suggestion: Suggestion) -> Table:
    rows = [(each.line, each.op, str(each.nodes), each.engine) for each in suggestion.kept[:_SHOWN]]
    left = len(suggestion.kept) - _SHOWN
    if left > 0:
        nodes = sum(node.nodes for node in suggestion.kept[_SHOWN:])
        rows.append((spoken(Text("and {left} more", left=left)), "", str(nodes), ""))
    return Table("Kept in float32", ("line", "operator", "nodes>", "engine"), tuple(rows))


def outputs_with(found: Suggestion) -> Table:
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
    if name not in done.outputs:
        return (spoken("not reached"), "", "", "", "")
    layer = done.layers[done.outputs[name]]
    cosine, distance, snr = layer.judged
    return (
        "NaN" if math.isnan(cosine) else f"{cosine:.6f}",
        *(f"{each:.4g}" for each in (distance, snr, layer.figures.max_absolute)),
        f"{layer.figures.lost_share:.3%}",
    )
