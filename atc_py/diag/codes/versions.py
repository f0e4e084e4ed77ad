"""Codes of family 3: which operators and versions a model uses."""

from atc_py.diag.codes.table import add_code
from atc_py.diag.diagnostic import ExitCode, Severity

UNKNOWN_OPERATOR = add_code(
    3001,
    "unknown-operator",
    ExitCode.MODEL,
    "The model uses an operator that is not on the operator list.",
    "Follow the help line, which names the nearest listed alternative; `atc-py ops list` shows "
    "the list.",
)
UNSUPPORTED_OPSET = add_code(
    3002,
    "unsupported-opset",
    ExitCode.MODEL,
    "An operator is used at a version that the operator list does not have.",
    "Export the model at one of the opsets that the message lists, 11 to 13 in most cases.",
)
BAD_MODEL = add_code(
    3003,
    "invalid-model",
    ExitCode.MODEL,
    "The model breaks ONNX's own rules. A value has no producer or two, there is a cycle, an "
    "attribute has the wrong type, or shapes contradict each other.",
    "Run `onnx.checker.check_model` with full_check, and fix the tool that produced the model.",
)
FREE_DIMENSION = add_code(
    3004,
    "free-dimension",
    ExitCode.MODEL,
    "An input's shape has a dim that the model leaves open, and no value was given for it.",
    'Set it with --input-shape "name:1,3,224,224".',
)
UNKNOWN_SHAPE = add_code(
    3005,
    "unknown-shape",
    ExitCode.MODEL,
    "The shape or dtype of a value inside the model could not be inferred.",
    "Set the input shapes with --input-shape. Where nodes compute the shape from data, export the "
    "model with a constant shape.",
)
FOLD_TOO_LARGE = add_code(
    3006,
    "fold-too-large",
    ExitCode.MODEL,
    "A node whose inputs are all constants would fold to a constant larger than the limit.",
    "Check the shape that the model asks for; a constant of that size is rarely intended.",
)

OPERATOR_RESTATED = add_code(
    3007,
    "operator-restated",
    ExitCode.MODEL,
    "An operator is used at a version that is not listed, and restated at one that is. Its form "
    "has the same meaning there.",
    "No action is needed. Exporting the model at a listed opset avoids the finding.",
    Severity.WARNING,
)
NOT_LOWERED = add_code(
    3008,
    "not-compiled-yet",
    ExitCode.MODEL,
    "The operator is on the operator list, but this version of atc-py cannot compile it.",
    "Export the model without the operator; `atc-py ops list` shows which operators compile.",
)
NOT_PUBLISHED = add_code(
    3016,
    "arithmetic-not-published",
    ExitCode.MODEL,
    "The operator is on the operator list, but what it computes is not published. It was made for "
    "a single customer; sources are missing or contradict each other. atc-py compiles no guess.",
    "Write the node with other operators; `atc-py ops show OPERATOR` says what is not published.",
)
LAYER_ON_INT8 = add_code(
    3009,
    "layer-on-int8",
    ExitCode.MODEL,
    "A layer of a quantized model is rewritten into the form that Ascend's toolkit accepts. Its "
    "data come from AscendQuant, its weights are int8, its sums int32, and AscendDequant makes "
    "floats of them.",
    "No action is needed.",
    Severity.WARNING,
)
LAYER_ON_FLOATS = add_code(
    3010,
    "quantized-layer-on-floats",
    ExitCode.MODEL,
    "A layer of a quantized model has no integer form and is computed in floats. The message "
    "gives the reason. Its results differ slightly from those of an integer layer.",
    "To run the layer on int8, quantize its data and weights to 8 bits, the data as a whole.",
    Severity.WARNING,
)
LAYER_ROLLED_BACK = add_code(
    3013,
    "int8-layer-on-float16",
    ExitCode.MODEL,
    "The data of an int8 convolution have at most 16 channels. For the SoC, ATC takes such a layer "
    "back: it drops AscendQuant and AscendDequant, makes floats of weights and bias, and runs the "
    "layer on float16.",
    "No action is needed. A quantizer that fine-tunes int8 layers, or picks their rounding, should "
    "leave this one in floats, since the device does.",
    Severity.WARNING,
)
QUANT_ROOT_RESET = add_code(
    3014,
    "quant-root-reset",
    ExitCode.MODEL,
    "AscendQuant has sqrt_mode 1: it multiplies by its scale twice. ATC reads scale alone and sets "
    "sqrt_mode itself, from whether float16 holds the scale. On a device the factor then counts "
    "once, and the codes are wrong. The simulator multiplies as the file says.",
    "Write the whole factor as scale, with sqrt_mode 0. `atc-py quantize --format qdq` followed by "
    "`atc-py quantize` does so.",
    Severity.WARNING,
)
QUANT_ROUND_MODE = add_code(
    3015,
    "quant-round-mode-ignored",
    ExitCode.MODEL,
    "AscendQuant asks for a round_mode that its kernel on this SoC ignores. It rounds to the "
    "nearest integer, ties to even: on Ascend310 always, and everywhere where the result is int4.",
    "Use round_mode Round, or choose another SoC.",
    Severity.WARNING,
)
NOT_QUANTIZED = add_code(
    3011,
    "nothing-to-rewrite",
    ExitCode.MODEL,
    "The model has no quantized nodes in the form to be rewritten. It is not quantized at all, or "
    "it is in the requested form already.",
    "`atc-py check MODEL` lists the model's operators. To quantize a float model, give "
    "samples: `atc-py quantize MODEL --data SAMPLES`.",
)
NO_QDQ_FORM = add_code(
    3012,
    "no-qdq-form",
    ExitCode.MODEL,
    "A quantized node expresses something that QuantizeLinear and DequantizeLinear cannot. It is "
    "of the Ascend form, and has another rounding mode, an offset that is not an integer within "
    "int8, int16, or computed factors.",
    "Follow the help line, or keep the model in the Ascend form: `check` and `convert` accept it.",
)
DEVIATES_ON_CANN = add_code(
    3017,
    "deviates-on-cann",
    ExitCode.MODEL,
    "The operator list takes the node, and CANN computes something else from it than ONNX "
    "defines. The parser of the generation that --cann names drops an attribute or reads an input "
    "otherwise. Nothing in CANN's own output says so.",
    "Follow the help line, which says what is computed; `--semantics cann` of convert, compare and "
    "run shows what it costs, and `atc-py fix --for cann` writes nodes that both read alike.",
    severity=Severity.WARNING,
)
REFUSED_BY_PARSER = add_code(
    3018,
    "refused-by-parser",
    ExitCode.MODEL,
    "The operator list takes the node, and CANN's ONNX parser refuses it. The parser is that of "
    "the generation that --cann names.",
    "Follow the help line; `atc-py fix --for cann` writes nodes that the parser takes, where there "
    "are such.",
)
NO_CANN_ARITHMETIC = add_code(
    3019,
    "no-cann-arithmetic",
    ExitCode.MODEL,
    "What CANN makes of the node, as --semantics cann asks, cannot be computed. It depends on "
    "other nodes, on the process or on values that are known at run time only.",
    "Leave --semantics out, which computes what ONNX defines, or rewrite the node.",
)
