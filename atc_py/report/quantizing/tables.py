"""A quantized model as tables: what it is, what int8 costs and gains."""

import math
from collections.abc import Iterator

from atc_py.onnx_graph.source import Outcome
from atc_py.report.fix.words import ACCEPTED
from atc_py.report.tables import (
    Table,
    first_names,
    fixed_nodes_table,
    format_bytes,
    format_time,
    share_text,
    visible,
)
from atc_py.results.layer_comparison import least_text
from atc_py.results.output_error import ErrorFigures
from atc_py.results.quantization import (
    FallBack,
    FloatQuantization,
    Quantization,
    QuantizationProof,
    QuantizedLayerFacts,
)
from atc_py.target import socs
from atc_py.text import COLON, SEMICOLON, Text, plural, verbatim
from atc_py.text.language import spoken

_HEADINGS = (
    "layer",
    "operator",
    "data",
    "values>",
    "range>",
    "scale>",
    "offset>",
    "weights dB>",
    "bias gain dB>",
)


def float_quantization_tables(done: FloatQuantization) -> list[Table]:
    layers = [layer for layer in done.layers if layer.scale is not None]
    rows = (
        ("samples", str(done.samples)),
        ("executor", done.executor),
        ("calibrator", done.calibrator),
        ("seconds", f"{done.seconds:.1f}"),
        *([("normalizations folded", str(done.folded_norms))] if done.folded_norms else []),
        *([("record", str(done.record))] if done.record is not None else []),
    )
    balanced = tuple(
        (row.tensor, f"{row.gain:.1f}", f"{row.strength:.1f}") for row in done.balanced
    )
    heads = ("tensor", "gain dB>", "strength>")
    tables = [Table("Layers on int8", _HEADINGS, tuple(map(_row, layers)))]
    if done.proof is not None:
        tables = [layers_table(done), outputs_table(done.proof, done.executor)]
        if done.proof.fall_back is not None:
            tables += fall_back_tables(done.proof.fall_back)
        tables.append(Table("Size and time", ("", ""), tuple(gains_rows(done))))
    return [
        *tables,
        *([Table("Channels balanced", heads, balanced)] if balanced else []),
        *gain_tables(done),
        Table("Calibration", ("", ""), rows),
        *(table for file in done.written for table in quantization_tables(file)),
    ]


def _row(layer: QuantizedLayerFacts) -> tuple[str, ...]:
    return (
        layer.name,
        layer.kind,
        layer.tensor,
        _range_text(layer.low, layer.high),
        _range_text(layer.range_low, layer.range_high),
        "" if layer.scale is None else f"{layer.scale:.5g}",
        "" if layer.offset is None else str(layer.offset),
        "" if layer.weight_sqnr is None else f"{layer.weight_sqnr:.1f}",
        "" if layer.bias_gain is None else f"{layer.bias_gain:.2f}",
    )


_OUTCOMES = {Outcome.FLOAT: "in floats", Outcome.KEPT: "unchanged"}


def quantization_tables(done: Quantization) -> list[Table]:
    others = _other_nodes_table(done)
    fixed = [fixed_nodes_table(done.fixed)] if done.fixed else []
    result = Table("Result", ("", ""), tuple(_result_rows(done)))
    return [*fixed, *([others] if others.rows else []), result]


def _result_rows(done: Quantization) -> Iterator[tuple[str, str]]:
    yield "layers on int8", share_text(done.integer_layers, done.layers)
    if done.rolled_back:
        yield "run on float16", _rolled_back(done)
    if done.read_as is not None:
        yield "biases read", spoken(done.read_as.text)
    if done.written_as is not None:
        yield "biases written", done.written_as.value
    yield "opset", str(done.opset)
    yield "operator list", _list_text(done)
    yield "model", f"{done.model} ({format_bytes(done.bytes_before)})"
    yield "output", f"{done.output} ({format_bytes(done.bytes_after)})"
    if done.data is not None:
        yield "weights", str(done.data)


def _list_text(done: Quantization) -> str:
    """`base: supported`, or how many errors the rules of the list find in what was written."""
    verdict = done.listed
    if not verdict.errors:
        return verbatim(f"{verdict.name}: ") + ACCEPTED[verdict.standing]
    return plural(
        verdict.errors,
        "{name}: {n} error; `atc-py check` names them",
        "{name}: {n} errors; `atc-py check` names them",
        name=verdict.name,
    )


