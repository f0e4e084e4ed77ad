"""The table of diagnostic codes; each is written once, here. More than 400 lines: it is a table.

Families by first digit: 1 how the command was called, 2 files, 3 which operators and versions a
model uses, 4 rules on nodes, 5 offline models, 6 the compiler's passes, 7 the device, 9 atc-py.
"""

from __future__ import annotations

from atc_py.diag.diagnostic import Code, ExitCode, Severity

__all__ = ["all_codes", "find_code"]

_TABLE: dict[str, Code] = {}


def _code(
    number: int,
    name: str,
    exit_code: ExitCode,
    meaning: str,
    remedy: str,
    severity: Severity = Severity.ERROR,
) -> Code:
    """Add a row to the table; a number or name that is taken raises."""
    row = Code(f"ATC{number}", name, exit_code, meaning, remedy, severity)
    for other in _TABLE.values():
        if row.id == other.id or row.name == other.name:
            raise ValueError(f"{row.id} {row.name} clashes with {other.id} {other.name}")
    _TABLE[row.id] = row
    return row


def all_codes() -> tuple[Code, ...]:
    """Every row, by number."""
    return tuple(sorted(_TABLE.values(), key=lambda row: row.id))


def find_code(text: str) -> Code | None:
    """The row with that number (`ATC2001`, `atc2001`, `2001`) or name, or None."""
    wanted = text.strip().lower()
    for row in _TABLE.values():
        if wanted in {row.id.lower(), row.id[3:], row.name}:
            return row
    return None


# 1: how the command was called ----------------------------------------------------------------

BAD_OPTION = _code(
    1001,
    "bad-option-value",
    ExitCode.USAGE,
    "An option or argument has a value that atc-py does not know or cannot read.",
    "Compare the value with the ones that the message lists; `atc-py COMMAND --help` shows all.",
)
BAD_INPUT_SHAPE = _code(
    1002,
    "bad-input-shape",
    ExitCode.USAGE,
    "The text after --input-shape is not `name:1,3,224,224;other:...`, names an input that the "
    "model does not have, or contradicts the model's own rank or fixed extents.",
    "Write one `name:extents` per input, joined by `;`, and quote the whole for the shell.",
)
UNKNOWN_SOC = _code(
    1003,
    "unknown-soc",
    ExitCode.USAGE,
    "No row of the SoC table has the name given with --soc.",
    "Use `sim` for the generic device, or one of the names that the message lists.",
)
UNKNOWN_PASS = _code(
    1004,
    "unknown-pass",
    ExitCode.USAGE,
    "A pass was named that atc-py does not have.",
    "`atc-py convert --passes` lists the passes by name.",
)
REQUIRED_PASS = _code(
    1005,
    "pass-is-required",
    ExitCode.USAGE,
    "A pass was switched off that every compilation needs.",
    "Only passes marked optional in `atc-py convert --passes` can be switched off.",
)
MISSING_RUN_INPUT = _code(
    1006,
    "run-input-missing",
    ExitCode.USAGE,
    "The offline model has an input for which no data was given.",
    "Give `--input name=file` for every input, or `--random SEED` to fill the rest.",
)
BAD_RUN_INPUT = _code(
    1007,
    "run-input-mismatch",
    ExitCode.USAGE,
    "Data given for an input does not fit it: other name, shape, dtype or number of bytes.",
    "`atc-py info MODEL.om` shows the names, shapes and dtypes that the model takes.",
)
UNKNOWN_NAME = _code(
    1008,
    "unknown-name",
    ExitCode.USAGE,
    "An operator or a diagnostic code was asked for that atc-py does not have.",
    "`atc-py ops list` lists the operators; docs/diagnostics.md lists the codes.",
)
OPTIONS_EXCLUDE = _code(
    1020,
    "options-exclude-each-other",
    ExitCode.USAGE,
    "Two options were given of which one leaves no room for the other.",
    "Give one of the two that the message names.",
)
NO_BFLOAT16 = _code(
    1021,
    "soc-lacks-bfloat16",
    ExitCode.USAGE,
    "The precision mode computes in bfloat16, and the SoC does not.",
    "Name a SoC that has bfloat16 with --soc (docs/target.md lists them), or choose a float16 mode.",
)
NOT_IN_MODEL = _code(
    1022,
    "name-not-in-model",
    ExitCode.USAGE,
    "An option, or the file that it names, speaks of a node, operator, input or output that the "
    "model or the target does not have.",
    "Compare the name with the nearest ones in the message; nodes are named as in the ONNX file.",
)

