"""Codes of families 3 and 4: operators and versions that a model uses, and rules on nodes."""

from atc_py.diag.diagnostic import ExitCode, add_code, add_warning

UNKNOWN_OPERATOR = add_code(
    "ATC3001 unknown-operator",
    ExitCode.MODEL,
    "The model uses an operator that is not on the operator list.",
    "Follow the help line, which names the nearest listed alternative; `atc-py ops list` shows "
    "the list.",
    atc="E13010",
)
UNSUPPORTED_OPSET = add_code(
    "ATC3002 unsupported-opset",
    ExitCode.MODEL,
    "An operator is used at a version that the operator list does not have.",
    "Export the model at one of the opsets that the message lists, 11 to 13 in most cases.",
    atc="E13010",
)
BAD_MODEL = add_code(
    "ATC3003 invalid-model",
    ExitCode.MODEL,
    "The model breaks ONNX's own rules. A value has no producer or two, there is a cycle, an "
    "attribute has the wrong type, or shapes contradict each other.",
    "Run `onnx.checker.check_model` with full_check, and fix the tool that produced the model.",
    atc="E89999",
)
FREE_DIMENSION = add_code(
    "ATC3004 free-dimension",
    ExitCode.MODEL,
    "An input's shape has a dim that the model leaves open, and no value was given for it.",
    'Set it with --input-shape "name:1,3,224,224".',
    atc="E10001",
)
UNKNOWN_SHAPE = add_code(
    "ATC3005 unknown-shape",
    ExitCode.MODEL,
    "The shape or dtype of a value inside the model could not be inferred.",
    "Set the input shapes with --input-shape. Where nodes compute the shape from data, export the "
    "model with a constant shape.",
    atc="E89999",
)
FOLD_TOO_LARGE = add_code(
    "ATC3006 fold-too-large",
    ExitCode.MODEL,
    "A node whose inputs are all constants would fold to a constant larger than the limit.",
    "Check the shape that the model asks for; a constant of that size is rarely intended.",
)

