"""Codes of families 2 and 5: files, and offline models."""

from atc_py.diag.diagnostic import ExitCode, add_code, add_warning

NOT_OM = add_code(
    "ATC5001 not-an-offline-model",
    ExitCode.FILE,
    "The file is not an offline model of atc-py: it has another format, is truncated, or "
    "is an offline model of Huawei's own atc, which this command does not take.",
    "Convert the ONNX model with `atc-py convert`; docs/real-om.md says what atc-py does "
    "with models of Huawei's atc.",
)
OM_VERSION = add_code(
    "ATC5002 offline-model-version",
    ExitCode.FILE,
    "The offline model was written in a version of the format that this atc-py does not read.",
    "Convert the ONNX model again with this atc-py, or use the atc-py that wrote it.",
)
OM_MEMBER = add_code(
    "ATC5003 offline-model-member",
    ExitCode.FILE,
    "A member of the offline model is damaged: its bytes are not the ones that were written.",
    "Copy the file again, or convert the ONNX model again.",
)
OM_CONTENT = add_code(
    "ATC5004 offline-model-content",
    ExitCode.FILE,
    "The offline model's description contradicts itself. It may also name something that the file "
    "does not contain.",
    "Convert the ONNX model again; if that does not help, report it as a bug.",
)
OM_PLAN = add_code(
    "ATC5005 offline-model-memory-plan",
    ExitCode.FILE,
    "The offline model's memory plan is invalid. Tensors that are needed at the same time "
    "overlap, a tensor is outside the arena or at an impossible offset, or a size does not follow "
    "from the plan.",
    "Convert the ONNX model again; if that does not help, report it as a bug.",
)
BAD_HUAWEI_MODEL = add_code(
    "ATC5006 bad-huawei-model",
    ExitCode.FILE,
    "An offline model of Huawei's own atc is damaged. A part of it breaks the format, is "
    "outside the file, or is far larger than in any such model.",
    "Copy the file again from the machine that built it, and compare the sizes.",
)
HUAWEI_NOT_RUN = add_code(
    "ATC5007 huawei-model-not-run",
    ExitCode.FILE,
    "No output of an offline model of Huawei's own atc can be computed, or it has no graph. The "
    "message names the reason: operators whose arithmetic is not known, dims that a run decides, an "
    "encrypted file.",
    "`atc-py info` shows what the file says; docs/real-om.md lists what can be run. Convert the "
    "ONNX model with atc-py, if it is at hand.",
)
HUAWEI_LEFT_OUT = add_warning(
    "ATC5008 huawei-operator-left-out",
    "The arithmetic of an operator in an offline model of Huawei's own atc is not known. "
    "The operator and everything that needs its result are left out, and the rest is run.",
    "If attributes are missing, give the network that the model was compiled from with "
    "--like; otherwise use the remaining outputs.",
    exit_code=ExitCode.FILE,
)
HUAWEI_ASSUMED = add_warning(
    "ATC5009 huawei-facts-assumed",
    "An offline model of Huawei's own atc lacks facts that a run needs, so the most likely "
    "ones are assumed: strides and pads of fused convolutions, operands of fused "
    "operators, or the SoC.",
    "Give the network that the model was compiled from with --like; compare its "
    "results with --reference.",
    exit_code=ExitCode.FILE,
)