# 2: files -------------------------------------------------------------------------------------

FILE_NOT_FOUND = _code(
    2001,
    "file-not-found",
    ExitCode.FILE,
    "A file that was named does not exist or is a folder.",
    "Check the path; it is taken relative to the folder in which the command runs.",
)
FILE_UNREADABLE = _code(
    2002,
    "file-unreadable",
    ExitCode.FILE,
    "The system refused to read a file.",
    "Check the permissions of the file and of the folders above it.",
)
NOT_ONNX = _code(
    2003,
    "not-an-onnx-model",
    ExitCode.FILE,
    "The file is not an ONNX model, or it was cut short or changed after it was written.",
    "Export the model again and compare the file's size with the original's.",
)
EXTERNAL_DATA_MISSING = _code(
    2004,
    "external-data-missing",
    ExitCode.FILE,
    "The model keeps weights in another file, and that file is not there or too short.",
    "Copy the weight file into the model's folder under the name that the message gives.",
)
EXTERNAL_DATA_OUTSIDE = _code(
    2005,
    "external-data-outside-folder",
    ExitCode.FILE,
    "The model names a weight file outside its own folder (absolute path, `..`, or a link that "
    "leads out). Such a model could read any file of this machine, so it is refused.",
    "Save the model again with its weights beside it.",
)
BAD_TENSOR = _code(
    2006,
    "bad-tensor-data",
    ExitCode.FILE,
    "A tensor's data does not match its declared dtype and shape, or its dtype is not supported.",
    "Export the model again; `onnx.checker.check_model` shows whether the file is sound.",
)
CANNOT_WRITE = _code(
    2007,
    "cannot-write-output",
    ExitCode.FILE,
    "An output file could not be written: no space, no permission, or the path is a folder. "
    "What was there before is untouched and no partial file is left.",
    "Free space or choose another place with -o.",
)
BAD_DATA_FILE = _code(
    2008,
    "bad-data-file",
    ExitCode.FILE,
    "A .npy, .npz, .pb or .bin file with data for a run cannot be read.",
    "Write it with numpy.save or numpy.savez without pickled objects.",
)
BAD_SPEC = _code(
    2009,
    "bad-operator-spec",
    ExitCode.FILE,
    "An operator specification file has an unknown key, a wrong type or a missing value.",
    "Correct the YAML at the line and column given.",
)
BAD_TEMPLATE = _code(
    2010,
    "bad-template",
    ExitCode.FILE,
    "A kernel template is missing or does not render.",
    "Correct the template at the line given, or reinstall atc-py to restore its own.",
)
BAD_IR_TEXT = _code(
    2011,
    "bad-ir-text",
    ExitCode.FILE,
    "A text form of the target IR does not follow its grammar.",
    "Correct the text at the line and column given; docs/ir.md describes the grammar.",
)

BAD_BASELINE = _code(
    2012,
    "bad-baseline",
    ExitCode.FILE,
    "The file given with --baseline is not a report that `atc-py check --format json` wrote.",
    "Write it again with `atc-py check MODEL --format json --output FILE`.",
)

DOUBTFUL_SPEC = _code(
    2013,
    "doubtful-operator-spec",
    ExitCode.FILE,
    "An operator specification says something that cannot occur, such as an opset at which ONNX "
    "does not have the operator. It does no harm.",
    "Delete what the message names, unless the specification follows a list that has it.",
    Severity.WARNING,
)
BAD_CONTROL_FILE = _code(
    2020,
    "bad-precision-file",
    ExitCode.FILE,
    "A file for --keep-dtype, --customize-dtypes, --modify-mixlist or --op-precision-mode does not "
    "follow its format.",
    "Correct the line that the message names; `atc-py convert --help` says which option takes what.",
)

