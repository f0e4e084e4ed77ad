"""Findings about a quantized model: its layers, nodes that cannot be rewritten, and AscendQuant.

Of AscendQuant they are about attributes that ATC or the kernel does not obey.
"""

from collections.abc import Iterator, Mapping
from math import prod

from atc_py.check.condition_words import soc_words
from atc_py.check.findings import Finding, Standing
from atc_py.diag import (
    LAYER_ON_FLOATS,
    LAYER_ON_INT8,
    LAYER_ROLLED_BACK,
    QUANT_ROOT_RESET,
    QUANT_ROUND_MODE,
    UNSUPPORTED_FORM,
    Place,
)
from atc_py.onnx_graph.source import Outcome, QuantizedNode, SourceModel, SourceNode, SourceTensor
from atc_py.system.structs import replace
from atc_py.target import Soc
from atc_py.tensor.dtypes import DType
from atc_py.text import Text, plural, verbatim

_LAYERS = frozenset({"Conv", "ConvTranspose"})
_POOL = "AveragePool"
_IMAGE = 4
_CONSTANTS = slice(1, None)


def rolled_back_layers(model: SourceModel, limit: int) -> Mapping[SourceNode, int]:
    """The layers that the pass roll-back-quant takes back, with the channels of their data.

    `model` is in the deploy form; the data of such a layer have at most `limit` channels, which is
    0 where the SoC takes none back.
    """
    if not limit or all(node.op_type not in _LAYERS for node in model.all_nodes):
        return {}
    producers = {out: node for node in model.all_nodes for out in node.outputs if out is not None}
    readers: dict[SourceTensor, list[SourceNode | None]] = {}
    for node in model.all_nodes:
        for tensor in node.inputs:
            if tensor is not None:
                readers.setdefault(tensor, []).append(node)
    branches = [branch for node in model.all_nodes for branch in node.branches.values()]
    for tensor in (*model.outputs, *(out for branch in branches for out in branch.outputs)):
        readers.setdefault(tensor, []).append(None)
    taken = {}
    for node in model.all_nodes:
        channels = _channels(node, producers)
        if channels is None or channels > limit:
            continue
        weights = node.inputs[1]
        if weights is None or weights.dtype is not DType.INT8 or not _has_constants(node):
            continue
        if node.outputs[0] is not None and _is_dequantized(node, readers.get(node.outputs[0], [])):
            taken[node] = channels
    return taken


def _channels(layer: SourceNode, producers: Mapping[SourceTensor, SourceNode]) -> int | None:
    """The channels of what the AscendQuant before a layer reads; None for another node."""
    x = layer.inputs[0] if layer.op_type in _LAYERS and layer.inputs else None
    quant = None if x is None else producers.get(x)
    if x is None or quant is None or quant.op_type != "AscendQuant" or x.dtype is not DType.INT8:
        return None
    data = quant.inputs[0] if quant.inputs else None
    if data is None or data.dims is None or len(data.dims) != _IMAGE:
        return None
    return data.dims[1]


def _has_constants(node: SourceNode) -> bool:
    return all(tensor is None or tensor.const is not None for tensor in node.inputs[_CONSTANTS])


def _is_dequantized(layer: SourceNode, readers: list[SourceNode | None]) -> bool:
    """True if an AscendDequant with constant factors alone reads the sums of a layer."""
    sums, dequant = layer.outputs[0], readers[0] if len(readers) == 1 else None
    if dequant is None or dequant.op_type != "AscendDequant" or dequant.inputs[0] is not sums:
        return False
    scale, dims = dequant.inputs[1], None if sums is None else sums.dims
    if not _has_constants(dequant) or scale is None or scale.dims is None or dims is None:
        return False
    return prod(scale.shape) in {1, dims[1]}


def _misread_pools(model: SourceModel) -> Mapping[SourceNode, Text]:
    """Average pools on int8 that anything but AscendDequant with one factor reads, and what does."""
    pools = {
        node.outputs[0]: node
        for node in model.all_nodes
        if node.op_type == _POOL
        and any(x is not None and x.dtype is DType.INT8 for x in node.inputs[:1])
    }
    if not pools:
        return {}
    branches = [branch for node in model.all_nodes for branch in node.branches.values()]
    returned = {*model.outputs, *(out for branch in branches for out in branch.outputs)}
    misread = {
        node: Text("its sums are an output") for sums, node in pools.items() if sums in returned
    }
    for node in model.all_nodes:
        for at, tensor in enumerate(node.inputs):
            if tensor in pools and not (at == 0 and _scales_by_one_factor(node)):
                read = Text("{op} reads its sums", op=node.op_type)
                misread.setdefault(pools[tensor], read)
    return misread


