"""Estimated times of a float model in float16, and of its int8 forms, on one SoC."""

from collections.abc import Collection, Mapping
from pathlib import Path

from atc_py.cost.network import network_time
from atc_py.package.reader import open_model
from atc_py.pipeline.convert import convert
from atc_py.quantizing.calibrated import Calibrated
from atc_py.results.quantization_proof import FallBack, Speed
from atc_py.system.structs import replace
from atc_py.system.temp_folders import work_folder

Shapes = Mapping[str, tuple[int, ...]]


_MICRO = 1e6
_MOST = 8
"""Points of a curve whose times are estimated; each is compiled."""


def estimated_speed(found: Calibrated, shapes: Shapes, soc: str) -> Speed:
    """Return the times of the float model and of the model with all of its layers on int8.

    Raises:
        AtcError: what compiling raises.
    """
    float16 = _microseconds(found.original.file.path, shapes, soc)
    return Speed(soc, float16, _of_layers(found, None, shapes, soc))


def with_times(found: Calibrated, searched: FallBack, shapes: Shapes, soc: str) -> FallBack:
    """Return a search whose curve has times, at its ends, at its result and at points between.

    Raises:
        AtcError: what compiling raises.
    """
    points = searched.points
    step = max(len(points) // _MOST, 1)
    names = [each.name for each in found.layers]
    timed = []
    for at, point in enumerate(points):
        if at % step and point.floats != searched.floats and at != len(points) - 1:
            timed.append(point)
            continue
        layers = [name for name in names if name not in point.floats]
        timed.append(replace(point, microseconds=_of_layers(found, layers, shapes, soc)))
    return replace(searched, points=tuple(timed))


def _of_layers(
    found: Calibrated, layers: Collection[str] | None, shapes: Shapes, soc: str
) -> float:
    """Return the time with layers on int8, None for all."""
    path = found.folder / "timed.onnx"
    found.written(path, layers)
    return _microseconds(path, shapes, soc)


def _microseconds(model: Path, shapes: Shapes, soc: str) -> float:
    """Return the expected time of a model, compiled in float16.

    Raises:
        AtcError: what compiling raises.
    """
    with work_folder() as folder:
        om = folder / "timed.om"
        convert(model, om, soc=soc, input_shape=shapes)
        with open_model(om) as package:
            return network_time(package.description).expected * _MICRO
