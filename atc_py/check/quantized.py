"""Findings about a quantized model: its layers, and nodes that cannot be rewritten."""

from atc_py.check.condition_words import soc_words
from atc_py.check.findings import Finding, Standing
from atc_py.check.rolled_back import rolled_back_layers
from atc_py.diag import Place
from atc_py.diag.codes import (
    LAYER_ON_FLOATS,
    LAYER_ON_INT8,
    LAYER_ROLLED_BACK,
    UNSUPPORTED_FORM,
)
from atc_py.source import Outcome, QuantizedNode, SourceModel, SourceNode
from atc_py.system.structs import replace
from atc_py.target import Soc
from atc_py.text import Text, plural, verbatim

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
        Text(" runs on int8 with more input channels"),
        Text(
            "nothing has to be done: weights and bias are dequantized; results are nearer to "
            "those of the float model than on int8"
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
    """Messages about quantization, node by node.

    Attributes:
        layers: the layers that constant folding has left.
    """

    def __init__(self, model: SourceModel, soc: Soc) -> None:
        self._soc = soc
        self._channels = rolled_back_layers(model, soc.quant_rules.roll_back)
        nodes = self._on_this_soc(model)
        left = {(view.scope, view.index) for view in model.all_nodes} if nodes else set()
        layers = (each for each in nodes if each.outcome is not Outcome.KEPT)
        self.layers = tuple(each for each in layers if (each.scope, each.index) in left)
        self._path = str(model.path)
        self._unreported: dict[tuple[str, int], list[QuantizedNode]] = {}
        for each in nodes:
            self._unreported.setdefault((each.scope, each.index), []).append(each)
        self._known = frozenset(self._unreported)

    def _on_this_soc(self, model: SourceModel) -> list[QuantizedNode]:
        """Return what became of nodes of the file, with layers that the SoC takes back."""
        taken = {(view.scope, view.index): view for view in self._channels}
        nodes = []
        for each in model.quantized:
            view = taken.get((each.scope, each.index))
            if view is not None and each.outcome is Outcome.INTEGER:
                reason = self._reason(self._channels[view])
                nodes.append(replace(each, outcome=Outcome.ROLLED_BACK, reason=reason))
            else:
                nodes.append(each)
        return nodes

    def _reason(self, channels: int) -> Text:
        """Return why the SoC takes a layer back."""
        limit = self._soc.quant_rules.roll_back
        return plural(
            channels,
            "{n} input channel: up to {limit}, {soc} runs a layer on float16",
            "{n} input channels: up to {limit}, {soc} runs a layer on float16",
            limit=limit,
            soc=self._soc.name,
        )

    def findings(self, view: SourceNode, *, listed: bool) -> list[Finding]:
        """Return the findings at a node: once, at the first that a node of the file became.

        Args:
            view: the node.
            listed: whether its operator is on the list. Quantizing operators are not;
                so it is reported there that the node stays, unless folding has removed it.
        """
        if not self._known and not self._channels:
            return []
        place = view.scope, view.index
        here = self._unreported.get(place, [])
        reported = [each for each in here if each.outcome is not Outcome.KEPT or not listed]
        self._unreported[place] = [each for each in here if each not in reported]
        found = [self._finding(each) for each in reported]
        if view in self._channels and place not in self._known:
            reason = self._reason(self._channels[view])
            own = QuantizedNode(
                view.index, view.name, view.op_type, Outcome.ROLLED_BACK, reason, None, view.scope
            )
            # The file is in the form that ATC takes, so that nothing of it is rewritten.
            found.append(replace(self._finding(own), standing=Standing.ACCURACY))
        return found

    def _finding(self, node: QuantizedNode) -> Finding:
        """Return a finding on what became of a node."""
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
