"""The formats in which a layer-by-layer comparison can be had, of one shape or of gears."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from atc_py.compare.gears import ComparedGear
from atc_py.diag import Diagnostic
from atc_py.onnx_graph.source import FileGraph
from atc_py.options.gears import format_gear
from atc_py.options.input_shapes import format_input_shapes
from atc_py.report.layers.text import (
    cause_text,
    layers_text,
    origin_words,
    output_verdict,
)
from atc_py.report.model.gears import gear_shapes_text
from atc_py.report.tables import csv_cell, number_text, visible
from atc_py.results.compiled_model import CompiledModel
from atc_py.results.layer import Layer
from atc_py.results.layer_comparison import LayerComparison
from atc_py.results.summary import ModelSummary
from atc_py.text import Text
from atc_py.text.language import spoken

COLUMNS = (
    "Index", "OpType", "NPUDump", "DataType", "GroundTruth", "TensorIndex", "Shape", "OverFlow",
    "CosineSimilarity", "MaxAbsoluteError", "RelativeEuclideanDistance", "MeanAbsoluteError",
    "RootMeanSquareError", "MaxRelativeError", "MeanRelativeError", "CompareFailReason",
    "GroundTruthOpType", "SNR", "NaNShare", "InfShare", "DifferingShare", "Lowest", "Highest",
    "DtypeLimit", "OverflowShare", "OverflowValue", "UnderflowShare", "UnderflowValue", "Error",
    "Faults", "Floor", "CosineBeyondFloor", "DistanceBeyondFloor", "SNRBeyondFloor", "MovedSteps",
    "OriginalOwnSNR", "SNRBeforeCorrection", "Output", "Top1Agreement", "Top5Agreement", "Target",
    "Deviation", "MeanSampleCosine", "WorstSampleCosine", "WorstSampleSNR", "MedianSampleSNR",
    "WorstSample",
)  # fmt: skip


def layers_csv(done: LayerComparison) -> str:
    """One row a layer (RFC 4180); rows without counterpart have the reason and `NaN`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for at, layer in enumerate(done.layers):
        writer.writerow(
            [
                *_row(done, layer),
                *_judged_cells(layer),
                *_as_output(done, at),
                csv_cell(cause_text(done, layer)),
                *_over_samples(done, at),
            ]
        )
    blank = dict.fromkeys(COLUMNS, "") | {"NPUDump": "*", "GroundTruth": "*"}
    blank |= dict.fromkeys(COLUMNS[8:15], "NaN")
    for nodes, column in ((done.device_alone, "NPUDump"), (done.original_alone, "GroundTruth")):
        for node in nodes:
            cells = {"OpType": node.op, column: csv_cell(node.name)}
            writer.writerow((blank | cells | {"CompareFailReason": node.reason}).values())
    for name, reason in done.uncompared.items():
        if name not in done.outputs:
            cells = {"Output": csv_cell(name), "CompareFailReason": reason}
            writer.writerow((blank | cells | {"Target": output_verdict(done, name)}).values())
    return text.getvalue()


def _row(done: LayerComparison, layer: Layer) -> list[str]:
    figures = layer.figures
    shape = ",".join("?" if dim is None else str(dim) for dim in layer.shape)
    numbers = (
        figures.cosine,
        figures.max_absolute,
        figures.distance,
        figures.mean_absolute,
        figures.rmse,
        figures.max_relative,
        figures.mean_relative,
    )
    ours = (figures.snr, figures.nan, figures.inf, figures.differing, figures.lowest)
    ends = (figures.highest, figures.limit, figures.overflow.share, figures.overflow.value)
    lost = (figures.underflow.share, figures.underflow.value)
    return [
        *(str(layer.index), layer.op, csv_cell(layer.node), layer.dtype, csv_cell(layer.source)),
        *(csv_cell(layer.value), shape, "YES" if figures.overflow.share else "NO"),
        *map(number_text, numbers),
        *("", layer.source_op),
        *map(number_text, (*ours, *ends, *lost)),
        *(csv_cell(origin_words(done, layer)), csv_cell("; ".join(layer.faults))),
    ]


