"""Outcomes for the nodes of a quantized model."""

from enum import Enum

from atc_py.system.structs import Result
from atc_py.text import Text


class Outcome(Enum):
    """Fate of a node of a quantized model."""

    INTEGER = "integer"
    """A layer that runs on int8."""

    FLOAT = "float"
    """A layer that runs on floats."""

    ROLLED_BACK = "rolled_back"
    """A layer on int8 that the SoC takes back to float16."""

    KEPT = "kept"
    """A node that stays as it is, because the device has no such form."""


class QuantizedNode(Result, frozen=True):
    """A node of a quantized model: a layer, or one that cannot be rewritten.

    Attributes:
        index: position in the file's graph, or in that of the branch, from 0.
        name: its name in the file, possibly empty.
        op_type: its operator in the file.
        outcome: what became of it.
        reason: why it is not on int8, without full stop; None where it is.
        help: what to do, where that is not what always is to be done for such an outcome.
        scope: the subgraph that it stands in, as in `SourceNode`; "" at the top.
        channels: of a convolution on int8, the channels of its data; None where unknown.
    """

    index: int
    name: str
    op_type: str
    outcome: Outcome
    reason: Text | None = None
    help: Text | None = None
    scope: str = ""
    channels: int | None = None
