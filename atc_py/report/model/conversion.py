"""A conversion as lines and tables: its check, its fusions, its figures."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest

from msgspec.structs import replace

from atc_py.check.findings import CheckReport, ModelCheck, Standing
from atc_py.diag import Diagnostic, Severity
from atc_py.report.check.document import CheckedModel
from atc_py.report.check.json_document import check_document
from atc_py.report.check.text import finding_lines
from atc_py.report.diagnostics import diagnostic_text
from atc_py.report.model.memory_tables import memory_row
from atc_py.report.model.records import conversions_text
from atc_py.report.model.semantics import bias_rows, newer_rows, semantics_tables
from atc_py.report.profile.text import time_text
from atc_py.report.tables import Table, fixed_nodes_table, format_bytes, format_seconds, share_text
from atc_py.results.conversion import Conversion, Facts, FusionEffect
from atc_py.text import COMMA, Text, plural
from atc_py.text.language import language, spoken


def found_lines(check: ModelCheck) -> list[str]:
    return [*finding_lines(_document(check))][1:]


def refusal_lines(check: ModelCheck, missing: Iterable[Diagnostic] = ()) -> list[str]:
    """List the findings by rule, the errors last; `missing` operators do not compile yet."""
    model = _document(check)
    errors = tuple(finding for finding in model.findings if finding.level == Standing.ERROR.value)
    others = tuple(each for each in model.findings if each.level != Standing.ERROR.value)
    lines = [
        *finding_lines(replace(model, faults=(), findings=others)),
        *finding_lines(replace(model, findings=errors)),
    ]
    for diagnostic in missing:
        lines += ["", diagnostic_text(diagnostic)]
    return lines[1:]


_CLOSING = {
    "converted": ("not converted: {n} error", "not converted: {n} errors"),
    "packed": ("not packed: {n} error", "not packed: {n} errors"),
}


def closing_line(diagnostics: Iterable[Diagnostic], what: str) -> str:
    """`not converted: 6 errors`."""
    count = sum(diagnostic.code.severity is Severity.ERROR for diagnostic in diagnostics)
    return spoken(plural(count, *_CLOSING[what]))


def _document(check: ModelCheck) -> CheckedModel:
    (model,) = check_document(CheckReport((check,), "", ""), language()).models
    return model


def why_not_lines(effects: Iterable[FusionEffect], wanted: Iterable[str]) -> Iterator[str]:
    """Yield what the `wanted` passes found, by our names or ATC's, and their nearest misses."""
    by_name = {name: each for each in effects for name in (each.name, *each.atc_names)}
    for name in wanted:
        effect = by_name.get(name)
        if effect is None:
            yield Text("{name}: the pass did not run", name=name)
            continue
        record, miss = effect.record, effect.record.nearest
        text = Text("{effect}: matched {matched} times, rewritten {effective} times")
        yield text.with_values(
            effect=effect.name, matched=record.matched, effective=record.effective
        )
        if miss is None:
            yield "  " + Text("no other near miss" if record.matched else "no near miss")
            continue
        yield "  " + Text("nearest miss: {reason}", reason=Text(miss.reason))
        template = "at {node}; {depth} nodes of the pattern matched"
        if miss.origins:
            template = "at {node}, from {origins}; {depth} nodes of the pattern matched"
        origins = ", ".join(map(repr, miss.origins))
        yield "    " + Text(template, node=repr(miss.node), origins=origins, depth=miss.depth)


def quantized_rows(check: ModelCheck) -> list[tuple[str, str]]:
    if not check.layers:
        return []
    reasons = Counter(spoken(layer.reason) for layer in check.layers if layer.reason)
    done = len(check.layers) - sum(reasons.values())
    parts = [
        Text("{count} because {reason}", count=count, reason=reason)
        for reason, count in reasons.most_common()
    ]
    rest = Text("; on floats ") + COMMA.join(parts) if parts else Text("")
    return [("layers on int8", share_text(done, len(check.layers)) + spoken(rest))]


def conversion_tables(done: Conversion) -> list[Table]:
    fixed = [fixed_nodes_table(done.facts.fixed)] if done.facts.fixed else []
    others = [*fixed, *semantics_tables(done.facts.semantics)]
    if done.gears:
        from atc_py.report.model.gears import converted_gears

        gears = [converted_gears(done.gears)]
    else:
        gears = []
    return [_stages(done), *others, _operators(done.facts), *gears, _summary(done)]


def _stages(done: Conversion) -> Table:
    rows = [(stage.name, format_seconds(stage.seconds)) for stage in done.stages]
    rows.append((spoken("total"), format_seconds(sum(stage.seconds for stage in done.stages))))
    return Table("Stages", ("stage", "time>"), tuple(rows))


def _operators(facts: Facts) -> Table:
    before, after = _by_frequency(facts.source_operators), _by_frequency(facts.target_operators)
    pairs = zip_longest(before, after, fillvalue=("", ""))
    title = Text(
        "Operators: {file_nodes} nodes in the file, {values} after folding constants, "
        "{values_2} compiled",
        file_nodes=facts.file_nodes,
        values=sum(facts.source_operators.values()),
        values_2=sum(facts.target_operators.values()),
    )
    rows = tuple(ours + theirs for ours, theirs in pairs)
    return Table(title, ("ONNX", "count>", "target", "count>"), rows)


def _by_frequency(counts: Mapping[str, int]) -> list[tuple[str, str]]:
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(name, str(count)) for name, count in ranked]


def _summary(done: Conversion) -> Table:
    facts = done.facts
    engines = ", ".join(f"{name} {count}" for name, count in sorted(facts.engines.items()))
    changed = ", ".join(f"{e.name} {e.changes}" for e in facts.passes if e.changes)
    weights = Text("{before} in the ONNX file, {after} compiled").with_values(
        before=format_bytes(facts.weights_in), after=format_bytes(done.weights_out)
    )
    rows = (
        ("SoC", facts.soc),
        ("precision mode", facts.precision_mode),
        ("engines (nodes)", engines),
        ("passes (changes)", changed or spoken("none")),
        *newer_rows(done.check.newer),
        *quantized_rows(done.check),
        *bias_rows(facts.bias_convention),
        ("launches", _launches_text(facts)),
        ("conversions left", conversions_text(facts.target_operators)),
        ("kernel stubs", str(facts.kernels)),
        ("weights", weights),
        *memory_row(done.memory),
        *([] if done.time is None else [("estimated time", time_text(done.time))]),
        ("output", f"{done.output} ({format_bytes(done.file_bytes)})"),
    )
    return Table("Result", ("", ""), rows)


def _launches_text(facts: Facts) -> str:
    nodes = sum(count for engine, count in facts.engines.items() if engine != "local")
    template = "{launches} for {nodes} nodes; {unfused} kernels before any pass"
    if facts.launches == nodes:
        template = "{nodes}; {unfused} kernels before any pass"
    return Text(template, launches=facts.launches, nodes=nodes, unfused=facts.launches_unfused)