def _scales_by_one_factor(node: SourceNode) -> bool:
    scale = node.inputs[1] if len(node.inputs) > 1 else None
    if node.op_type != "AscendDequant" or scale is None or scale.const is None:
        return False
    return prod(scale.const.shape) == 1


_QUANTIZED = {
    Outcome.INTEGER: (
        LAYER_ON_INT8,
        Standing.REWRITE,
        Text(" of a quantized model runs on int8"),
        Text("no action is needed: it is rewritten with AscendQuant and AscendDequant"),
    ),
    Outcome.FLOAT: (
        LAYER_ON_FLOATS,
        Standing.ACCURACY,
        Text(" takes quantized data and weights to run on int8"),
        Text(
            "it runs on floats, and results may differ; quantize it as a whole, to 8 bits, "
            "where the model is quantized"
        ),
    ),
    Outcome.ROLLED_BACK: (
        LAYER_ROLLED_BACK,
        Standing.REWRITE,
        Text(" runs on int8 only with more input channels"),
        Text(
            "no action is needed: weights and bias are dequantized; results are closer to the "
            "float model's than on int8"
        ),
    ),
    Outcome.KEPT: (
        UNSUPPORTED_FORM,
        Standing.ERROR,
        Text(" is rewritten where its codes are int8 or uint8 and its parameters constants"),
        Text("quantize to 8 bits with constant scales and zero points"),
    ),
}
"""Code, standing, rule and hint by what became of a node of a quantized model."""


class QuantizedModel:
    """Messages about quantization, node by node."""

    def __init__(self, model: SourceModel, soc: Soc) -> None:
        self._soc = soc
        self._channels = rolled_back_layers(model, soc.quant_rules.roll_back)
        self._misread = _misread_pools(model)
        nodes = self._on_this_soc(model)
        left = {(view.scope, view.index) for view in model.all_nodes} if nodes else set()
        layers = (node for node in nodes if node.outcome is not Outcome.KEPT)
        # the layers that constant folding has left
        self.layers = tuple(layer for layer in layers if (layer.scope, layer.index) in left)
        self._path = str(model.path)
        self._unreported: dict[tuple[str, int], list[QuantizedNode]] = {}
        for node in nodes:
            self._unreported.setdefault((node.scope, node.index), []).append(node)
        self._known = frozenset(self._unreported)

    def _on_this_soc(self, model: SourceModel) -> list[QuantizedNode]:
        taken = {(view.scope, view.index): view for view in self._channels}
        nodes = []
        for layer in model.quantized:
            view = taken.get((layer.scope, layer.index))
            if view is not None and layer.outcome is Outcome.INTEGER:
                reason = self._reason(self._channels[view])
                nodes.append(replace(layer, outcome=Outcome.ROLLED_BACK, reason=reason))
            else:
                nodes.append(layer)
        return nodes

    def _reason(self, channels: int) -> Text:
        limit = self._soc.quant_rules.roll_back
        return plural(
            channels,
            "{n} input channel: up to {limit}, {soc} runs a layer on float16",
            "{n} input channels: up to {limit}, {soc} runs a layer on float16",
            limit=limit,
            soc=self._soc.name,
        )

    def findings(self, view: SourceNode, *, listed: bool) -> list[Finding]:
        """The findings at a node: once, at the first that a node of the file became.

        `listed` tells whether its operator is on the list. Quantizing operators are not; so it is
        reported there that the node stays, unless folding has removed it.
        """
        misread = self._misread.get(view)
        if misread is not None:
            own = QuantizedNode(
                view.index, view.name, view.op_type, Outcome.KEPT, misread, _ONE_FACTOR, view.scope
            )
            return [replace(self._finding(own), allowed=_POOLED)]
        if not self._known and not self._channels:
            return []
        place = view.scope, view.index
        here = self._unreported.get(place, [])
        reported = [layer for layer in here if layer.outcome is not Outcome.KEPT or not listed]
        self._unreported[place] = [layer for layer in here if layer not in reported]
        findings = [self._finding(layer) for layer in reported]
        if view in self._channels and place not in self._known:
            reason = self._reason(self._channels[view])
            own = QuantizedNode(
                view.index, view.name, view.op_type, Outcome.ROLLED_BACK, reason, None, view.scope
            )
            # The file is in the form that ATC takes, so that nothing of it is rewritten.
            findings.append(replace(self._finding(own), standing=Standing.ACCURACY))
        return findings

    def _finding(self, node: QuantizedNode) -> Finding:
        code, standing, allowed, help_ = _QUANTIZED[node.outcome]
        return Finding(
            code=code,
            standing=standing,
            rule=f"{node.op_type}/quantized/{node.outcome.value}",
            source="",
            place=Place(self._path, node.index, node.name, node.op_type),
            scope=node.scope,
            observed=node.reason or Text(""),
            allowed=verbatim(node.op_type) + allowed,
            help=node.help or help_,
            when=soc_words(self._soc.name) if code is LAYER_ROLLED_BACK else Text(""),
        )


