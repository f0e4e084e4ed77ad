"""onnxruntime's static quantization, and the error of a quantized model at its outputs."""

import logging
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import version_converter

Array = npt.NDArray[Any]
Sample = Mapping[str, Array]


METHODS = ("MinMax", "Entropy", "Percentile")

LEAST_OPSET = 13
"""The first opset in which QuantizeLinear has scales per channel."""


class _Reader:
    """Samples as onnxruntime's calibrators take them: one after the other, then None."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._samples: Iterator[Sample] = iter(samples)

    def get_next(self) -> Sample | None:
        """Return the next sample."""
        return next(self._samples, None)


def quantized_by_onnxruntime(
    model: Path, output: Path, samples: Sequence[Sample], method: str
) -> float:
    """Write a model quantized per channel, with defaults in everything else; return the seconds.

    What makes older models fit, a higher opset, is not in the time.
    """
    from onnxruntime.quantization import CalibrationMethod, quantize_static

    proto = onnx.load(model)
    opset = next(each for each in proto.opset_import if each.domain in {"", "ai.onnx"})
    if opset.version < LEAST_OPSET:
        proto = version_converter.convert_version(proto, LEAST_OPSET)
    given = output.with_suffix(".float.onnx")
    onnx.save(proto, given)
    logging.disable(logging.WARNING)
    started = time.perf_counter()
    try:
        with redirect_stdout(StringIO()):
            quantize_static(
                given,
                output,
                _Reader(samples),
                per_channel=True,
                calibrate_method=CalibrationMethod[method],
            )
    finally:
        logging.disable(logging.NOTSET)
    return time.perf_counter() - started


def results_of(model: Path, samples: Sequence[Sample]) -> list[dict[str, Array]]:
    """Return the outputs of floats that onnxruntime computes for each sample."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_outputs()]
    inputs = {each.name for each in session.get_inputs()}
    found = []
    for sample in samples:
        values = session.run(None, {name: sample[name] for name in inputs})
        pairs = zip(names, values, strict=True)
        found.append({name: value for name, value in pairs if value.dtype.kind == "f"})
    return found


class Errors(dict[str, float]):
    """The signal-to-noise ratio of each output, in dB."""

    @property
    def worst(self) -> float:
        """The least of all outputs."""
        return min(self.values())


def errors_of(found: Sequence[Sample], wanted: Sequence[Sample]) -> Errors:
    """Return the ratios of all samples together; an output that is exact has inf."""
    errors = Errors()
    for name in wanted[0]:
        signal = sum(float(np.sum(np.square(each[name], dtype=np.float64))) for each in wanted)
        noise = sum(
            float(np.sum(np.square(ours[name].astype(np.float64) - each[name])))
            for ours, each in zip(found, wanted, strict=True)
        )
        errors[name] = 10 * math.log10(signal / noise) if noise else math.inf
        if math.isnan(noise):
            errors[name] = -math.inf
    return errors


def quantized_here(model: Path, output: Path, samples: Sequence[Sample], **choice: Any) -> float:
    """Write a model quantized by this package, as QDQ; return the seconds."""
    from atc_py.pipeline.running.samples import ArraySamples
    from atc_py.quantizing.calibration import calibrate
    from atc_py.quantizing.options import CalibrationOptions

    started = time.perf_counter()
    with calibrate(model, ArraySamples(samples), CalibrationOptions(**choice)) as found:
        found.written(output, form="qdq")
    return time.perf_counter() - started
