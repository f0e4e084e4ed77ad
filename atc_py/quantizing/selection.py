"""The choice of layers: those that options leave in floats, and why."""

from collections import Counter
from collections.abc import Iterable, Sequence

from atc_py.diag import NO_FLOAT_LAYERS, NOT_IN_MODEL, Place, nearest_of_many
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.quantizing.layers.float_model import FloatModel
from atc_py.quantizing.layers.layers import FloatLayer, layers_in_bodies
from atc_py.quantizing.options import CalibrationOptions
from atc_py.text import COLON, COMMA, Text

SKIPPED = Text("it is left out by --skip")
FIRST = Text("it is among the first layers, which stay in floats")
LAST = Text("it is among the last layers, which stay in floats")

CONFIGURED = Text("the configuration leaves it in floats")

_BY_TYPE = "OpType::"
_HINTS = 3


def skipped_layers(model: FloatModel, settings: CalibrationOptions) -> dict[str, Text]:
    """The layers that stay in floats by the options, each with the reason."""
    layers = model.found.layers
    found: dict[str, Text] = _left_by_config(model, settings)
    for text in settings.skip:
        found |= dict.fromkeys(_named(text, model), SKIPPED)
    if settings.skip_first:
        before = _layers_on_the_way(model.graph.nodes, layers, forward=True)
        found |= {name: FIRST for name, count in before.items() if count < settings.skip_first}
    if settings.skip_last:
        after = _layers_on_the_way(reversed(model.graph.nodes), layers, forward=False)
        found |= {name: LAST for name, count in after.items() if count < settings.skip_last}
    if len(found) == len(layers):
        raise _no_layers(model)
    return found


def _left_by_config(model: FloatModel, settings: CalibrationOptions) -> dict[str, Text]:
    if settings.config is None:
        return {}
    layers = model.found.layers
    known = {*(node.name for node in model.graph.nodes), *(each.name for each in layers)}
    for name in settings.config.layer_names():
        if name not in known:
            near = nearest_of_many(name, [each.name for each in layers], _HINTS)
            raise NOT_IN_MODEL.error(
                Text(
                    "the configuration names the layer {name}, which the model does not have",
                    name=repr(name),
                ),
                place=Place(field="--config"),
                help=Text("layers with similar names are {near}", near=", ".join(near)),
            )
    left = [each for each in layers if settings.config.choice_for(each.name, each.kind) is None]
    return {each.name: CONFIGURED for each in left}


def _named(text: str, model: FloatModel) -> list[str]:
    """The layers that a name, or `OpType::T`, is for.

    Nodes that could not be quantized anyway may be named, too.
    """
    layers = model.found.layers
    if text.startswith(_BY_TYPE):
        kind = text[len(_BY_TYPE) :]
        if any(node.op_type == kind for node in model.graph.nodes):
            return [each.name for each in layers if each.kind == kind]
        known = sorted({each.kind for each in layers})
        help_ = Text("operators that form layers are {known}", known=", ".join(known))
    else:
        found = [each.name for each in layers if text in {each.name, *each.node.output_names}]
        if found or any(text == node.name for node in model.graph.nodes):
            return found
        near = nearest_of_many(text, [each.name for each in layers], _HINTS)
        help_ = Text("layers with similar names are {near}", near=", ".join(near))
    raise NOT_IN_MODEL.error(
        Text("--skip {text} does not name a layer", text=repr(text)),
        place=Place(field="--skip"),
        help=help_,
    )


def _layers_on_the_way(
    nodes: Iterable[OnnxNode], layers: Sequence[FloatLayer], *, forward: bool
) -> dict[str, int]:
    """The most layers with weights in a row before each layer; after it if not `forward`.

    `nodes` are in the order of that way.
    """
    own = {each.node: each for each in layers}
    depth: dict[str, int] = {}
    found: dict[str, int] = {}
    for node in nodes:
        near, far = (node.reads, node.writes) if forward else (node.writes, node.reads)
        most = max((depth.get(name, 0) for name in near), default=0)
        if node in own:
            found[own[node].name] = most
            most += not own[node].is_pool
        for name in far:
            depth[name] = max(depth.get(name, 0), most)
    return found


def _no_layers(model: FloatModel) -> Exception:
    """The refusal of a model of which nothing would be on int8."""
    reasons = Counter[str](reason for _, reason in model.found.left)
    for node, counts in layers_in_bodies(model.graph):
        reasons[Text("it is in a subgraph of {op}", op=node.op_type)] += sum(counts.values())
    found = COMMA.join(
        Text("{n} x {reason}", n=count, reason=reason) for reason, count in reasons.items()
    )
    layers = len(model.found.layers)
    text = (
        Text(
            "all {layers} layers that could be quantized are left in floats by options",
            layers=layers,
        )
        if layers
        else Text("no layer of the model can be quantized") + (COLON + found if found else "")
    )
    return NO_FLOAT_LAYERS.error(
        text,
        place=Place(str(model.file.path)),
        help=Text("leave out options such as --skip")
        if layers
        else Text("layers are Conv, ConvTranspose, Gemm and MatMul with constant float32 weights"),
    )