OPERATOR_RESTATED = add_warning(
    "ATC3007 operator-restated",
    "An operator is used at a version that is not listed, and is restated at a listed one, "
    "where it means the same.",
    "No action is needed. Exporting the model at a listed opset avoids the finding.",
    exit_code=ExitCode.MODEL,
)
NOT_LOWERED = add_code(
    "ATC3008 not-compiled-yet",
    ExitCode.MODEL,
    "The operator is on the operator list, but this version of atc-py cannot compile it.",
    "Export the model without the operator; `atc-py ops list` shows which operators compile.",
    atc="EZ3003",
)
NOT_PUBLISHED = add_code(
    "ATC3016 arithmetic-not-published",
    ExitCode.MODEL,
    "The operator is on the operator list, but what it computes is not published. It was "
    "made for a single customer; sources are missing or contradict each other. atc-py does "
    "not compile guesses.",
    "Write the node with other operators; `atc-py ops show OPERATOR` says what is not published.",
)
LAYER_ON_INT8 = add_warning(
    "ATC3009 layer-on-int8",
    "A layer of a quantized model is rewritten into the form that Ascend's toolkit accepts. Its "
    "data come from AscendQuant, its weights are int8, its sums int32, and AscendDequant makes "
    "floats of them.",
    "No action is needed.",
    exit_code=ExitCode.MODEL,
)
LAYER_ON_FLOATS = add_warning(
    "ATC3010 quantized-layer-on-floats",
    "A layer of a quantized model has no integer form and is computed in floats. The message "
    "gives the reason. Its results differ slightly from those of an integer layer.",
    "To run the layer on int8, quantize its data and weights to 8 bits, the data as a whole.",
    exit_code=ExitCode.MODEL,
)
LAYER_ROLLED_BACK = add_warning(
    "ATC3013 int8-layer-on-float16",
    "The data of an int8 convolution have at most 16 channels. On this SoC, ATC takes such "
    "a layer back: it drops AscendQuant and AscendDequant, dequantizes weights and bias, "
    "and runs the layer in float16.",
    "No action is needed. A quantizer that fine-tunes int8 layers, or picks their rounding, should "
    "leave this one in floats, since the device does.",
    exit_code=ExitCode.MODEL,
)
QUANT_ROOT_RESET = add_warning(
    "ATC3014 quant-root-reset",
    "AscendQuant has sqrt_mode 1: it multiplies by its scale twice. ATC reads only scale "
    "and sets sqrt_mode itself, depending on whether float16 can represent the scale. On a "
    "device the factor then counts once, and the codes are wrong. The simulator multiplies "
    "as the file says.",
    "Write the whole factor as scale, with sqrt_mode 0. `atc-py quantize --format qdq` followed by "
    "`atc-py quantize` does so.",
    exit_code=ExitCode.MODEL,
)
QUANT_ROUND_MODE = add_warning(
    "ATC3015 quant-round-mode-ignored",
    "AscendQuant asks for a round_mode that its kernel on this SoC ignores. It rounds to "
    "the nearest integer, ties to even: always on Ascend310, and on every SoC for int4 "
    "results.",
    "Use round_mode Round, or choose another SoC.",
    exit_code=ExitCode.MODEL,
)
NOT_QUANTIZED = add_code(
    "ATC3011 nothing-to-rewrite",
    ExitCode.MODEL,
    "The model has no quantized nodes in the form to be rewritten. It is not quantized at all, or "
    "it is in the requested form already.",
    "`atc-py check MODEL` lists the model's operators. To quantize a float model, give "
    "samples: `atc-py quantize MODEL --data SAMPLES`.",
)
NO_QDQ_FORM = add_code(
    "ATC3012 no-qdq-form",
    ExitCode.MODEL,
    "A quantized node of the Ascend form expresses something that QuantizeLinear and "
    "DequantizeLinear cannot: another rounding mode, an offset that is not an integer "
    "within int8, int16 data, or computed factors.",
    "Follow the help line, or keep the model in the Ascend form: `check` and `convert` accept it.",
)
DEVIATES_ON_CANN = add_warning(
    "ATC3017 deviates-on-cann",
    "The operator list takes the node, but CANN computes something else from it than ONNX "
    "defines: the parser of the release that --cann names drops an attribute or reads an "
    "input differently. CANN itself prints no warning.",
    "Follow the help line, which says what is computed; `--semantics cann` of convert, "
    "compare and run shows the effect, and `atc-py fix --for cann` writes nodes that both "
    "read the same way.",
    exit_code=ExitCode.MODEL,
)
REFUSED_BY_PARSER = add_code(
    "ATC3018 refused-by-parser",
    ExitCode.MODEL,
    "The operator list takes the node, and CANN's ONNX parser refuses it. The parser is that of "
    "the release that --cann names.",
    "Follow the help line; `atc-py fix --for cann` writes nodes that the parser takes, "
    "where they exist.",
    atc="E13010",
)
NO_CANN_ARITHMETIC = add_code(
    "ATC3019 no-cann-arithmetic",
    ExitCode.MODEL,
    "--semantics cann was given, but what CANN makes of this node cannot be computed: it "
    "depends on other nodes, on the process or on values known only at run time.",
    "Leave --semantics out to compute what ONNX defines, or rewrite the node.",
)