# 3: which operators and versions a model uses --------------------------------------------------

UNKNOWN_OPERATOR = _code(
    3001,
    "unknown-operator",
    ExitCode.MODEL,
    "The model uses an operator that is not on the operator list.",
    "Follow the help line, which names the nearest listed way; `atc-py ops list` shows the list.",
)
UNSUPPORTED_OPSET = _code(
    3002,
    "unsupported-opset",
    ExitCode.MODEL,
    "An operator is used at a version that the operator list does not have.",
    "Export the model at one of the opsets that the message lists, 11 to 13 in most cases.",
)
BAD_MODEL = _code(
    3003,
    "invalid-model",
    ExitCode.MODEL,
    "The model breaks ONNX's own rules: a value without producer, two producers, a cycle, an "
    "attribute of the wrong type, or shapes that contradict each other.",
    "Run `onnx.checker.check_model` with full_check, and mend the tool that made the model.",
)
FREE_DIMENSION = _code(
    3004,
    "free-dimension",
    ExitCode.MODEL,
    "An input's shape has an extent that the model leaves open, and none was given.",
    'Fix it with --input-shape "name:1,3,224,224".',
)
UNKNOWN_SHAPE = _code(
    3005,
    "unknown-shape",
    ExitCode.MODEL,
    "The shape or dtype of a value inside the model could not be worked out.",
    "Fix the input shapes with --input-shape, or simplify the nodes that compute the shape.",
)
FOLD_TOO_LARGE = _code(
    3006,
    "fold-too-large",
    ExitCode.MODEL,
    "A node whose inputs are all constants would make a constant larger than the limit.",
    "Check the shape that the model asks for; a constant of that size is rarely meant.",
)

OPERATOR_RESTATED = _code(
    3007,
    "operator-restated",
    ExitCode.MODEL,
    "An operator is used at a version that the operator list does not have, in a form that means "
    "the same at a listed one; the node is restated there.",
    "Nothing has to be done. Exporting the model at a listed opset makes the finding go away.",
    Severity.WARNING,
)
NOT_LOWERED = _code(
    3008,
    "not-compiled-yet",
    ExitCode.MODEL,
    "The operator is on the operator list, so `check` passes it, but this version of atc-py has no "
    "way to compile it.",
    "`atc-py ops list` shows what compiles; export the model without the operator.",
)
LAYER_ON_INT8 = _code(
    3009,
    "layer-on-int8",
    ExitCode.MODEL,
    "A layer of a quantised model is rewritten into the form that Ascend's toolkit takes: data "
    "from AscendQuant, int8 weights, int32 sums, AscendDequant.",
    "Nothing has to be done.",
    Severity.WARNING,
)
LAYER_ON_FLOATS = _code(
    3010,
    "quantised-layer-on-floats",
    ExitCode.MODEL,
    "A layer of a quantised model has no integer form and is computed in floats, for the reason "
    "that the message gives. Its results differ slightly from those of integers.",
    "Quantise the layer's data and weights to 8 bits, the data as a whole, if it should run on "
    "int8.",
    Severity.WARNING,
)
NOT_QUANTISED = _code(
    3011,
    "nothing-to-rewrite",
    ExitCode.MODEL,
    "The model has no quantised nodes of the form that was to be rewritten: it is not quantised at "
    "all, or it is in the wanted form already.",
    "`atc-py check MODEL` lists the model's operators. Models that are not quantised are quantised "
    "by other tools, onnxruntime's for instance.",
)
NO_QDQ_FORM = _code(
    3012,
    "no-qdq-form",
    ExitCode.MODEL,
    "A quantised node of the Ascend form says what QuantizeLinear and DequantizeLinear cannot: "
    "another rounding, an offset that is no whole number within int8, int16, computed factors.",
    "Follow the help line, or keep the model in the Ascend form: `check` and `convert` take it.",
)

# 4: rules on nodes ----------------------------------------------------------------------------