_POOLED = Text("AveragePool on int8 is read by AscendDequant with one constant factor")
_ONE_FACTOR = Text("let only an AscendDequant with one word read it, or pool floats")

_TARGETS = {"INT8": DType.INT8, "INT16": DType.INT16, "INT4": DType.INT4}

_KINDS = {
    "sqrt_mode": (
        QUANT_ROOT_RESET,
        Text(
            "write the whole factor as scale, with sqrt_mode 0; the simulator multiplies as "
            "the file says"
        ),
    ),
    "round_mode": (
        QUANT_ROUND_MODE,
        Text("quantize with round_mode Round, or choose another --soc"),
    ),
    "dst_type": (
        UNSUPPORTED_FORM,
        Text("pad the last axis to an even length, quantize to INT8, or choose another --soc"),
    ),
}
"""Code and advice by attribute."""


def attribute_findings(view: SourceNode, soc: Soc, path: str) -> Iterator[Finding]:
    """Yield a finding for each attribute of a node that a device does not obey or take."""
    if view.op_type != "AscendQuant":
        return
    if view.attributes.get("sqrt_mode", 0):
        allowed = Text("sqrt_mode of AscendQuant must be 0 for ATC, which reads scale alone")
        yield _finding(view, path, "sqrt_mode", allowed, _root(view))
    mode = view.attributes.get("round_mode", "Round")
    target = _TARGETS.get(str(view.attributes.get("dst_type", "INT8")))
    if mode != "Round" and target is not None and target not in soc.quant_rules.obeys_round_mode:
        allowed = Text("round_mode of AscendQuant must be Round for {target}", target=target.value)
        observed = Text("{mode}, which the kernel ignores: it rounds ties to even", mode=mode)
        yield _finding(view, path, "round_mode", allowed, observed, soc_words(soc.name))
    x = view.inputs[0] if view.inputs else None
    last = x.dims[-1:] if x is not None and x.dims is not None else ()
    odd = last != () and last[0] is not None and last[0] % 2 != 0
    if target is DType.INT4 and soc.quant_rules.even_int4 and odd:
        allowed = Text("the last axis of x must be even for int4")
        found = Text("{dim} elements", dim=last[0])
        yield _finding(view, path, "dst_type", allowed, found, soc_words(soc.name))


def _root(view: SourceNode) -> Text:
    scale = view.attributes.get("scale", 0.0)
    factor = f"{scale:g}" if isinstance(scale, int | float) else str(scale)
    return Text("1: a device multiplies by {factor} once, not twice", factor=factor)


def _finding(
    view: SourceNode,
    path: str,
    attribute: str,
    allowed: Text,
    observed: Text,
    when: Text | None = None,
) -> Finding:
    code, help_ = _KINDS[attribute]
    return Finding(
        code=code,
        standing=Standing.ERROR if code is UNSUPPORTED_FORM else Standing.ACCURACY,
        rule=f"AscendQuant/obeyed/{attribute}",
        source="",
        place=Place(path, view.index, view.name, view.op_type, f"attribute {attribute}"),
        scope=view.scope,
        observed=observed,
        allowed=allowed,
        help=help_,
        when=when or Text(""),
    )
