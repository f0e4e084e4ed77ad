"""Record of rewriting a quantized model into another form."""

from pathlib import Path
from typing import Annotated

import msgspec

from atc_py.check.findings import OtherVerdict
from atc_py.options.compile_options import QuantBias
from atc_py.results.fixed_nodes import FixedNode
from atc_py.source import BiasConvention, Outcome, QuantizedNode
from atc_py.system.json_text import json_values
from atc_py.system.structs import Count, Result
from atc_py.target import socs


class LayerCounts(Result, frozen=True):
    """Layers on int8, all layers, and those that some SoCs take back to float16."""

    integer: Count
    all: Count
    rolled_back: Count


class QuantBiases(Result, frozen=True):
    """The conventions of biases, read and written.

    Attributes:
        read: None where no layer was int8.
        written: None where no layer is int8.
    """

    read: BiasConvention | None
    written: QuantBias | None


class Quantization(Result, frozen=True, kw_only=True):
    """A file that was written, in the form `ascend` or `qdq`.

    Attributes:
        model: the ONNX file that was read.
        output: the ONNX file that was written.
        data: the file with its weights beside it; None where the model holds them itself.
        form: `ascend` or `qdq`.
        opset: the version of ONNX's operators that the written model imports.
        listed: what the rules of an operator list say of the model that was written.
        counts: numbers of layers, counted from `nodes`.
        nodes: outcomes of layers, and of nodes that have no counterpart.
        bytes_before: size of the model that was read, weights included.
        bytes_after: size of the files written.
        biases: the conventions of biases that were read and written.
        fixed: the nodes that rules rewrote first; None where no rule could apply.
    """

    model: Path
    output: Path
    data: Path | None
    form: Annotated[str, msgspec.Meta(extra_json_schema={"enum": ["ascend", "qdq"]})] = (
        msgspec.field(name="format")
    )
    opset: int
    listed: OtherVerdict = msgspec.field(name="operator_list")
    counts: LayerCounts = msgspec.field(name="layers")
    nodes: tuple[QuantizedNode, ...]
    bytes_before: Count
    bytes_after: Count
    biases: QuantBiases = msgspec.field(name="quant_bias")
    fixed: tuple[FixedNode, ...] | None = msgspec.field(name="_fixed", default=None)

    @property
    def integer_layers(self) -> int:
        """Number of layers on int8."""
        return self.counts.integer

    @property
    def layers(self) -> int:
        """Number of layers."""
        return self.counts.all

    @property
    def rolled_back(self) -> int:
        """Number of layers on int8 that some SoCs take back to float16."""
        return self.counts.rolled_back

    @property
    def read_as(self) -> BiasConvention | None:
        """The convention of the biases that were read; None where no layer was int8."""
        return self.biases.read

    @property
    def written_as(self) -> QuantBias | None:
        """The convention of those that were written; None where no layer is int8."""
        return self.biases.written

    def as_json(self) -> dict[str, object]:
        """The fields as JSON values; `fixed` is left out where no rule could apply."""
        fixed = {} if self.fixed is None else {"fixed": json_values(self.fixed)}
        return {**super().as_json(), **fixed}


def layer_counts(nodes: tuple[QuantizedNode, ...]) -> LayerCounts:
    """Count the layers among nodes."""
    limit = max(soc.quant_rules.roll_back for soc in socs())
    return LayerCounts(
        integer=sum(node.outcome is Outcome.INTEGER for node in nodes),
        all=sum(node.outcome is not Outcome.KEPT for node in nodes),
        rolled_back=sum(node.channels is not None and node.channels <= limit for node in nodes),
    )
