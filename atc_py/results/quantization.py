"""Record of rewriting a quantized model into another form."""

from dataclasses import dataclass
from pathlib import Path

from atc_py.check.findings import OtherVerdict
from atc_py.onnx_graph.source import BiasConvention, Outcome, QuantizedNode
from atc_py.options.compile_options import QuantBias
from atc_py.results.fixed_nodes import FixedNode
from atc_py.target import socs


@dataclass(frozen=True, slots=True)
class Quantization:
    """Record of rewriting a quantized model.

    Attributes:
        model: the ONNX file that was read.
        output: the ONNX file that was written.
        data: the file with its weights beside it; None where the model holds them itself.
        form: `ascend` or `qdq`.
        opset: the version of ONNX's operators that the written model imports.
        nodes: outcomes of layers, and of nodes that have no counterpart.
        bytes_before: size of the model that was read, weights included.
        bytes_after: size of the files written.
        read_as: the convention of the biases that were read; None where no layer was int8.
        written_as: the convention of those that were written; None where no layer is int8.
        listed: what the rules of an operator list say of the model that was written.
        fixed: the nodes that rules rewrote first; None where no rule could apply.
    """

    model: Path
    output: Path
    data: Path | None
    form: str
    opset: int
    nodes: tuple[QuantizedNode, ...]
    bytes_before: int
    bytes_after: int
    listed: OtherVerdict
    read_as: BiasConvention | None = None
    written_as: QuantBias | None = None
    fixed: tuple[FixedNode, ...] | None = None

    @property
    def integer_layers(self) -> int:
        """Number of layers on int8."""
        return sum(node.outcome is Outcome.INTEGER for node in self.nodes)

    @property
    def layers(self) -> int:
        """Number of layers."""
        return sum(node.outcome is not Outcome.KEPT for node in self.nodes)

    @property
    def rolled_back(self) -> int:
        """Number of layers on int8 that some SoCs take back to float16."""
        limit = max(soc.quant_rules.roll_back for soc in socs())
        return sum(node.channels is not None and node.channels <= limit for node in self.nodes)

    def as_json(self) -> dict[str, object]:
        """Everything, as JSON values."""
        return {
            "model": str(self.model),
            "output": str(self.output),
            "data": None if self.data is None else str(self.data),
            "format": self.form,
            "opset": self.opset,
            "operator_list": {
                "name": self.listed.name,
                "verdict": self.listed.standing.value,
                "errors": self.listed.errors,
            },
            "layers": {
                "integer": self.integer_layers,
                "all": self.layers,
                "rolled_back": self.rolled_back,
            },
            "nodes": [_node_json(node) for node in self.nodes],
            "bytes_before": self.bytes_before,
            "bytes_after": self.bytes_after,
            "quant_bias": {
                "read": None if self.read_as is None else self.read_as.as_json(),
                "written": None if self.written_as is None else self.written_as.value,
            },
            **({} if self.fixed is None else {"fixed": [each.as_json() for each in self.fixed]}),
        }


def _node_json(node: QuantizedNode) -> dict[str, object]:
    return {
        "node": node.index,
        "name": node.name,
        "operator": node.op_type,
        "outcome": node.outcome.value,
        "reason": None if node.reason is None else node.reason.as_json(),
        "channels": node.channels,
    }
