"""Codes of family 6: the compiler's passes."""

from __future__ import annotations

from atc_py.diag.codes.table import add_code
from atc_py.diag.diagnostic import ExitCode, Severity

__all__ = [
    "BROKEN_INVARIANT",
    "FUSION_NOT_SWITCHED",
    "KEPT_NARROWER",
    "NO_16_BIT_KERNEL",
    "NO_SUCH_IMPLEMENTATION",
    "QUANT_BIAS_WRAPS",
    "QUANT_OFFSET",
]

BROKEN_INVARIANT = add_code(
    6001,
    "broken-invariant",
    ExitCode.BUG,
    "After a pass the graph breaks an invariant of the target IR. This is a bug in atc-py.",
    "Report it with the pass, the node and, if you can, the model; --disable-pass may avoid it.",
)
QUANT_OFFSET = add_code(
    6002,
    "quant-offset-unclear",
    ExitCode.DONE,
    "A quantized layer needs an offset of its data or of its weights, and the model does not say one "
    "that the layer can have. The layer computes without it, so results will be off.",
    "Quantize what meets in the layer with one offset, or with offset 0.",
    Severity.WARNING,
)
QUANT_BIAS_WRAPS = add_code(
    6003,
    "quant-bias-wraps",
    ExitCode.DONE,
    "The bias of an int8 layer leaves int32 when the offset of its data, times the sum of its weights, "
    "is folded into it. It wraps around, as the sums of the layer do, so results are right where the "
    "whole sum is within int32. What ATC and the NPU do in this case is not published.",
    "Quantize the layer so that its bias is smaller: with larger scales, or its data with offset 0.",
    Severity.WARNING,
)
NO_16_BIT_KERNEL = add_code(
    6010,
    "no-16-bit-kernel",
    ExitCode.DONE,
    "A mixed precision mode wants an operator of its white list in 16 bits, and there is no such "
    "kernel. The operator keeps the model's dtypes.",
    "Nothing needs doing; --modify-mixlist takes the operator off the white list.",
    Severity.WARNING,
)
NO_SUCH_IMPLEMENTATION = add_code(
    6011,
    "implementation-mode-without-effect",
    ExitCode.DONE,
    "--op-precision-mode asks for an implementation of an operator that there is not, or that is "
    "not simulated. The operator computes as it does without.",
    "Nothing needs doing; docs/precision.md lists the operators that have two implementations.",
    Severity.WARNING,
)
KEPT_NARROWER = add_code(
    6012,
    "kept-node-narrowed",
    ExitCode.DONE,
    "--keep-dtype asks for the model's own dtypes at a node, and no kernel of this SoC has them or "
    "wider ones. The node computes in a narrower float, as ATC has it.",
    "Take the node out of the --keep-dtype file, or choose a --soc whose cube computes in float32.",
    Severity.WARNING,
)
FUSION_NOT_SWITCHED = add_code(
    6020,
    "fusion-not-switched",
    ExitCode.DONE,
    "A fusion switch file names a pass that atc-py does not have, or switches one off that every "
    "compilation needs. The entry has no effect.",
    "Nothing needs doing; `atc-py convert --passes` lists the passes with ATC's names for them.",
    Severity.WARNING,
)
