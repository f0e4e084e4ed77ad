"""Calibration: a float model is run over samples, and its layers get the numbers of int8."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from atc_py.calibration.histogram import Histogram
from atc_py.calibration.ranges import CALIBRATORS
from atc_py.calibration.scales import activation_scale
from atc_py.diag import Place
from atc_py.diag.codes import BAD_OPTION, CONSTANT_TENSOR, NO_FLOAT_LAYERS, NO_VALUES
from atc_py.frontend.quantizing.float_model import FloatModel
from atc_py.frontend.reading.tensors import dtype_of_element
from atc_py.quantizing.calibrated import Calibrated, CalibratedLayer
from atc_py.quantizing.executors import start_executor
from atc_py.quantizing.samples import checked
from atc_py.quantizing.weights import weight_numbers
from atc_py.running.model import Port

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from atc_py.frontend.quantizing.layers import FloatLayer
    from atc_py.quantizing.samples import Samples
    from atc_py.quantizing.settings import QuantizeSettings

__all__ = ["calibrate", "ports_of_model"]


def calibrate(
    model: Path,
    samples: Samples,
    settings: QuantizeSettings,
    on_stage: Callable[[str], None] | None = None,
) -> Calibrated:
    """Return the model with the numbers of its layers' int8 forms.

    Raises:
        AtcError: ALREADY_QUANTIZED, NO_FLOAT_LAYERS, CONSTANT_TENSOR, NO_VALUES; what samples and
            the executor raise.
    """
    if settings.calibrator not in CALIBRATORS:
        raise BAD_OPTION.error(
            f"no calibrator is called {settings.calibrator!r}",
            help=f"calibrators are {', '.join(CALIBRATORS)}",
        )
    folder = TemporaryDirectory(prefix="atc-py-")
    try:
        prepared = Path(folder.name) / "prepared.onnx"
        float_model = FloatModel(model)
        float_model.write(prepared)
        float_model = FloatModel(prepared)
        layers = float_model.found.layers
        if not layers:
            raise NO_FLOAT_LAYERS.error(
                f"{model} has no layer that can be quantized", place=Place(str(model))
            )
        histograms = _histograms(float_model, layers, samples, settings, on_stage)
        found = tuple(_calibrated(float_model, each, histograms, settings) for each in layers)
        return Calibrated(model, float_model, found, folder)
    except BaseException:
        folder.cleanup()
        raise


def ports_of_model(model: FloatModel) -> tuple[Port, ...]:
    """Return the inputs of a model; dims that it leaves open are None."""
    return tuple(
        Port(
            each.name,
            dtype_of_element(each.element),
            tuple(dim if isinstance(dim, int) else None for dim in each.dims or ()),
        )
        for each in model.file.inputs
    )


def _histograms(
    model: FloatModel,
    layers: Sequence[FloatLayer],
    samples: Samples,
    settings: QuantizeSettings,
    on_stage: Callable[[str], None] | None,
) -> dict[str, Histogram]:
    """Return the values of each layer's data in all samples."""
    names = [*dict.fromkeys(each.data for each in layers)]
    found = {name: Histogram() for name in names}
    ports = ports_of_model(model)
    inputs = [port.name for port in ports]
    executor = start_executor(settings.executor, model.file.path, names, inputs)
    started = time.monotonic()
    try:
        for done, (label, feeds) in enumerate(checked(samples, ports)):
            if on_stage is not None:
                on_stage(_stage(done, samples.count, time.monotonic() - started))
            for name, array in executor.run(feeds).items():
                found[name].add(array, Place(label, field=f"tensor {name}"))
    finally:
        executor.close()
    return found


def _stage(done: int, count: int, seconds: float) -> str:
    """Return the progress as text, with share and time left."""
    share = f"calibrate: sample {done + 1} of {count}, {100 * done // max(count, 1)} %"
    if not done:
        return share
    left = seconds / done * (count - done)
    return f"{share}, {left:.0f} s left" if left < 100 else f"{share}, {left / 60:.0f} min left"


def _calibrated(
    model: FloatModel,
    layer: FloatLayer,
    histograms: Mapping[str, Histogram],
    settings: QuantizeSettings,
) -> CalibratedLayer:
    """Return a layer with its numbers."""
    histogram, place = histograms[layer.data], layer.node.place
    if not histogram.count:
        raise NO_VALUES.error(
            f"layer {layer.name!r} never sees data: {layer.data!r} has no elements in any sample",
            place=place,
            help="give samples that reach the layer, or leave it in floats with --skip",
        )
    if histogram.low == histogram.high and histogram.count > 1:
        raise CONSTANT_TENSOR.error(
            f"{layer.data!r}, which layer {layer.name!r} reads, is {histogram.low:g} in all samples",
            place=place,
            help=f"give samples that differ, or leave the layer in floats with --skip {layer.name}",
        )
    chosen = CALIBRATORS[settings.calibrator].range_of(histogram, settings.ranges)
    activation = activation_scale(chosen, symmetric=settings.ranges.symmetric, place=place)
    scale, codes = weight_numbers(model.graph, layer, activation.scale, settings.weights)
    return CalibratedLayer(layer, histogram, chosen, activation, scale, codes)