def _judged_cells(layer: Layer) -> list[str]:
    beyond, own = layer.figures.beyond, layer.own
    floored: tuple[str, ...] = ("", "", "", "")
    if beyond is not None:
        numbers = (beyond.floor, beyond.cosine, beyond.distance, beyond.snr)
        floored = tuple(map(number_text, numbers))
    moved = "" if layer.grid is None else str(layer.moved_steps)
    corrected = ("", "")
    if own is not None:
        corrected = (number_text(own.original.snr), number_text(own.seen.snr))
    return [*floored, moved, *corrected]


def _as_output(done: LayerComparison, at: int) -> list[str]:
    names = [name for name, place in done.outputs.items() if place == at]
    rankings = [done.rankings.get(name) for name in names]
    first = [number_text(ranking.top1) for ranking in rankings if ranking is not None]
    few = [
        number_text(each.top5) for each in rankings if each is not None and each.top5 is not None
    ]
    verdicts = [verdict for name in names if (verdict := output_verdict(done, name))]
    return [csv_cell("; ".join(names)), "; ".join(first), "; ".join(few), "; ".join(verdicts)]


def _over_samples(done: LayerComparison, at: int) -> list[str]:
    """Fill the cells of the figures over samples; empty of one sample."""
    spread = done.spreads.get(at)
    if spread is None:
        return [""] * 5
    numbers = (spread.cosine.mean, spread.cosine.worst, spread.snr.worst, spread.snr.quantiles[-1])
    return [*map(number_text, numbers), csv_cell(spread.snr.sample)]


FORMATS = ("text", "json", "csv", "html")
"""Names of the formats."""


def render_layers(
    name: str,
    done: LayerComparison,
    findings: Iterable[Diagnostic] = (),
    file_graph: FileGraph | None = None,
    compiled: CompiledModel | None = None,
) -> str:
    if name == "json":
        listed = [finding.as_json() for finding in findings]
        document = {**done.as_json(), "diagnostics": listed}
        return json.dumps(document, indent=2, allow_nan=False) + "\n"
    if name == "csv":
        return layers_csv(done)
    if name == "html":
        from atc_py.report.page.html_page import summary_html  # jinja2 takes long to import

        return summary_html(
            ModelSummary(
                done.model,
                file_graph=file_graph,
                compiled=compiled,
                comparison=done,
                missed=tuple(findings),
            )
        )
    return layers_text(done)


def gears_text(compared: Sequence[ComparedGear]) -> str:
    return "\n".join(f"{gear_title(gear)}\n\n{_text(gear)}" for gear in compared)


def gear_title(gear: ComparedGear) -> str:
    numbers, shapes = format_gear(gear.values), gear_shapes_text(gear.shapes)
    return spoken(Text("Gear {gear}: {gear_shapes}", gear=numbers, gear_shapes=shapes))


def _text(gear: ComparedGear) -> str:
    if gear.done is not None:
        return layers_text(gear.done)
    reasons = (Text("not compared: {message}", message=row.message) for row in gear.not_compared)
    return "".join(f"{visible(spoken(reason))}\n" for reason in reasons)


def gears_document(
    compared: Sequence[ComparedGear],
    findings: Sequence[Sequence[Diagnostic]],
    left_out: Sequence[Diagnostic] = (),
) -> str:
    listed = [
        {
            "gear": list(gear.values),
            "inputs": {name: list(shape) for name, shape in gear.shapes.items()},
            "compared": gear.done is not None,
            **({} if gear.done is None else gear.done.as_json()),
            "diagnostics": [finding.as_json() for finding in own],
        }
        for gear, own in zip(compared, findings, strict=True)
    ]
    every = [finding.as_json() for own in (*findings, left_out) for finding in own]
    document = {"gears": listed, "diagnostics": every}
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def gears_html(
    model: Path,
    compared: Sequence[ComparedGear],
    findings: Sequence[Sequence[Diagnostic]],
    left_out: Sequence[Diagnostic] = (),
) -> str:
    from atc_py.pipeline.onnx_facts import compiled_file_graph
    from atc_py.report.page.html_page import summaries_html  # jinja2 takes long to import

    return summaries_html(
        [
            ModelSummary(
                model,
                file_graph=None
                if gear.compiled is None
                else compiled_file_graph(model, gear.compiled),
                compiled=gear.compiled,
                comparison=gear.done,
                missed=(*(() if gear.done is None else own), *(() if at else left_out)),
                not_compared=gear.not_compared,
                gear=format_gear(gear.values),
                shape=format_input_shapes(gear.shapes),
            )
            for at, (gear, own) in enumerate(zip(compared, findings, strict=True))
        ]
    )