def _rolled_back(done: Quantization) -> Text:
    rows = [soc for soc in socs() if soc.quant_rules.roll_back]
    limit = max(soc.quant_rules.roll_back for soc in rows)
    families = ", ".join(dict.fromkeys(soc.family.value for soc in rows))
    return Text(
        "{rolled_back} with at most {limit} input channels, on {families}",
        rolled_back=done.rolled_back,
        limit=limit,
        families=families,
    )


def _other_nodes_table(done: Quantization) -> Table:
    rows = tuple(
        (
            str(node.index),
            node.name,
            node.op_type,
            spoken(_OUTCOMES[node.outcome]),
            "" if node.reason is None else spoken(node.reason),
        )
        for node in done.nodes
        if node.outcome is not Outcome.INTEGER
    )
    return Table("Not on int8", ("node>", "name", "operator", "", "because"), rows, said=(4,))


LAYER_COLUMNS = (
    "layer", "operator", "on", "values>", "range>", "clipped>", "data dB>", "weights dB>",
    "result dB>", "outputs dB>",
)  # fmt: skip


_ENGINES = {"ort": "onnxruntime", "sim": Text("the simulator")}
"""Engines that run the samples; they round differently, so that figures differ in their last digits."""


def summary_line(done: FloatQuantization) -> Text:
    first = done.written[0]
    layers = Text("{integer} of {layers} layers on int8")
    parts = [layers.with_values(integer=first.integer_layers, layers=first.layers)]
    outputs = () if done.proof is None else tuple(done.proof.outputs.values())
    if outputs:
        cosine, snr = (min(getattr(each, name) for each in outputs) for name in ("cosine", "snr"))
        text = Text("cosine of the outputs at least {cosine}, SNR {snr} dB")
        parts.append(text.with_values(cosine=f"{cosine:.6f}", snr=decibel_text(snr)))
    before, after = format_bytes(first.bytes_before), format_bytes(first.bytes_after)
    parts.append(Text("file size {before} -> {after}", before=before, after=after))
    speed = None if done.proof is None else done.proof.speed
    if speed is not None and speed.int8:
        text = Text("{gain} times the float16 speed on {soc}, estimated")
        parts.append(text.with_values(gain=f"{speed.float16 / speed.int8:.2f}", soc=speed.soc))
    return verbatim(visible(str(done.model))) + COLON + SEMICOLON.join(parts)


def layers_table(done: FloatQuantization) -> Table:
    costs = {} if done.proof is None else {layer.name: layer for layer in done.proof.layers}
    rows = []
    for layer in done.layers:
        cost = costs.get(layer.name)
        rows.append(
            (
                layer.name,
                layer.kind,
                "int8" if layer.reason is None else spoken("float"),
                _range_text(layer.low, layer.high),
                _range_text(layer.range_low, layer.range_high),
                "" if cost is None or cost.clipped is None else f"{cost.clipped:.3%}",
                "" if cost is None else decibel_text(cost.data_snr),
                decibel_text(layer.weight_sqnr),
                "" if cost is None else decibel_text(cost.result.snr),
                "" if cost is None else decibel_text(cost.outputs_snr),
            )
        )
    known = [at for at in range(len(LAYER_COLUMNS)) if any(row[at] for row in rows)]
    shown = tuple(tuple(row[at] for at in known) for row in rows)
    return Table("Layers", tuple(LAYER_COLUMNS[at] for at in known), shown)


def outputs_table(proof: QuantizationProof, executor: str) -> Table:
    rows = tuple((name, *_figures(output)) for name, output in proof.outputs.items())
    title = plural(
        proof.samples,
        "Errors of the outputs in {n} sample, both models run by {engine}",
        "Errors of the outputs in {n} samples, both models run by {engine}",
        engine=_ENGINES.get(executor, executor),
    )
    return Table(title, ("output", "cosine>", "SNR dB>", "top 1>"), rows)


_STEPS = {
    "equalize": "channels balanced after layers",
    "smooth": "channels balanced after normalizations",
    "correct_bias": "biases corrected",
}


