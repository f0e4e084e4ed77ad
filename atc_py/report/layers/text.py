"""A layer-by-layer comparison as tables, the worst layers first."""

import math
from collections import Counter

from atc_py.report.layers.spreads import spreads_table
from atc_py.report.layers.suggestion import suggestion_blocks
from atc_py.report.model.semantics import newer_texts, semantics_line
from atc_py.report.tables import (
    Table,
    block_lines,
    format_bytes,
    format_seconds,
    number_text,
    visible,
)
from atc_py.results.layer import (
    FAILING_DISTANCE,
    FAILING_SHARE,
    INTRODUCED_FACTOR,
    ErrorOrigin,
    Layer,
)
from atc_py.results.layer_comparison import LayerComparison, misses_of
from atc_py.text import COMMA, SEMICOLON, Text, all_of, plural, verbatim
from atc_py.text.language import spoken

_NOTHING = Text("")
_PASSED_ON = Text("passed on from ")
_ORIGINS = {
    ErrorOrigin.INTRODUCED: Text("introduced here"),
    ErrorOrigin.NONE: Text("none"),
    ErrorOrigin.PASSED_ON: Text("passed on"),
}
_CANCELS = Text(", its terms cancel")
_ROLLED_BACK = Text("; quantized in the original, taken back to float16 by the SoC")
_OWN_OUT = Text("; the original's own error was taken out")

_SHOWN = 10
_ALONE_SHOWN = 8
_OWN_SHOWN = 5
_COLUMNS = ("layer", "from", "dtype", "cosine>", "distance>", "SNR dB>", "max abs>", "max rel>")


def layers_text(done: LayerComparison) -> str:
    return "\n".join(layer_lines(done)) + "\n"


def layer_lines(done: LayerComparison) -> list[str]:
    return block_lines(layer_blocks(done))


def layer_blocks(done: LayerComparison, *, whole: bool = False) -> list[str | Table]:
    """The report's lines and tables, in their order; `whole` lists every layer."""
    tables = [
        outputs_table(done),
        _worst_layers(done, whole=whole),
        spreads_table(done, whole=whole),
        _unmatched_table(done),
    ]
    verdict, *others = verdict_lines(done)
    head = Text("{model}: {verdict}", model=visible(str(done.model)), verdict=verdict)
    compared = Text(
        "  compared: the model compiled for {soc} ({mode}), with the original on {samples}",
        soc=done.soc,
        mode=done.precision_mode,
        samples=plural(done.samples, "{n} sample", "{n} samples"),
    )
    blocks: list[str | Table] = [*map(spoken, (head, *others, compared))]
    for table in tables:
        if table.rows:
            blocks += ["", table]
    if done.suggestion is not None:
        blocks += ["", *suggestion_blocks(done.suggestion)]
    return [*blocks, "", *map(spoken, cost_lines(done))]


def origin_words(done: LayerComparison, layer: Layer) -> Text:
    root = done.root_of(layer)
    if layer.origin is ErrorOrigin.PASSED_ON and root is not None:
        text = _PASSED_ON + verbatim(root.source)
        text += _caused(done, root)
    else:
        text = _ORIGINS[layer.origin] + _caused(done, layer)
        text += _CANCELS if layer.cancels else _NOTHING
    if layer.within_floor and layer.figures.beyond is not None:
        floor = number_text(layer.figures.beyond.floor)
        text += Text(", within the floor of {floor}", floor=floor)
    if layer.rolled_back:
        text += _ROLLED_BACK
    if layer.own is not None:
        text += _OWN_OUT
    return text


def _caused(done: LayerComparison, layer: Layer) -> Text:
    cause = cause_text(done, layer)
    return Text(", where ") + cause if cause else _NOTHING


def cause_text(done: LayerComparison, layer: Layer) -> Text:
    """`gru deviates on CANN 9: GRU/reset-after-product (inferred)`, if that is the cause."""
    if done.semantics is None or layer.origin is not ErrorOrigin.INTRODUCED:
        return _NOTHING
    generation = done.semantics.generation
    parts = [
        Text(
            "{node} deviates on CANN {generation}: {names}",
            node=each.name or Text("node {at}", at=each.node),
            generation=generation,
            names=COMMA.join(row.text for row in each.deviations),
        )
        for each in layer.deviating
    ]
    return SEMICOLON.join(parts)


