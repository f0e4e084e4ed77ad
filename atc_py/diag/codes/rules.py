"""Codes of family 4: rules on nodes."""

from atc_py.diag.codes.table import add_code
from atc_py.diag.diagnostic import ExitCode

UNSUPPORTED_FORM = add_code(
    4001,
    "unsupported-form",
    ExitCode.MODEL,
    "A node uses an operator in a form that has no counterpart on the device. It is a rank, a "
    "mode, an optional output, or a value that is not constant.",
    "Follow the help line. Most often it is enough to fix the dims with --input-shape, or to "
    "export the model with the value as a constant.",
)
DTYPE_NOT_LISTED = add_code(
    4002,
    "dtype-not-listed",
    ExitCode.MODEL,
    "A tensor has a dtype that the operator list does not have for the operator. The precision "
    "mode cannot convert it to one that is listed.",
    "Cast the tensor before the node, export the model with another dtype, or choose another "
    "--precision-mode.",
)
RANK_NOT_LISTED = add_code(
    4003,
    "rank-not-listed",
    ExitCode.MODEL,
    "A tensor has more or fewer dimensions than the operator list allows.",
    "Reshape the tensor before the node, and the node's result after it.",
)
DIM_OUT_OF_RANGE = add_code(
    4004,
    "dim-out-of-range",
    ExitCode.MODEL,
    "A dim or a number of elements is outside the range that the operator list allows.",
    "Change the input's size, or split the tensor into parts that fit.",
)
SHAPES_DISAGREE = add_code(
    4005,
    "shapes-disagree",
    ExitCode.MODEL,
    "Tensors or attributes of a node do not match each other as the operator list requires.",
    "Change one of the two tensors or attributes that the message names. Where a line `fixed by` "
    "follows, `atc-py fix` does so.",
)
VALUE_NOT_CONSTANT = add_code(
    4006,
    "value-not-constant",
    ExitCode.MODEL,
    "An input must be known when the model is compiled, but it is computed or fed at run time.",
    "Export the model with this value as a constant, or simplify the nodes that compute it so "
    "that constant folding can determine it.",
)
VALUE_OUT_OF_RANGE = add_code(
    4007,
    "value-out-of-range",
    ExitCode.MODEL,
    "A constant input has a value that the operator list does not allow.",
    "Change the value to one in the given range where the model is built.",
)
ATTR_NOT_SUPPORTED = add_code(
    4008,
    "attr-not-supported",
    ExitCode.MODEL,
    "A node sets an attribute that the operator list marks as not supported yet.",
    "Leave the attribute at its default, or express its effect with other operators. Where a line "
    "`fixed by` follows, `atc-py fix` does so.",
)
OPERAND_NOT_SUPPORTED = add_code(
    4009,
    "operand-not-supported",
    ExitCode.MODEL,
    "A node uses an input or output that the operator list marks as not supported yet.",
    "Omit it, or express its effect with other operators. Where a line `fixed by` follows, "
    "`atc-py fix` does so.",
)
ATTR_MISSING = add_code(
    4010,
    "attr-missing",
    ExitCode.MODEL,
    "A node does not set an attribute that the operator list requires.",
    "Set the attribute where the model is built.",
)
OPERAND_MISSING = add_code(
    4011,
    "operand-missing",
    ExitCode.MODEL,
    "A node lacks an input that the operator list requires.",
    "Connect the input where the model is built.",
)
ATTR_OUT_OF_RANGE = add_code(
    4012,
    "attr-out-of-range",
    ExitCode.MODEL,
    "An attribute's value is outside the range that the operator list allows.",
    "Change the value to one in the given range, or run this node on the host. Where a line "
    "`fixed by` follows, `atc-py fix` writes the node otherwise.",
)
BAD_NODE = add_code(
    4013,
    "bad-node",
    ExitCode.MODEL,
    "A node's attributes, inputs or shapes contradict each other or ONNX's definition.",
    "Compare the numbers in the message. Most often an input is smaller than the window of the "
    "layer, or the model was exported for another input size: give larger dims with "
    "--input-shape, or export it again.",
)
ATTR_NOT_LISTED = add_code(
    4014,
    "attr-not-listed",
    ExitCode.MODEL,
    "A node sets an attribute that the operator list does not have for the operator.",
    "Omit the attribute; `atc-py ops show OPERATOR` prints the listed ones.",
)
OPERAND_NOT_LISTED = add_code(
    4015,
    "operand-not-listed",
    ExitCode.MODEL,
    "A node has more inputs than the operator list has for the operator.",
    "Omit the input; `atc-py ops show OPERATOR` prints the listed ones.",
)
NO_KERNEL = add_code(
    4020,
    "no-kernel-for-dtype",
    ExitCode.MODEL,
    "This SoC has no kernel for the operator with the dtypes that the precision mode requires. "
    "Neither its AI Core nor its AI CPU has one.",
    "Choose --precision-mode force_fp16, or a SoC whose cube unit computes in float32.",
)
