"""A conversion as tables."""

from collections import Counter
from collections.abc import Mapping

from atc_py.check.findings import ModelCheck
from atc_py.report.fix.nodes import fixed_nodes_table
from atc_py.report.model.layout import conversions_text
from atc_py.report.model.memory_tables import memory_row
from atc_py.report.model.quant_bias import bias_json, bias_rows
from atc_py.report.model.semantics import newer_rows, semantics_tables
from atc_py.report.profile.text import time_text
from atc_py.report.tables import Table, format_bytes, format_seconds, share_text
from atc_py.results.conversion import Conversion, Facts
from atc_py.text import COMMA, Text
from atc_py.text.language import language, spoken


def quantized_rows(check: ModelCheck) -> list[tuple[str, str]]:
    """The line of the summary; none for models without quantization."""
    if not check.layers:
        return []
    said = language()
    reasons = Counter(each.reason.in_language(said) for each in check.layers if each.reason)
    done = len(check.layers) - sum(reasons.values())
    parts = [
        Text("{count} because {reason}", count=count, reason=reason)
        for reason, count in reasons.most_common()
    ]
    rest = Text("; on floats ") + COMMA.join(parts) if parts else Text("")
    return [("layers on int8", share_text(done, len(check.layers)) + rest.in_language(said))]


def conversion_tables(done: Conversion) -> list[Table]:
    """The tables that `convert` prints."""
    fixed = [fixed_nodes_table(done.facts.fixed)] if done.facts.fixed else []
    others = [*fixed, *semantics_tables(done.facts.semantics)]
    gears = _gears(done)
    return [_stages(done), *others, _operators(done.facts), *gears, _summary(done)]


def _gears(done: Conversion) -> list[Table]:
    """The table of gears; nothing for a model of one shape."""
    if not done.gears:
        return []
    from atc_py.report.model.gears import converted_gears

    return converted_gears(done.gears)


def _stages(done: Conversion) -> Table:
    rows = [(stage.name, format_seconds(stage.seconds)) for stage in done.stages]
    rows.append((spoken("total"), format_seconds(sum(stage.seconds for stage in done.stages))))
    return Table("Stages", ("stage", "time>"), tuple(rows))


def _operators(facts: Facts) -> Table:
    """ONNX operators next to target operators, both sorted by count."""
    before, after = _by_frequency(facts.source_operators), _by_frequency(facts.target_operators)
    height = max(len(before), len(after))
    blank = ("", "")
    rows = [
        (before[i] if i < len(before) else blank) + (after[i] if i < len(after) else blank)
        for i in range(height)
    ]
    return Table(
        Text(
            "Operators: {file_nodes} nodes in the file, {values} after folding constants, "
            "{values_2} compiled",
            file_nodes=facts.file_nodes,
            values=sum(facts.source_operators.values()),
            values_2=sum(facts.target_operators.values()),
        ),
        ("ONNX", "count>", "target", "count>"),
        tuple(rows),
    )


def _by_frequency(counts: Mapping[str, int]) -> list[tuple[str, str]]:
    """Operators and counts, the most frequent first."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(name, str(count)) for name, count in ranked]


def _summary(done: Conversion) -> Table:
    facts = done.facts
    engines = ", ".join(f"{name} {count}" for name, count in sorted(facts.engines.items()))
    changed = ", ".join(f"{e.name} {e.changes}" for e in facts.passes if e.changes)
    before, after = format_bytes(facts.weights_in), format_bytes(done.weights_out)
    rows = (
        ("SoC", facts.soc),
        ("precision mode", facts.precision_mode),
        ("engines (nodes)", engines),
        ("passes (changes)", changed or spoken("none")),
        *newer_rows(done.check.newer),
        *quantized_rows(done.check),
        *bias_rows(bias_json(facts.bias_convention)),
        ("launches", _launches_text(facts)),
        ("conversions left", conversions_text(facts.target_operators)),
        ("kernel stubs", str(facts.kernels)),
        (
            "weights",
            Text("{before} in the ONNX file, {after} compiled", before=before, after=after),
        ),
        *memory_row(done.memory),
        *([] if done.time is None else [("estimated time", time_text(done.time))]),
        ("output", f"{done.output} ({format_bytes(done.file_bytes)})"),
    )
    return Table("Result", ("", ""), rows)


def _launches_text(facts: Facts) -> str:
    """Kernel launches of a run, beside the nodes that they execute."""
    nodes = sum(count for engine, count in facts.engines.items() if engine != "local")
    template = "{launches} for {nodes} nodes; {unfused} kernels before any pass"
    if facts.launches == nodes:
        template = "{nodes}; {unfused} kernels before any pass"
    return Text(template, launches=facts.launches, nodes=nodes, unfused=facts.launches_unfused)
