"""Modes 1 and 6 of an offline model: its description as ATC's `ModelDef` in JSON, its figures.

docs/om-json.md has each part with how certain it is. The lines of mode 6, their order and their words
are ATC's [proven]. atc-py has one stream and no events.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from atc_py.adapters.atc.modes.om_graph import add_graph
from atc_py.adapters.atc.modes.opening import opened_om
from atc_py.adapters.atc.modes.real_om import info_lines, om_line, real_om_json, real_om_lines
from atc_py.onnx_graph.protos.message_json import json_text, message_json
from atc_py.package.archive import KERNELS, MODEL, WEIGHTS
from atc_py.package.describe import weights_nbytes
from atc_py.package.foreign import is_huawei
from atc_py.package.ge.protobuf_classes import model_class
from atc_py.package.ge.schema import LIST_TYPES
from atc_py.package.reader import OfflineModel
from atc_py.package.schema import ATC_CMDLINE

DROPPED_FIELDS = frozenset(
    {
        "bt",
        "data",
        "data_offset",
        "memory_size",
        "output",
        "quantize_factor",
        "size",
        "weight_size",
        "workspace",
        "workspace_bytes",
    }
)
"""Fields that ATC leaves out wherever they stand."""

_VERSION = 2
_STREAMS, _EVENTS = 1, 0
_ONNX = "Onnx"
_FIRST_GRAPH = 0
"""Number of the graph among those of one run of atc, which ends its name."""

_NO_PARTS = (0, 0, 0)
"""Sizes of kernels of custom AI CPU operators, tasks and libraries, which no model of atc-py has."""

_WEIGHTS, _KERNELS = WEIGHTS.rstrip("/"), KERNELS.rstrip("/")


@dataclass(frozen=True, slots=True)
class _OmFigures:
    """The figures that ATC's mode 6 prints; sizes are bytes."""

    command_line: str  # of the atc that wrote the model; empty for any other program
    version: str  # the program that wrote it
    soc: str
    memory: int  # of the results of kernels, workspace included
    weights: int  # of the constants on the device, with what aligns them
    description: int  # of the description of the graph
    om_info: tuple[int, ...]  # in the file, of weights and kernels, then _NO_PARTS


def _figures_of(model: OfflineModel) -> _OmFigures:
    """The figures of an opened offline model, of all its gears."""
    description = model.description
    gears = range(0 if model.gears is None else len(model.gears.gears))
    plans = [each.description.memory for each in [model, *map(model.at_gear, gears)]]
    with ZipFile(model.path) as archive:  # gears have folders of their own in it
        sizes = {each.filename: each.file_size for each in archive.infolist()}
    in_folders = [
        sum(size for name, size in sizes.items() if folder in name.split("/")[:-1])
        for folder in (_WEIGHTS, _KERNELS)
    ]
    return _OmFigures(
        command_line=description.options.get(ATC_CMDLINE, ""),
        version=description.producer,
        soc=description.soc,
        memory=max(0 if plan is None else plan.arena + plan.workspace for plan in plans),
        weights=weights_nbytes(description),
        description=sum(size for name, size in sizes.items() if name.split("/")[-1] == MODEL),
        om_info=(*in_folders, *_NO_PARTS),
    )


def om_to_json(om: Path) -> str:
    """The JSON of mode 1; what cannot be read as an offline model is E10041."""
    if is_huawei(om):
        return json_text(real_om_json(om, DROPPED_FIELDS))
    with opened_om(om) as model:
        options, name = model.description.options, model.description.name
        message = _model_def(model, name if ATC_CMDLINE in options else om.stem)
    return json_text(message_json(message, DROPPED_FIELDS))


def _model_def(model: OfflineModel, name: str) -> Any:
    """The message; ATC names model and graph after the file that it writes."""
    found = _figures_of(model)
    message = model_class()(name=name, version=_VERSION)
    texts = {
        "atc_cmdline": found.command_line,
        "atc_version": found.version,
        "framework_type": _ONNX,
        "soc_version": found.soc,
    }
    for key, text in texts.items():
        if text:
            message.attr[key].s = text.encode("utf-8", "surrogateescape")
    numbers = {
        "event_num": _EVENTS,
        "memory_size": found.memory,
        "stream_num": _STREAMS,
        "weight_size": found.weights,
    }
    for key, number in numbers.items():
        message.attr[key].i = number
    sizes = message.attr["om_info_list"].list
    sizes.i.extend(found.om_info)
    sizes.val_type = LIST_TYPES.index("VT_LIST_INT")
    _add_graphs(message, model, name)
    return message


def _add_graphs(message: Any, model: OfflineModel, name: str) -> None:
    """Add the graph, or with gears one for each: tools read the first, that of the largest gear."""
    gears = model.gears
    name = f"{name}_{_FIRST_GRAPH}"
    if gears is None or model.gear is None:
        add_graph(message, model.description, name)
        return
    others = [gear for gear in range(len(gears.gears)) if gear != model.gear]
    for gear in (model.gear, *others):
        own = name if gear == model.gear else f"{name}_gear_{gear}"
        add_graph(message, model.at_gear(gear).description, own)
        numbers = message.graph[-1].attr[gears.kind.parameter].list
        numbers.i.extend(gears.gears[gear])
        numbers.val_type = LIST_TYPES.index("VT_LIST_INT")


def model_info(om: Path) -> list[str]:
    """The lines that describe an offline model; what cannot be read as one is E10041."""
    if is_huawei(om):
        return real_om_lines(om)
    with opened_om(om) as model:
        found = _figures_of(model)
    return info_lines(
        found.command_line,
        (found.version, found.soc, _ONNX),
        (found.memory, found.weights, _STREAMS, _EVENTS),
        om_line(found.om_info, found.description),
    )