def output_verdict(done: LayerComparison, name: str) -> str:
    """The targets that an output misses, or that it passes; empty without targets."""
    if not done.targets:
        return ""
    missed = [each for each in misses_of(done, done.targets) if each.output == name]
    parts = [
        Text("{figure} below {least}", figure=each.figure, least=f"{each.least:g}")
        if each.figure
        else Text("not compared")
        for each in missed
    ]
    return Text("misses: {parts}", parts=COMMA.join(parts)) if parts else Text("passes")


def growth_text(done: LayerComparison, layer: Layer) -> str:
    """Growth of a drifting error; empty where it is about as large as where introduced."""
    root = done.root_of(layer)
    if root is None or layer.origin is not ErrorOrigin.PASSED_ON or not math.isfinite(layer.error):
        return ""
    if layer.error <= INTRODUCED_FACTOR * root.error:
        return ""
    return Text(
        "it grew slowly: from {number} there to {number_2} here over {steps} layers, none of "
        "which doubled it",
        number=number_text(root.error),
        number_2=number_text(layer.error),
        steps=layer.steps,
    )


def verdict_lines(done: LayerComparison) -> list[str]:
    stopped = Text("the device stopped: {stopped}", stopped=done.stopped)
    semantics = [] if done.semantics is None else [visible(semantics_line(done.semantics))]
    found = (*_failing_layers(done), *_own_errors(done), *_against_targets(done))
    newer = [visible(text) for _, text in newer_texts(done.newer)]
    return [*([visible(stopped)] if done.stopped else []), *found, *semantics, *newer]


def _failing_layers(done: LayerComparison) -> list[str]:
    first = done.first_failing
    if first is None:
        return [Text("no layer fails")]
    head = Text(
        "first failing layer: {title}: {faults}",
        title=_title(first),
        faults=SEMICOLON.join(first.faults),
    )
    error = Text("its error: {origin}", origin=origin_words(done, first))
    grown = growth_text(done, first)
    lines = [error, *([grown] if grown else []), _reach(done)]
    return [visible(head), *(visible("  " + line) for line in lines)]


def _reach(done: LayerComparison) -> str:
    failing = sum(bool(layer.faults) for layer in done.layers)
    head = Text("{failing} of {count} layers fail", failing=failing, count=len(done.layers))
    if done.stopped:
        return head + Text("; no output was computed")
    lost = [name for name, at in done.outputs.items() if done.layers[at].figures.lost_share]
    if lost:
        return head + Text(
            "; outputs are infinite or NaN where the original's are finite: {names}",
            names=all_of(lost),
        )
    if any(done.layers[at].faults for at in done.outputs.values()):
        return head + Text("; outputs fail too")
    if not done.outputs:
        return head + Text("; no output could be compared")
    name, at = max(done.outputs.items(), key=lambda each: done.layers[each[1]].judged_error)
    worst = done.layers[at]
    limit, template = (
        FAILING_DISTANCE,
        (
            ", but their errors hardly reach the outputs: the worst output, {name}, has a "
            "relative distance of {error}; up to {limit} passes"
        ),
    )
    if not worst.is_float and not worst.holds_codes:
        limit, template = (
            FAILING_SHARE,
            (
                ", but their errors hardly reach the outputs: in the worst output, {name}, "
                "{error} of the values differ; up to {limit} passes"
            ),
        )
    error = number_text(worst.judged_error)
    return head + Text(template, name=name, error=error, limit=f"{limit:g}")


def _own_errors(done: LayerComparison) -> list[str]:
    lines: list[str] = []
    for error in done.own_errors[:_OWN_SHOWN]:
        own, seen = error.original, error.seen
        text = Text(
            "the original's own {dtype} error shows at {source} ({source_op}): compared with a "
            "float64 run of that node it has an SNR of {number} dB, with errors up to {number_2}",
            dtype=error.dtype,
            source=error.source,
            source_op=error.source_op,
            number=number_text(own.snr),
            number_2=number_text(own.max_absolute),
        )
        lines.append(text)
        text = Text(
            "it was taken out: the device had appeared to have {snr} dB there, and is compared "
            "with the float64 result from that node on",
            snr=number_text(seen.snr),
        )
        lines.append("  " + text)
    left = len(done.own_errors) - _OWN_SHOWN
    if left > 0:
        text = Text(
            "the original's own error shows at {left} more nodes, and was taken out there too"
        )
        lines.append(text.with_values(left=left))
    return [visible(line) for line in lines]


def _against_targets(done: LayerComparison) -> list[str]:
    if done.passed is None:
        return []
    wanted = ", ".join(f"{name} >= {least:g}" for name, least in done.targets.items())
    if done.passed:
        return [Text("target {wanted}: met by every output", wanted=wanted)]
    missed = dict.fromkeys(each.output for each in misses_of(done, done.targets))
    if not missed:
        return [Text("target {wanted}: missed: the device stopped", wanted=wanted)]
    names = ", ".join(missed)
    return [visible(Text("target {wanted}: missed by {names}", wanted=wanted, names=names))]