UNSUPPORTED_FORM = add_code(
    "ATC4001 unsupported-form",
    ExitCode.MODEL,
    "A node uses an operator in a form that has no counterpart on the device: a rank, a "
    "mode, an optional output, or a value that is not constant.",
    "Follow the help line. Most often it is enough to fix the dims with --input-shape, or to "
    "export the model with the value as a constant.",
)
DTYPE_NOT_LISTED = add_code(
    "ATC4002 dtype-not-listed",
    ExitCode.MODEL,
    "A tensor has a dtype that is not listed for the operator, and the precision mode "
    "cannot convert it to one that is.",
    "Cast the tensor before the node, export the model with another dtype, or choose another "
    "--precision-mode.",
)
RANK_NOT_LISTED = add_code(
    "ATC4003 rank-not-listed",
    ExitCode.MODEL,
    "A tensor has more or fewer dimensions than the operator list allows.",
    "Reshape the tensor before the node, and the node's result after it.",
)
DIM_OUT_OF_RANGE = add_code(
    "ATC4004 dim-out-of-range",
    ExitCode.MODEL,
    "A dim or a number of elements is outside the range that the operator list allows.",
    "Change the input's size, or split the tensor into parts that fit.",
)
SHAPES_DISAGREE = add_code(
    "ATC4005 shapes-disagree",
    ExitCode.MODEL,
    "Tensors or attributes of a node do not match each other as the operator list requires.",
    "Change one of the two tensors or attributes that the message names. Where a line `fixed by` "
    "follows, `atc-py fix` does so.",
)
VALUE_NOT_CONSTANT = add_code(
    "ATC4006 value-not-constant",
    ExitCode.MODEL,
    "An input must be known when the model is compiled, but it is computed or fed at run time.",
    "Export the model with this value as a constant, or simplify the nodes that compute it so "
    "that constant folding can determine it.",
)
VALUE_OUT_OF_RANGE = add_code(
    "ATC4007 value-out-of-range",
    ExitCode.MODEL,
    "A constant input has a value that the operator list does not allow.",
    "Change the value to one in the given range where the model is built.",
)
ATTR_NOT_SUPPORTED = add_code(
    "ATC4008 attr-not-supported",
    ExitCode.MODEL,
    "A node sets an attribute that the operator list marks as not supported yet.",
    "Leave the attribute at its default, or express its effect with other operators. Where a line "
    "`fixed by` follows, `atc-py fix` does so.",
)
OPERAND_NOT_SUPPORTED = add_code(
    "ATC4009 operand-not-supported",
    ExitCode.MODEL,
    "A node uses an input or output that the operator list marks as not supported yet.",
    "Omit it, or express its effect with other operators. Where a line `fixed by` follows, "
    "`atc-py fix` does so.",
)
ATTR_MISSING = add_code(
    "ATC4010 attr-missing",
    ExitCode.MODEL,
    "A node does not set an attribute that the operator list requires.",
    "Set the attribute where the model is built.",
)
OPERAND_MISSING = add_code(
    "ATC4011 operand-missing",
    ExitCode.MODEL,
    "A node lacks an input that the operator list requires.",
    "Connect the input where the model is built.",
)
ATTR_OUT_OF_RANGE = add_code(
    "ATC4012 attr-out-of-range",
    ExitCode.MODEL,
    "An attribute's value is outside the range that the operator list allows.",
    "Change the value to one in the given range, or run this node on the host. Where a "
    "line `fixed by` follows, `atc-py fix` writes the node in another form.",
)
BAD_NODE = add_code(
    "ATC4013 bad-node",
    ExitCode.MODEL,
    "A node's attributes, inputs or shapes contradict each other or ONNX's definition.",
    "Compare the numbers in the message. Most often an input is smaller than the window of the "
    "layer, or the model was exported for another input size: give larger dims with "
    "--input-shape, or export it again.",
    atc="E89999",
)
ATTR_NOT_LISTED = add_code(
    "ATC4014 attr-not-listed",
    ExitCode.MODEL,
    "A node sets an attribute that is not listed for the operator.",
    "Omit the attribute; `atc-py ops show OPERATOR` prints the listed ones.",
)
OPERAND_NOT_LISTED = add_code(
    "ATC4015 operand-not-listed",
    ExitCode.MODEL,
    "A node has more inputs than the operator list allows.",
    "Omit the input; `atc-py ops show OPERATOR` prints the listed ones.",
)
NO_KERNEL = add_code(
    "ATC4020 no-kernel-for-dtype",
    ExitCode.MODEL,
    "This SoC has no kernel for the operator with the dtypes that the precision mode requires. "
    "Neither its AI Core nor its AI CPU has one.",
    "Choose --precision-mode force_fp16, or a SoC whose cube unit computes in float32.",
)
GEARS_NOT_PADDED = add_warning(
    "ATC4080 gears-not-padded",
    "Data of a size between gears cannot be padded to the next gear. As a test, the "
    "original ran on such data, and on the same data padded to the next gear in different "
    "ways; its outputs differed or could not be computed. The model therefore runs only "
    "data of the gears' own sizes.",
    "Export the model with an input that masks padding, such as attention_mask, and with "
    "positions as an input, such as position_ids; or list every size that is needed as a "
    "gear.",
)
SIZE_BETWEEN_GEARS = add_code(
    "ATC4081 size-between-gears",
    ExitCode.USAGE,
    "Data have a size between gears, and padding to the next gear is not known to be "
    "harmless. Nothing is computed.",
    "Feed a size that a gear has, convert the model again with this size as a gear, or "
    "export it with a mask for padding.",
)
MEMORY_TOO_SMALL = add_warning(
    "ATC4090 device-memory-too-small",
    "The model needs more device memory than the SoC has: weights, inputs and outputs, "
    "intermediate results and workspace together. It is converted, but a board cannot load "
    "it.",
    "Convert for a smaller batch or picture, or for a SoC with more memory; `atc-py profile` "
    "shows what takes the memory.",
)