FILE_NOT_FOUND = add_code(
    "ATC2001 file-not-found",
    ExitCode.FILE,
    "A named file does not exist or is a folder.",
    "Check the path; it is taken relative to the folder in which the command runs.",
    atc="E10001",
)
FILE_UNREADABLE = add_code(
    "ATC2002 file-unreadable",
    ExitCode.FILE,
    "The system refused to read a file, or it is not a file at all: permissions forbid it, "
    "or the path belongs to a pipe, a device or a socket.",
    "Check the permissions of the file and of the folders above it. Save what comes through a "
    "pipe as a file, and give that.",
    atc="E13001",
)
NOT_ONNX = add_code(
    "ATC2003 not-an-onnx-model",
    ExitCode.FILE,
    "The file is not an ONNX model, or it was truncated or changed after it was written.",
    "Export the model again and compare the file's size with the original's.",
    atc="E13005",
)
EXTERNAL_DATA_MISSING = add_code(
    "ATC2004 external-data-missing",
    ExitCode.FILE,
    "The model keeps weights in another file, and that file is missing or too short.",
    "Copy the weight file into the model's folder under the name that the message gives.",
    atc="E13001",
)
EXTERNAL_DATA_OUTSIDE = add_code(
    "ATC2005 external-data-outside-folder",
    ExitCode.FILE,
    "The model names a weight file outside its own folder (absolute path, `..`, or a link that "
    "leads out). Such a model could read any file of this machine, so it is refused.",
    "Save the model again with its weights in the same folder.",
    atc="E13001",
)
BAD_TENSOR = add_code(
    "ATC2006 bad-tensor-data",
    ExitCode.FILE,
    "A tensor's data does not match its declared dtype and shape, or its dtype is not supported.",
    "Export the model again; `onnx.checker.check_model` shows whether the file is valid.",
    atc="E13005",
)
CANNOT_WRITE = add_code(
    "ATC2007 cannot-write-output",
    ExitCode.FILE,
    "An output file could not be written. There is no space or no permission, or the path is that "
    "of a folder, a device, a pipe or a standard stream such as /dev/stdout. A file that was "
    "there before is unchanged, and no partial file is left.",
    "Free space, or choose another path with -o.",
    atc="E13003",
)
BAD_DATA_FILE = add_code(
    "ATC2008 bad-data-file",
    ExitCode.FILE,
    "A .npy, .npz, .pb or .bin file with data for a run cannot be read.",
    "Write the file with numpy.save or numpy.savez, without pickled objects.",
)
BAD_SPEC = add_code(
    "ATC2009 bad-operator-spec",
    ExitCode.FILE,
    "An operator specification file has an unknown key, a wrong type or a missing value.",
    "Correct the YAML at the line and column given.",
)
BAD_TEMPLATE = add_code(
    "ATC2010 bad-template",
    ExitCode.FILE,
    "A kernel template is missing or does not render.",
    "Correct the template at the line given, or reinstall atc-py to restore its own.",
)
BAD_IR_TEXT = add_code(
    "ATC2011 bad-ir-text",
    ExitCode.FILE,
    "A text form of the target IR does not follow its grammar.",
    "Correct the text at the line and column given; docs/ir.md describes the grammar.",
)

BAD_BASELINE = add_code(
    "ATC2012 bad-baseline",
    ExitCode.FILE,
    "The file given with --baseline is not a report that `atc-py check --format json` wrote.",
    "Write it again with `atc-py check MODEL --format json --output FILE`.",
)

DOUBTFUL_SPEC = add_warning(
    "ATC2013 doubtful-operator-spec",
    "An operator specification states something that cannot occur, such as an opset at "
    "which ONNX does not have the operator. This is harmless.",
    "Delete the entry that the message names, unless the specification follows a list that has it.",
    exit_code=ExitCode.FILE,
)
FILE_NOT_TEXT = add_code(
    "ATC2014 file-not-text",
    ExitCode.FILE,
    "A file that must be text is not UTF-8: it is binary, or was saved in another encoding.",
    "Save the file as UTF-8, or check that it is the intended file.",
    atc="E13004",
)
FILE_TOO_LARGE = add_code(
    "ATC2015 file-too-large",
    ExitCode.FILE,
    "A file exceeds the size limit for its kind, or never ends, like a device. Reading "
    "stopped there; docs/security.md lists the limits.",
    "Check that it is the intended file; the message and docs/security.md give the limit "
    "for its kind.",
    atc="E13015",
)
BAD_CONTROL_FILE = add_code(
    "ATC2020 bad-precision-file",
    ExitCode.FILE,
    "A file that sets dtypes or implementations does not follow its format. It was given with "
    "--keep-dtype, --customize-dtypes, --modify-mixlist or --op-precision-mode.",
    "Correct the line that the message names; `atc-py convert --help` shows which option takes "
    "which format.",
    atc="E10001",
)
BAD_SWITCH_FILE = add_code(
    "ATC2021 bad-switch-file",
    ExitCode.FILE,
    "A file for --fusion-switch-file has neither lines `PassName:off` nor ATC's JSON form.",
    'Write one `PassName:off` per line, or `{"Switch": {"GraphFusion": {"PassName": "off"}}}`.',
    atc="E10001",
)
BAD_AIPP = add_code(
    "ATC2022 bad-aipp-config",
    ExitCode.FILE,
    "An AIPP configuration cannot be used. The file, or one with settings for dynamic AIPP, does "
    "not follow its grammar, has a field that does not exist or a value outside its range, or "
    "describes pictures that do not fit the model's input.",
    "Correct the field at the line and column given; docs/aipp.md lists every field with its rule.",
)
DOUBTFUL_AIPP = add_warning(
    "ATC2023 doubtful-aipp-config",
    "An AIPP configuration is valid, but most likely does not do what its author means. A field "
    "has no effect without its switch, entries of the matrix are filled in, or a factor is 0 in "
    "float16.",
    "Complete or delete the fields that the message names; docs/aipp.md says what each does.",
    exit_code=ExitCode.FILE,
)
BAD_PICTURE = add_code(
    "ATC2024 bad-picture",
    ExitCode.FILE,
    "A picture file cannot be read, or its size is not the one that AIPP is configured for.",
    "Give a picture of the size that the message names, or resize it with --resize, which `aipp` and `quantize` take.",
)
NO_PILLOW = add_code(
    "ATC2025 pillow-missing",
    ExitCode.USAGE,
    "A picture file was given and Pillow, which reads such files, is not installed.",
    'Install it with `pip install "atc-py[images]"`, or save the picture as an array with '
    "numpy.save: uint8, [height, width, 3].",
)
BAD_MEASUREMENTS = add_code(
    "ATC2030 bad-measurements",
    ExitCode.FILE,
    "A file for --calibrate is not a table of measured kernels. A column is missing, an operator, "
    "shape, dtype or time is invalid, or there are too few lines for a fit.",
    "Write CSV with the columns op, shape, dtype and time_us, and output_shape for operators "
    "whose output shape does not follow from the inputs; msprof's names for these columns in its "
    "op_summary are accepted too.",
)
BAD_FACTORS = add_code(
    "ATC2031 bad-cost-factors",
    ExitCode.FILE,
    "A file for --factors was not written by --save-factors, or a figure in it is impossible.",
    "Write the file again with `atc-py profile --calibrate FILE.csv --save-factors FILE`.",
)
MEMORY_LIMIT = add_code(
    "ATC2040 memory-limit",
    ExitCode.FILE,
    "The work needs more memory than --max-memory allows, or than is available. Without the "
    "option, the limit is three quarters of what the machine, the control group and `ulimit` "
    "leave the process. Data that files ask for are sized before they are allocated.",
    "Raise --max-memory, use a machine with more memory, or give smaller input shapes.",
)