UNSUPPORTED_FORM = _code(
    4001,
    "unsupported-form",
    ExitCode.MODEL,
    "A node uses an operator in a form (rank, mode, optional output, value that is not constant) "
    "that has no counterpart on the device.",
    "Follow the help line; most forms have an equivalent that exporters can be told to write.",
)
DTYPE_NOT_LISTED = _code(
    4002,
    "dtype-not-listed",
    ExitCode.MODEL,
    "A tensor has a dtype that the operator list does not have for the operator, and the precision "
    "mode cannot give it one that it has.",
    "Cast the tensor before the node, export the model with another dtype, or choose another "
    "--precision-mode.",
)
RANK_NOT_LISTED = _code(
    4003,
    "rank-not-listed",
    ExitCode.MODEL,
    "A tensor has more or fewer dimensions than the operator list allows.",
    "Reshape the tensor before the node and its result behind it.",
)
DIM_OUT_OF_RANGE = _code(
    4004,
    "dim-out-of-range",
    ExitCode.MODEL,
    "An extent or number of elements lies outside what the operator list allows.",
    "Change the input's size, or split the tensor into parts that fit.",
)
SHAPES_DISAGREE = _code(
    4005,
    "shapes-disagree",
    ExitCode.MODEL,
    "Tensors or attributes of a node do not fit each other as the operator list demands.",
    "Change one of the two that the message names.",
)
VALUE_NOT_CONSTANT = _code(
    4006,
    "value-not-constant",
    ExitCode.MODEL,
    "An input must be known when the model is compiled, and is computed or fed at run time.",
    "Export the model with this value as a constant, or simplify it so that folding can find it.",
)
VALUE_OUT_OF_RANGE = _code(
    4007,
    "value-out-of-range",
    ExitCode.MODEL,
    "A constant input has a value that the operator list does not allow.",
    "Bring the value into the range given where the model is built.",
)
ATTR_NOT_SUPPORTED = _code(
    4008,
    "attr-not-supported",
    ExitCode.MODEL,
    "An attribute is set that the operator list calls not supported yet.",
    "Leave the attribute at its default, or express what it does with other operators.",
)
OPERAND_NOT_SUPPORTED = _code(
    4009,
    "operand-not-supported",
    ExitCode.MODEL,
    "An input or output is used that the operator list calls not supported yet.",
    "Leave it out, or express what it does with other operators.",
)
ATTR_MISSING = _code(
    4010,
    "attr-missing",
    ExitCode.MODEL,
    "An attribute is not set that the operator list calls required.",
    "Set the attribute where the model is built.",
)
OPERAND_MISSING = _code(
    4011,
    "operand-missing",
    ExitCode.MODEL,
    "An input is absent that the operator list calls required.",
    "Connect the input where the model is built.",
)
ATTR_OUT_OF_RANGE = _code(
    4012,
    "attr-out-of-range",
    ExitCode.MODEL,
    "An attribute's value lies outside what the operator list allows.",
    "Bring the value into the range given, or run this node on the host.",
)
BAD_NODE = _code(
    4013,
    "bad-node",
    ExitCode.MODEL,
    "A node's attributes, inputs or shapes contradict each other or ONNX's definition.",
    "Mend the model where the message points; the tool that exported it has written it wrongly.",
)
ATTR_NOT_LISTED = _code(
    4014,
    "attr-not-listed",
    ExitCode.MODEL,
    "A node sets an attribute that the operator list does not have for the operator.",
    "Leave the attribute out; `atc-py ops show OPERATOR` prints the ones that are listed.",
)
OPERAND_NOT_LISTED = _code(
    4015,
    "operand-not-listed",
    ExitCode.MODEL,
    "A node has more inputs than the operator list has for the operator.",
    "Leave the input out; `atc-py ops show OPERATOR` prints the ones that are listed.",
)
NO_KERNEL = _code(
    4020,
    "no-kernel-for-dtype",
    ExitCode.MODEL,
    "Neither AI Core nor AI CPU of this SoC has a kernel for the operator at the dtypes that the "
    "precision mode demands.",
    "Choose --precision-mode force_fp16, or a SoC whose cube computes in float32.",
)

# 5: offline models ----------------------------------------------------------------------------

