"""Mode 1 of an offline model: its description as ATC's `ModelDef`, and that as JSON.

docs/om-json.md has each part with how certain it is.
"""

from pathlib import Path
from typing import Any

from atc_py.adapters.atc.modes.om_graph import add_graph
from atc_py.adapters.atc.modes.om_sizes import figures_of
from atc_py.adapters.atc.modes.opening import opened_om
from atc_py.adapters.atc.modes.real_om import real_om_json
from atc_py.onnx_graph.protos.message_json import json_text, message_json
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
_ONNX = "Onnx"
_FIRST_GRAPH = 0
"""Number of the graph among those of one run of atc, which ends its name."""


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
    found = figures_of(model)
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
        "event_num": 0,
        "memory_size": found.memory,
        "stream_num": 1,
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
