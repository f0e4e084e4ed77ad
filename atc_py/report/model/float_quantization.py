"""A float model that was quantized, as tables."""

from atc_py.report.model.quantized_files import quantization_tables
from atc_py.report.quantizing.tables import gain_tables, proof_tables
from atc_py.report.tables import Table
from atc_py.results.float_quantization import FloatQuantization, QuantizedLayerFacts

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
    """The tables that `quantize` prints for a float model."""
    layers = [each for each in done.layers if each.scale is not None]
    rows = (
        ("samples", str(done.samples)),
        ("executor", done.executor),
        ("calibrator", done.calibrator),
        ("seconds", f"{done.seconds:.1f}"),
        *([("normalizations folded", str(done.folded_norms))] if done.folded_norms else []),
        *([("record", str(done.record))] if done.record is not None else []),
    )
    measured = proof_tables(done)
    return [
        *(measured or [Table("Layers on int8", _HEADINGS, tuple(map(_row, layers)))]),
        *([_balanced(done)] if done.balanced else []),
        *gain_tables(done),
        Table("Calibration", ("", ""), rows),
        *(table for each in done.written for table in quantization_tables(each)),
    ]


def _balanced(done: FloatQuantization) -> Table:
    rows = tuple(
        (each.tensor, f"{each.gain:.1f}", f"{each.strength:.1f}") for each in done.balanced
    )
    return Table("Channels balanced", ("tensor", "gain dB>", "strength>"), rows)


def _row(layer: QuantizedLayerFacts) -> tuple[str, ...]:
    """The row of a layer on int8."""
    return (
        layer.name,
        layer.kind,
        layer.tensor,
        _interval(layer.low, layer.high),
        _interval(layer.range_low, layer.range_high),
        "" if layer.scale is None else f"{layer.scale:.5g}",
        "" if layer.offset is None else str(layer.offset),
        "" if layer.weight_sqnr is None else f"{layer.weight_sqnr:.1f}",
        "" if layer.bias_gain is None else f"{layer.bias_gain:.2f}",
    )


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{low:.4g}, {high:.4g}]"