NOT_OM = _code(
    5001,
    "not-an-offline-model",
    ExitCode.FILE,
    "The file is not an offline model of atc-py: another format, or cut short. Offline models "
    "of Huawei's own atc are a different format and cannot be read.",
    "Convert the ONNX model with `atc-py convert`.",
)
OM_VERSION = _code(
    5002,
    "offline-model-version",
    ExitCode.FILE,
    "The offline model was written in a version of the format that this atc-py does not read.",
    "Convert the ONNX model again with this atc-py, or use the atc-py that wrote it.",
)
OM_MEMBER = _code(
    5003,
    "offline-model-member",
    ExitCode.FILE,
    "A member of the offline model is damaged: its bytes are not the ones that were written.",
    "Copy the file again, or convert the ONNX model again.",
)
OM_CONTENT = _code(
    5004,
    "offline-model-content",
    ExitCode.FILE,
    "The offline model's description contradicts itself or names what it does not contain.",
    "Convert the ONNX model again; if that does not help, report it as a bug.",
)

# 6: the compiler's passes ---------------------------------------------------------------------

BROKEN_INVARIANT = _code(
    6001,
    "broken-invariant",
    ExitCode.BUG,
    "After a pass the graph breaks an invariant of the target IR. This is a bug in atc-py.",
    "Report it with the pass, the node and, if you can, the model; --disable-pass may avoid it.",
)
QUANT_OFFSET = _code(
    6002,
    "quant-offset-unclear",
    ExitCode.DONE,
    "A quantised layer needs an offset of its data or of its weights, and the model does not say one "
    "that the layer can have. The layer computes without it, so results will be off.",
    "Quantise what meets in the layer with one offset, or with offset 0.",
    Severity.WARNING,
)
NO_16_BIT_KERNEL = _code(
    6010,
    "no-16-bit-kernel",
    ExitCode.DONE,
    "A mixed precision mode wants an operator of its white list in 16 bits, and there is no such "
    "kernel. The operator keeps the model's dtypes.",
    "Nothing needs doing; --modify-mixlist takes the operator off the white list.",
    Severity.WARNING,
)

# 7: the device --------------------------------------------------------------------------------

UNKNOWN_DEVICE = _code(
    7001,
    "unknown-device",
    ExitCode.USAGE,
    "No device back end of that name is installed.",
    "Use `sim`, or install the package that provides the back end.",
)
DEVICE_FAILED = _code(
    7002,
    "device-run-failed",
    ExitCode.DEVICE,
    "The device stopped while it ran the model.",
    "The message names the kernel; run with --random to see whether it depends on the data.",
)
OUTPUT_MISMATCH = _code(
    7003,
    "output-mismatch",
    ExitCode.DEVICE,
    "An output of the run differs from the expected data by more than the tolerance.",
    "Try --precision-mode must_keep_origin_dtype to see whether float16 is the cause.",
)

NOT_FINITE = _code(
    7004,
    "output-not-finite",
    ExitCode.DONE,
    "An output of the run holds infinities or NaN although its inputs do not. With float16 the "
    "usual cause is a value beyond 65504 on the way.",
    "Convert with --precision-mode must_keep_origin_dtype and run again; if that is finite, "
    "float16 is the cause.",
    Severity.WARNING,
)
REFERENCE_FAILED = _code(
    7005,
    "reference-run-failed",
    ExitCode.DEVICE,
    "The original ONNX model could not be run to compare with: neither onnxruntime nor onnx's own "
    "evaluator runs some of its operators, or they refuse the data.",
    "Install onnxruntime, give inputs that fit the model with --input, and see whether "
    "onnxruntime runs the model alone.",
)
BELOW_TARGET = _code(
    7006,
    "comparison-below-target",
    ExitCode.DEVICE,
    "An output of the compiled model is further from the original's than --fail-under allows.",
    "The report names the first layer that goes wrong; try another --precision-mode.",
)

# 9: atc-py ------------------------------------------------------------------------------------

INTERNAL = _code(
    9001,
    "internal-error",
    ExitCode.BUG,
    "atc-py met a state that it does not handle. This is a bug in atc-py.",
    "Report it with the log file that the message names.",
)