NOT_MODEL_TEXT = add_code(
    "ATC2050 not-a-model-text",
    ExitCode.FILE,
    "A file for mode 5 of `atc` is not a model in protobuf's text form. It may also have a field "
    "that such a model does not have.",
    "Give a file that ATC wrote with DUMP_GE_GRAPH, such as ge_proto_00000000_graph_1_Build.txt; "
    "correct the line that the message names.",
)

BAD_OPERATOR_FILE = add_code(
    "ATC2051 bad-operator-file",
    ExitCode.FILE,
    "A file for --singleop of `atc` has no list of operators that the target takes. It is not a "
    "list, or an operator in it has operands, attributes or formats that the target does not take.",
    "Correct the operator that the message names; docs/om-json.md has the form of the file.",
)

BAD_DUMP = add_code(
    "ATC5080 bad-dump",
    ExitCode.FILE,
    "A dump of a board is damaged, or its folder holds far more files than one execution "
    "writes. In a damaged dump, the header breaks the format or refers to bytes beyond the "
    "end of the file.",
    "Copy the file again from the board and compare the sizes, or run the step of the kit "
    "again. If there are too many files, give the folder of one execution.",
)
NO_DUMPS = add_code(
    "ATC5081 no-dumps",
    ExitCode.FILE,
    "A folder has no dump of a board. Dumps are files named TYPE.NAME.TASK.STREAM.TIME "
    "without a suffix, in folders named after the time, the device, the model and the "
    "execution.",
    "Give the folder that `dump_path` named, or one below it. With a wrong `model_name` in "
    "the dump configuration nothing is dumped, and no error is shown.",
)
BAD_BOARD_TABLE = add_code(
    "ATC5082 bad-board-table",
    ExitCode.FILE,
    "A file is not a table of msprof, or is far larger than any. Tables are CSV files that "
    "begin with a line of column names; op_summary, kernel_details and task_time are read.",
    "Give the complete file that `msprof --export=on` wrote.",
)
BAD_MODEL_JSON = add_code(
    "ATC5083 bad-model-json",
    ExitCode.FILE,
    "A file is not the JSON of an offline model, which `atc --mode=1 --om=x.om "
    "--json=x.json` writes.",
    "Write the JSON again with atc's mode 1 from the .om that ran.",
)
BAD_KIT = add_code(
    "ATC5084 bad-kit",
    ExitCode.FILE,
    "A folder is not a kit of `atc-py board pack`, or its files have changed since "
    "they were packed.",
    "Give the folder that `atc-py board pack` wrote, unchanged.",
)
BAD_RESULTS = add_code(
    "ATC5085 bad-results",
    ExitCode.FILE,
    "An archive is not one that `run_on_board.py` packed: it is truncated, damaged, "
    "belongs to another kit, has paths outside the archive, or needs far more space than "
    "results of a kit take.",
    "Copy results.zip again from the board; if it is incomplete there, run "
    "`run_on_board.py` again.",
)
BOARD_LEFT_OUT = add_warning(
    "ATC5086 board-part-left-out",
    "A part of the results of a board is missing or damaged, and is left out. The rest is "
    "compared.",
    "Run the step that the message names again on the board: `run_on_board.py` repeats the "
    "steps that are not done.",
    exit_code=ExitCode.FILE,
)
