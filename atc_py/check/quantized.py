"""Findings about a quantized model: its layers, and nodes that cannot be rewritten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.check.findings import Finding, Standing
from atc_py.diag import Place, Words
from atc_py.diag.codes import LAYER_ON_FLOATS, LAYER_ON_INT8, UNSUPPORTED_FORM
from atc_py.source import Outcome

if TYPE_CHECKING:
    from atc_py.source import QuantizedNode, SourceModel, SourceNode

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

    def __init__(self, model: SourceModel) -> None:
        left = {(view.scope, view.index) for view in model.all_nodes}
        layers = (each for each in model.quantized if each.outcome is not Outcome.KEPT)
        self.layers = tuple(each for each in layers if (each.scope, each.index) in left)
        self._path = str(model.path)
        self._unreported: dict[tuple[str, int], list[QuantizedNode]] = {}
        for each in model.quantized:
            self._unreported.setdefault((each.scope, each.index), []).append(each)

    def findings(self, view: SourceNode, *, listed: bool) -> list[Finding]:
        """Return the findings at a node: once, at the first that a node of the file became.

        Args:
            view: the node.
            listed: whether its operator is on the list. Quantizing operators are not;
                so it is reported there that the node stays, unless folding has removed it.
        """
        place = view.scope, view.index
        here = self._unreported.get(place, [])
        reported = [each for each in here if each.outcome is not Outcome.KEPT or not listed]
        self._unreported[place] = [each for each in here if each not in reported]
        return [self._finding(each) for each in reported]

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
        )
