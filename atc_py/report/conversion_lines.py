"""A conversion in five lines: result, size, launches, time, warnings; an export as a table."""

from atc_py.check.findings import Standing
from atc_py.cost.network import evidence_text
from atc_py.report.tables import Table, clipped, format_bytes, format_time
from atc_py.results.conversion import Conversion, Export
from atc_py.target import SocFamily, find_soc
from atc_py.text import COMMA, SEMICOLON, Text, plural

_WARNED = {
    Standing.ERROR: "{n} unsupported",
    Standing.UNKNOWN: "{n} not decided",
    Standing.PARSER: "{n} that CANN's parser refuses",
    Standing.LIST: "{n} accepted beyond the list",
    Standing.ACCURACY: "{n} may lose accuracy",
}
"""Levels of findings that may need action; the others are for information."""

_INFORMED = {
    Standing.REWRITE: Text("{n} rewritten", context="conversion"),
    Standing.AICPU: Text("{n} on the AI CPU"),
}


def conversion_lines(done: Conversion) -> list[str]:
    facts = done.facts
    head = Text(
        "{model}: converted to {output} ({soc}, {mode}{gears})",
        model=clipped(str(done.model)),
        output=clipped(str(done.output)),
        soc=facts.soc,
        mode=facts.precision_mode,
        gears=Text(", {n} gears", n=len(done.gears)) if done.gears else "",
    )
    size, weights = format_bytes(done.file_bytes), format_bytes(done.weights_out)
    sizes = Text("size      {size}; {weights} of weights", size=size, weights=weights)
    launches = Text("launches  {n} per run", n=facts.launches) + _largest(done)
    estimate = Text("estimate  {time}", time=_estimate(done))
    warnings = Text("warnings  {warnings}", warnings=_warnings(done))
    return [head, *("  " + line for line in (sizes, launches, estimate, warnings))]


def _estimate(done: Conversion) -> str:
    if done.time is None:
        return Text("none: the model leaves dims to each run")
    span = done.time
    text = Text(
        "{time} (between {low} and {high})",
        context="estimate",
        time=format_time(span.expected),
        low=format_time(span.low),
        high=format_time(span.high),
    )
    soc = find_soc(done.facts.soc)
    text += _largest(done)
    if soc.family is not SocFamily.SIM:
        text += Text("; {evidence}", evidence=evidence_text(soc))
    return text


def _largest(done: Conversion) -> Text:
    return Text(", largest gear") if done.gears else Text("")


def _warnings(done: Conversion) -> Text:
    """`1 warning, 2 with other accuracy; for information: 3 rewritten; -v lists them`.

    Warnings of the conversion come first, then nodes' findings by level.
    """
    counts = done.check.counts
    warned = [Text(text, n=counts[level]) for level, text in _WARNED.items() if level in counts]
    if own := len(done.warnings):
        warned.insert(0, plural(own, "{n} warning", "{n} warnings"))
    informed = [
        text.with_values(n=counts[level]) for level, text in _INFORMED.items() if level in counts
    ]
    for name, operators in done.check.newer.items():
        informed.append(Text("{n} taken only by {name}", n=sum(operators.values()), name=name))
    parts = [COMMA.join(warned) if warned else Text("none")]
    if informed:
        parts.append(Text("for information: {listed}", listed=COMMA.join(informed)))
    if warned or informed:
        parts.append(Text("-v lists them"))
    return SEMICOLON.join(parts)


def export_tables(done: Export) -> list[Table]:
    operators = sum(done.operators.values())
    target = Text("{operators} nodes of {count} operators")
    onnx = Text("opset {opset}, {nodes} nodes, {functions} functions")
    rows = [
        ("SoC", done.soc),
        *((name.replace("_", " "), value) for name, value in sorted(done.options.items())),
        ("target operators", target.with_values(operators=operators, count=len(done.operators))),
        (
            "ONNX",
            onnx.with_values(opset=done.opset, nodes=done.nodes, functions=done.functions),
        ),
        ("output", f"{done.output} ({format_bytes(done.bytes)})"),
    ]
    if done.data is not None:
        rows.append(("constants", str(done.data)))
    return [Table("Result", ("", ""), tuple(rows))]