def gain_tables(done: FloatQuantization) -> list[Table]:
    steps = tuple(
        (
            _STEPS.get(step.name, step.name),
            share_text(step.kept, step.parts),
            _signed(step.gain),
            _signed(step.whole_gain),
        )
        for step in done.steps
    )
    tables = [
        Table(
            "Gains at the outputs", ("step", "kept>", "gain dB>", "of all dB>"), steps, said=(0,)
        ),
        Table("Gains at the layers", ("layer", "range dB>", "bias dB>"), tuple(_layer_gains(done))),
        _ranges_table(done),
    ]
    return [table for table in tables if table.rows]


def _ranges_table(done: FloatQuantization) -> Table:
    names = [*dict.fromkeys(name for trial in done.ranges for name in trial.errors)]
    rows = tuple(
        (trial.tensor, trial.chosen, *(_ratio_text(trial.errors.get(name)) for name in names))
        for trial in done.ranges
    )
    columns = ("tensor", "chosen", *(f"{name} dB>" for name in names))
    return Table("Ranges chosen by the results of the layers that read them", columns, rows)


def _layer_gains(done: FloatQuantization) -> list[tuple[str, str, str]]:
    layers = () if done.proof is None else done.proof.layers
    costs = {layer.name: layer.range_gain for layer in layers}
    return [
        (layer.name, _signed(costs.get(layer.name)), _signed(layer.bias_gain))
        for layer in done.layers
        if costs.get(layer.name) or layer.bias_gain is not None
    ]


def _ratio_text(noise: float | None) -> str:
    if noise is None:
        return ""
    return decibel_text(-10 * math.log10(noise) if noise else math.inf)


def _signed(gain: float | None) -> str:
    return "" if gain is None else f"{gain:+.2f}"


def fall_back_tables(fall_back: FallBack) -> list[Table]:
    target = ", ".join(f"{name} {least_text(least)}" for name, least in fall_back.target.items())
    reached = Text("{target}: reached" if fall_back.reached else "{target}: not reached")
    facts = [
        ("target", reached.with_values(target=target)),
        ("layers in floats", share_text(len(fall_back.floats), len(fall_back.order))),
        ("trials", str(fall_back.trials)),
        ("most costly layers", first_names([*fall_back.order], _SHOWN)),
    ]
    if fall_back.floats:
        facts.insert(2, ("in floats", first_names([*fall_back.floats], _SHOWN)))
    timed = any(point.microseconds is not None for point in fall_back.points)
    rows = tuple(
        (
            str(point.int8),
            *_figures(min(point.outputs.values(), key=lambda figures: figures.snr, default=None)),
            *([_time(point.microseconds)] if timed else []),
            spoken("yes" if point.reached else "no"),
        )
        for point in fall_back.points
    )
    time = ("time>",) if timed else ()
    columns = ("layers on int8>", "cosine>", "SNR dB>", "top 1>", *time, "reached")
    return [Table("Target", ("", ""), tuple(facts)), Table("Curve", columns, rows)]


def _time(microseconds: float | None) -> str:
    return "" if microseconds is None else format_time(microseconds / 1e6)


_SHOWN = 3
"""Layers that a line names."""


def gains_rows(done: FloatQuantization) -> Iterator[tuple[str, str]]:
    yield "float model", format_bytes(done.written[0].bytes_before) if done.written else ""
    for file in done.written:
        yield Text("{form} form", form=file.form), format_bytes(file.bytes_after)
    speed = None if done.proof is None else done.proof.speed
    if speed is not None:
        time = Text("{float16} µs, estimated", float16=f"{speed.float16:.1f}")
        yield Text("float16 on {soc}", soc=speed.soc), time
        gain = speed.float16 / speed.int8 if speed.int8 else 1.0
        time = Text("{int8} µs, estimated: {gain} times the speed")
        time = time.with_values(int8=f"{speed.int8:.1f}", gain=f"{gain:.2f}")
        yield Text("int8 on {soc}", soc=speed.soc), time


def decibel_text(value: float | None) -> str:
    """`41.2`, `exact` for an infinite ratio, and nothing for none."""
    if value is None:
        return ""
    return spoken("exact") if value == math.inf else f"{value:.1f}"


def _figures(figures: ErrorFigures | None) -> tuple[str, str, str]:
    if figures is None:
        return "", "", ""
    top1 = "" if figures.top1 is None else f"{figures.top1:.2%}"
    return f"{figures.cosine:.6f}", decibel_text(figures.snr), top1


def _range_text(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{low:.4g}, {high:.4g}]"
