"""Findings about a quantized model: its layers, and nodes that cannot be rewritten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.check.condition_words import soc_words
from atc_py.check.findings import Finding, Standing
from atc_py.check.rolled_back import rolled_back_layers
from atc_py.diag import Place, Words
from atc_py.diag.codes import (
    LAYER_ON_FLOATS,
    LAYER_ON_INT8,
    LAYER_ROLLED_BACK,
    UNSUPPORTED_FORM,
)
from atc_py.source import Outcome, QuantizedNode
from atc_py.system.structs import replace

if TYPE_CHECKING:
    from atc_py.source import SourceModel, SourceNode
    from atc_py.target import Soc

__all__ = ["QuantizedModel"]

_QUANTIZED = {
    Outcome.INTEGER: (
        LAYER_ON_INT8,
        Standing.REWRITE,
        Words(" of a quantized model runs on int8", " 属于量化模型，将以 int8 运行"),
        Words(
            "no action is needed: it is rewritten with AscendQuant and AscendDequant",
            "无需处理：将以 AscendQuant 和 AscendDequant 改写",
        ),
    ),
    Outcome.FLOAT: (
        LAYER_ON_FLOATS,
        Standing.ACCURACY,
        Words(
            " takes quantized data and weights to run on int8",
            " 以 int8 运行时，数据和权重须已量化",
        ),
        Words(
            "it runs on floats, and results may differ; quantize it as a whole, to 8 bits, where "
            "the model is quantized",
            "该层以浮点运行，结果可能有偏差；如需 int8，请在量化模型时将其整体量化为 8 位",
        ),
    ),
    Outcome.ROLLED_BACK: (
        LAYER_ROLLED_BACK,
        Standing.REWRITE,
        Words(" runs on int8 with more input channels", " 在输入通道更多时才以 int8 运行"),
        Words(
            "nothing has to be done: weights and bias are dequantized; results are nearer to those "
            "of the float model than on int8",
            "无需处理：权重和偏置会被反量化；结果比 int8 更接近浮点模型",
        ),
    ),
    Outcome.KEPT: (
        UNSUPPORTED_FORM,
        Standing.ERROR,
        Words(
            " is rewritten where its codes are int8 or uint8 and its parameters constants",
            " 仅在量化类型为 int8 或 uint8 且参数为常量时可改写",
        ),
        Words(
            "quantize to 8 bits with constant scales and zero points",
            "请以常量比例和零点量化为 8 位",
        ),
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

    def _reason(self, channels: int) -> Words:
        """Return why the SoC takes a layer back."""
        limit = self._soc.quant_rules.roll_back
        return Words(
            f"{channels} input {'channel' if channels == 1 else 'channels'}: up to {limit}, "
            f"{self._soc.name} runs a layer on float16",
            f"{channels} 个输入通道：不超过 {limit} 个时，{self._soc.name} 以 float16 运行该层",
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
            observed=node.reason or Words("", ""),
            allowed=Words.same(node.op_type) + allowed,
            help=node.help or help_,
            when=soc_words(self._soc.name) if code is LAYER_ROLLED_BACK else Words("", ""),
        )
