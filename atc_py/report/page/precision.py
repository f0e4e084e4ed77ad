"""The precision part of the page: layers, outputs with their verdicts, and histograms."""

import math

from atc_py.report.layers.spreads import shown_shares
from atc_py.report.layers.suggestion import outputs_with, suggestion_words
from atc_py.report.layers.text import (
    cost_lines,
    origin_words,
    output_verdict,
    verdict_lines,
)
from atc_py.report.page.words import both, in_both, name_text, table_json
from atc_py.report.tables import number_text
from atc_py.results.judgment import FigureSpread, MagnitudeHistogram
from atc_py.results.layer import FAILING_DISTANCE, Layer, number_json
from atc_py.results.layer_comparison import LayerComparison, Suggestion
from atc_py.text import in_language


def spreads_json(done: LayerComparison) -> dict[str, object]:
    """The figures over samples, nothing for one sample.

    A layer is [position, cosine, distance, SNR], and each of these [mean, worst, position of the
    worst sample's name, a value for each share].
    """
    if not done.spreads:
        return {}
    shares = shown_shares(done)
    names: dict[str, int] = {}
    rows = [
        [
            at,
            *(
                _figure(each, names, len(shares))
                for each in (spread.cosine, spread.distance, spread.snr)
            ),
        ]
        for at, spread in done.spreads.items()
    ]
    return {
        "spreads": {
            "shares": list(shares),
            "exact": all(each.exact for each in done.spreads.values()),
            "names": [in_both(name) for name in names],
            "layers": rows,
        }
    }


def _figure(figure_spread: FigureSpread, names: dict[str, int], shares: int) -> list[object]:
    """One figure with its first quantiles; the name of its worst sample gets a position in `names`."""
    at = names.setdefault(figure_spread.sample, len(names))
    mean, worst, *quantiles = map(
        _number, (figure_spread.mean, figure_spread.worst, *figure_spread.quantiles[:shares])
    )
    return [mean, worst, at, *quantiles]


def _number(value: float) -> object:
    """A number; as text if it is infinite, None for NaN."""
    return number_text(value) if math.isinf(value) else number_json(value)


def precision_json(done: LayerComparison) -> dict[str, object]:
    return {
        "soc": done.soc,
        "mode": done.precision_mode,
        "samples": done.samples,
        "engines": [name_text(engine) for engine in done.engines],
        "device": done.device,
        "stopped": in_both(done.stopped) if done.stopped else "",
        "limit": FAILING_DISTANCE,
        "passed": done.passed,
        "targets": dict(done.targets),
        "verdict": [
            both(line.strip(), in_language(line, "zh").strip()) for line in verdict_lines(done)
        ],
        "cost": [*map(in_both, cost_lines(done))],
        "suggestion": None if done.suggestion is None else _suggestion(done.suggestion),
        "first": None if done.first_failing is None else done.layers.index(done.first_failing),
        "outputs": [
            _output(done, name) for name in dict.fromkeys((*done.outputs, *done.uncompared))
        ],
        "layers": [_layer(done, layer) for layer in done.layers],
        "alone": [
            [side, name_text(row.name), name_text(row.op), in_both(row.reason)]
            for side, rows in (("device", done.device_alone), ("original", done.original_alone))
            for row in rows
        ],
        "histograms": [[at, _histogram(histogram)] for at, histogram in done.histograms.items()],
        **spreads_json(done),
    }


def _output(done: LayerComparison, name: str) -> dict[str, object]:
    document: dict[str, object] = {
        "name": name_text(name),
        "verdict": in_both(output_verdict(done, name)),
        "reason": in_both(done.uncompared.get(name, "")),
        "layer": done.outputs.get(name),
    }
    ranking = done.rankings.get(name)
    if ranking is not None:
        best = "" if ranking.top5 is None else f", top-5 {ranking.top5:.2%}"
        document["classes"] = f"top-1 {ranking.top1:.2%}{best}"
    return document


def _layer(done: LayerComparison, layer: Layer) -> list[object]:
    """A layer.

    It is [node, value, node in the file, name, operator, dtype, dims, error, cosine, distance,
    SNR, largest absolute and relative error, share lost, overflow, underflow, lowest, highest,
    where the error comes from, position of the layer that introduced it, that in words, faults].
    """
    figures = layer.figures
    numbers = (
        layer.judged_error, *layer.judged, figures.max_absolute, figures.max_relative,
        figures.lost_share, figures.overflow.share, figures.underflow.share, figures.lowest,
        figures.highest,
    )  # fmt: skip
    return [
        layer.index,
        layer.tensor,
        layer.source_at,
        name_text(layer.source or layer.value),
        name_text(layer.source_op or layer.op),
        layer.dtype,
        list(layer.shape),
        *map(_number, numbers),
        layer.origin.value,
        layer.root,
        in_both(origin_words(done, layer)),
        [in_both(text) for text in layer.faults],
    ]


def _suggestion(suggestion: Suggestion) -> dict[str, object]:
    return {
        "lines": [in_both(line) for line in suggestion_words(suggestion)],
        "kept": [
            [name_text(each.line), name_text(each.op), each.nodes, each.engine]
            for each in suggestion.kept
        ],
        "reached": suggestion.reached,
        "outputs": table_json(outputs_with(suggestion), (0,))
        if suggestion.kept or suggestion.out_of_reach
        else None,
    }


def _histogram(magnitude_histogram: MagnitudeHistogram) -> dict[str, object]:
    return {
        "low": magnitude_histogram.low,
        "high": magnitude_histogram.high,
        "original": [round(each, 5) for each in magnitude_histogram.original],
        "device": [round(each, 5) for each in magnitude_histogram.device],
        "zeros": list(magnitude_histogram.zeros),
        "lost": list(magnitude_histogram.lost),
        "limits": dict(magnitude_histogram.limits),
        "values": magnitude_histogram.values,
    }
