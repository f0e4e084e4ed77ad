"""Codes of family 4: rules on nodes."""

from __future__ import annotations

from atc_py.diag.codes.table import add_code
from atc_py.diag.diagnostic import ExitCode

__all__ = [
    "ATTR_MISSING",
    "ATTR_NOT_LISTED",
    "ATTR_NOT_SUPPORTED",
    "ATTR_OUT_OF_RANGE",
    "BAD_NODE",
    "DIM_OUT_OF_RANGE",
    "DTYPE_NOT_LISTED",
    "NO_KERNEL",
    "OPERAND_MISSING",
    "OPERAND_NOT_LISTED",
    "OPERAND_NOT_SUPPORTED",
    "RANK_NOT_LISTED",
    "SHAPES_DISAGREE",
    "UNSUPPORTED_FORM",
    "VALUE_NOT_CONSTANT",
    "VALUE_OUT_OF_RANGE",
]

UNSUPPORTED_FORM = add_code(
    4001,
    "unsupported-form",
    ExitCode.MODEL,
    "A node uses an operator in a form (rank, mode, optional output, value that is not constant) "
    "that has no counterpart on the device.",
    "Follow the help line; most forms have an equivalent that exporters can be told to write.",
)
DTYPE_NOT_LISTED = add_code(
    4002,
    "dtype-not-listed",
    ExitCode.MODEL,
    "A tensor has a dtype that the operator list does not have for the operator, and the precision "
    "mode cannot give it one that it has.",
    "Cast the tensor before the node, export the model with another dtype, or choose another "
    "--precision-mode.",
)
RANK_NOT_LISTED = add_code(
    4003,
    "rank-not-listed",
    ExitCode.MODEL,
    "A tensor has more or fewer dimensions than the operator list allows.",
    "Reshape the tensor before the node and its result behind it.",
)
DIM_OUT_OF_RANGE = add_code(
    4004,
    "dim-out-of-range",
    ExitCode.MODEL,
    "An extent or number of elements lies outside what the operator list allows.",
    "Change the input's size, or split the tensor into parts that fit.",
)
SHAPES_DISAGREE = add_code(
    4005,
    "shapes-disagree",
    ExitCode.MODEL,
    "Tensors or attributes of a node do not fit each other as the operator list demands.",
    "Change one of the two that the message names.",
)
VALUE_NOT_CONSTANT = add_code(
    4006,
    "value-not-constant",
    ExitCode.MODEL,
    "An input must be known when the model is compiled, and is computed or fed at run time.",
    "Export the model with this value as a constant, or simplify it so that folding can find it.",
)
VALUE_OUT_OF_RANGE = add_code(
    4007,
    "value-out-of-range",
    ExitCode.MODEL,
    "A constant input has a value that the operator list does not allow.",
    "Bring the value into the range given where the model is built.",
)
ATTR_NOT_SUPPORTED = add_code(
    4008,
    "attr-not-supported",
    ExitCode.MODEL,
    "An attribute is set that the operator list calls not supported yet.",
    "Leave the attribute at its default, or express what it does with other operators.",
)
OPERAND_NOT_SUPPORTED = add_code(
    4009,
    "operand-not-supported",
    ExitCode.MODEL,
    "An input or output is used that the operator list calls not supported yet.",
    "Leave it out, or express what it does with other operators.",
)
ATTR_MISSING = add_code(
    4010,
    "attr-missing",
    ExitCode.MODEL,
    "An attribute is not set that the operator list calls required.",
    "Set the attribute where the model is built.",
)
OPERAND_MISSING = add_code(
    4011,
    "operand-missing",
    ExitCode.MODEL,
    "An input is absent that the operator list calls required.",
    "Connect the input where the model is built.",
)
ATTR_OUT_OF_RANGE = add_code(
    4012,
    "attr-out-of-range",
    ExitCode.MODEL,
    "An attribute's value lies outside what the operator list allows.",
    "Bring the value into the range given, or run this node on the host.",
)
BAD_NODE = add_code(
    4013,
    "bad-node",
    ExitCode.MODEL,
    "A node's attributes, inputs or shapes contradict each other or ONNX's definition.",
    "Mend the model where the message points; the tool that exported it has written it wrongly.",
)
ATTR_NOT_LISTED = add_code(
    4014,
    "attr-not-listed",
    ExitCode.MODEL,
    "A node sets an attribute that the operator list does not have for the operator.",
    "Leave the attribute out; `atc-py ops show OPERATOR` prints the ones that are listed.",
)
OPERAND_NOT_LISTED = add_code(
    4015,
    "operand-not-listed",
    ExitCode.MODEL,
    "A node has more inputs than the operator list has for the operator.",
    "Leave the input out; `atc-py ops show OPERATOR` prints the ones that are listed.",
)
NO_KERNEL = add_code(
    4020,
    "no-kernel-for-dtype",
    ExitCode.MODEL,
    "Neither AI Core nor AI CPU of this SoC has a kernel for the operator at the dtypes that the "
    "precision mode demands.",
    "Choose --precision-mode force_fp16, or a SoC whose cube computes in float32.",
)