def _title(layer: Layer) -> str:
    return Text(
        "{source} ({op}), {compiled} in {dtype} on the device",
        source=layer.source,
        op=layer.source_op or Text("input"),
        compiled=layer.op,
        dtype=layer.dtype,
    )


def outputs_table(done: LayerComparison) -> Table:
    ranked, judged = bool(done.rankings), bool(done.targets)
    columns = ("output", *_COLUMNS[3:], *(("top-1>", "top-5>") if ranked else ()))
    rows = []
    for name in (*done.outputs, *(each for each in done.uncompared if each not in done.outputs)):
        figures: tuple[str, ...] = ("-",) * len(_COLUMNS[3:])
        origin = ""
        if name in done.uncompared:
            origin = Text("not compared: {message}", message=done.uncompared[name])
        if name in done.outputs:
            layer = done.layers[done.outputs[name]]
            figures, origin = _figures(layer), origin or spoken(origin_words(done, layer))
        ranking = _ranking(done, name) if ranked else ()
        verdict = (output_verdict(done, name),) if judged else ()
        rows.append((name, *figures, *ranking, *verdict, origin))
    verdicts = ("target",) if judged else ()
    heads = (*columns, *verdicts, "error")
    said = tuple(range(len(heads) - 1 - len(verdicts), len(heads)))
    return Table("Outputs", heads, tuple(rows), said)


def _ranking(done: LayerComparison, name: str) -> tuple[str, str]:
    found = done.rankings.get(name)
    if found is None:
        return "-", "-"
    return f"{found.top1:.2%}", "-" if found.top5 is None else f"{found.top5:.2%}"


def _worst_layers(done: LayerComparison, *, whole: bool) -> Table:
    shown = done.worst()[: None if whole else _SHOWN]
    rows = tuple(
        (
            layer.source,
            f"{layer.source_op or spoken('input')} -> {layer.op}",
            layer.dtype,
            *_figures(layer),
            spoken(origin_words(done, layer)),
            SEMICOLON.join(layer.faults),
        )
        for layer in shown
    )
    title = Text("Worst {count} of {count_2} layers", count=len(shown), count_2=len(done.layers))
    heads = (*_COLUMNS, "origin of the error", "faults")
    return Table(title, heads, rows, said=(len(heads) - 2, len(heads) - 1))


def _figures(layer: Layer) -> tuple[str, ...]:
    figures, judged = layer.figures, layer.judged
    cosine = "NaN" if math.isnan(judged.cosine) else f"{judged.cosine:.6f}"
    numbers = (judged.distance, judged.snr, figures.max_absolute, figures.max_relative)
    return (cosine, *map(number_text, numbers))


def _unmatched_table(done: LayerComparison) -> Table:
    counts = Counter(
        (side, node.op, node.reason)
        for side, group in (("device", done.device_alone), ("original", done.original_alone))
        for node in group
    )
    ranked = counts.most_common()
    rows = [(spoken(side), op, str(count), why) for (side, op, why), count in ranked[:_ALONE_SHOWN]]
    left = sum(count for _, count in ranked[_ALONE_SHOWN:])
    if left:
        rows.append(("", spoken("others"), str(left), "--format json names them all"))
    heads = ("side", "operator", "nodes>", "why")
    return Table("Without counterpart", heads, tuple(rows), said=(3,))


def cost_lines(done: LayerComparison) -> list[str]:
    engines = Text(" and ", context="engines").join(done.engines) or Text("nothing")
    template = (
        "samples {samples}; original {seconds} by {engines}, device {device} {seconds_2}, all "
        "{seconds_3}"
    )
    if done.original_form:
        template = (
            "samples {samples}; original {seconds} by {engines} in its {form} form, device "
            "{device} {seconds_2}, all {seconds_3}"
        )
    times = Text(
        template,
        context="engines" if len(done.engines) > 1 else "",
        form=done.original_form.upper(),
        samples=done.samples,
        seconds=format_seconds(done.reference_seconds),
        engines=engines,
        device=done.device,
        seconds_2=format_seconds(done.device_seconds),
        seconds_3=format_seconds(done.seconds),
    )
    memory = Text(
        "peak memory for tensors of the original: {bytes} of {bytes_2}",
        bytes=format_bytes(done.peak_bytes),
        bytes_2=format_bytes(done.total_bytes),
    )
    return [times, memory]
