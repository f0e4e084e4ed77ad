"""Codes of family 1, how the command was called, of tasks in other processes, and of programs under `atc-py exec`."""

from atc_py.diag.diagnostic import ExitCode, add_code, add_note, add_warning

NO_DISTRIBUTED = add_code(
    "ATC1090 distributed-missing",
    ExitCode.USAGE,
    "--dask was given and `distributed`, which speaks to Dask clusters, is not installed.",
    'Install it with `pip install "atc-py[dask]"`, or use processes of this machine with --jobs.',
)
CLUSTER_FAILED = add_code(
    "ATC7070 cluster-failed",
    ExitCode.DEVICE,
    "The scheduler of the Dask cluster does not answer, has no workers, or the "
    "connection to it was lost.",
    "Check the address that `dask scheduler` printed, and that `dask worker` runs with it; what "
    "was finished is kept.",
)
WORKER_VERSION = add_code(
    "ATC7071 worker-version",
    ExitCode.DEVICE,
    "A worker of the Dask cluster has another version of atc-py, or none. Its results could "
    "differ, so no task was given to it.",
    "Install the version of this machine on every worker, and start the workers again.",
)
TASK_FAILED = add_code(
    "ATC7072 task-failed",
    ExitCode.DEVICE,
    "A task in a process of its own failed: it crashed, exceeded its time limit, or took "
    "more memory than it is allowed.",
    "Give it more time or memory; if it crashes every time, report the model.",
)
DUPLICATE_MODEL = add_code(
    "ATC1091 duplicate-model",
    ExitCode.USAGE,
    "Two models of a sweep have the same name, so their rows and reports would be mixed "
    "up. The name is that of the file, or its path within the given folder, without the "
    "suffix.",
    "Name each file once; for files with the same name give the folder above them.",
)
NO_PYARROW = add_code(
    "ATC1092 pyarrow-missing",
    ExitCode.USAGE,
    "--parquet was given and `pyarrow`, which writes such files, is not installed.",
    'Install it with `pip install "atc-py[parquet]"`, or leave --parquet out: the CSV file has the '
    "same columns.",
)
ROW_FAILED = add_code(
    "ATC7073 sweep-row-failed",
    ExitCode.DEVICE,
    "A row of a sweep failed: it crashed, exceeded --seconds, took more memory than "
    "--max-memory, or hit a bug. The row says which, and the others are complete.",
    "The message names the row; --retry runs such rows again.",
)


PROGRAM_NOT_STARTED = add_code(
    "ATC7060 program-not-started",
    ExitCode.USAGE,
    "`atc-py exec` could not start the program. There is no file of that name, or the system does "
    "not execute it.",
    "Give the command as a shell would, such as `atc-py exec -- python evaluate.py`.",
)
SESSION_IN_ONNXRUNTIME = add_warning(
    "ATC7061 session-in-onnxruntime",
    "A session of a program under `atc-py exec` ran in onnxruntime. The model cannot be compiled, "
    "or not for these shapes. The message has the codes of the findings; the report has all of "
    "them. With --strict the program ends here, with the exit status that `convert` would have.",
    "Look the codes up; `--fix` compiles the model in a form that the list takes.",
)
NO_SESSION_SEEN = add_warning(
    "ATC7062 no-session-seen",
    "The program under `atc-py exec` ended without creating an onnxruntime session. Python "
    "options that ignore the environment (-I, -E) or leave out the module site (-S) keep "
    "the hook from loading, and so does a program in another language.",
    "Start the program with the Python that has onnxruntime, without these options.",
)
PROGRAM_LACKS_LIBRARIES = add_warning(
    "ATC7063 program-lacks-libraries",
    "The Python that runs the program cannot load atc-py. It is older than 3.10, lacks a library "
    "that atc-py needs or has one that is too old, or has another atc_py. Its sessions ran in "
    "onnxruntime.",
    "Install atc-py into the program's environment, or run the program in atc-py's. Rename a "
    "package of the program that is called atc_py.",
    exit_code=ExitCode.USAGE,
)
NO_ONNXRUNTIME_IN_PROGRAM = add_warning(
    "ATC7064 no-onnxruntime-in-program",
    "The program under `atc-py exec` imports onnxruntime, which its environment does not have.",
    "Install onnxruntime there; the extra `atc-py[ort]` has it.",
)


BAD_OPTION = add_code(
    "ATC1001 bad-option-value",
    ExitCode.USAGE,
    "An option or argument has a value that atc-py does not know or cannot read.",
    "Compare the value with the ones that the message lists; `atc-py COMMAND --help` shows all.",
    atc="E10001",
)
BAD_INPUT_SHAPE = add_code(
    "ATC1002 bad-input-shape",
    ExitCode.USAGE,
    "The value of --input-shape cannot be read, or its shapes do not fit the model. It is "
    "not of the form `name:1,3,224,224;other:...`, names an input that the model does not "
    "have, contradicts the model's own rank or fixed dims, or gives dims that the model's "
    "layers do not accept, such as 321 where a network divides by 32.",
    "Write one `name:dims` per input, joined by `;`, and quote the whole for the shell. For dims "
    "that do not fit, the message names the nearest ones that do.",
    atc="E10002",
)
UNKNOWN_SOC = add_code(
    "ATC1003 unknown-soc",
    ExitCode.USAGE,
    "The SoC table has no row with the name given by --soc.",
    "Use `sim` for the generic device, or one of the names that the message lists.",
    atc="E10001",
)
UNKNOWN_PASS = add_code(
    "ATC1004 unknown-pass",
    ExitCode.USAGE,
    "An option names a pass that atc-py does not have.",
    "`atc-py convert --passes` lists the passes by name.",
)
REQUIRED_PASS = add_code(
    "ATC1005 pass-is-required",
    ExitCode.USAGE,
    "An option switches off a pass that every compilation needs.",
    "Only passes marked optional in `atc-py convert --passes` can be switched off.",
)
MISSING_RUN_INPUT = add_code(
    "ATC1006 run-input-missing",
    ExitCode.USAGE,
    "No data was given for an input of the offline model.",
    "Give `--input name=file` for every input, or `--seed SEED` to fill the rest.",
)
BAD_RUN_INPUT = add_code(
    "ATC1007 run-input-mismatch",
    ExitCode.USAGE,
    "Data given for an input does not match it: the name, shape, dtype or number of bytes differs.",
    "`atc-py info MODEL.om` shows the names, shapes and dtypes that the model accepts.",
)
UNKNOWN_NAME = add_code(
    "ATC1008 unknown-name",
    ExitCode.USAGE,
    "The command names an operator or a diagnostic code that atc-py does not have.",
    "`atc-py ops list` lists the operators, and `atc-py explain` the codes.",
)
OPTIONS_EXCLUDE = add_code(
    "ATC1020 options-exclude-each-other",
    ExitCode.USAGE,
    "Two options were given that exclude each other.",
    "Give one of the two that the message names.",
    atc="E10047",
)
NO_BFLOAT16 = add_code(
    "ATC1021 soc-lacks-bfloat16",
    ExitCode.USAGE,
    "The precision mode computes in bfloat16, which the SoC does not support.",
    "Give --soc the name of a SoC that has bfloat16 (docs/target.md lists them), or choose a "
    "float16 mode.",
    atc="E10001",
)
NOT_IN_MODEL = add_code(
    "ATC1022 name-not-in-model",
    ExitCode.USAGE,
    "An option, or a file that it names, refers to a node, operator, input or output that "
    "the model or the target does not have.",
    "Compare the name with the nearest ones in the message; nodes have the names of the ONNX file.",
    atc="E10016",
)
NOT_TRUSTED = add_code(
    "ATC1023 kernels-not-trusted",
    ExitCode.USAGE,
    "The command would build and run the kernels of an offline model on this machine. They "
    "are C++ code from the file, which can do everything that you can.",
    "Give --trust if you know who wrote the file, or verify the ONNX model, whose kernels come "
    "from atc-py's own templates.",
)
ARRAY_OF_OTHER_NAME = add_warning(
    "ATC1030 array-of-other-name",
    "An .npz file was given without a name, and its only array has a different name than "
    "the input or expected output. The array was used anyway.",
    "Check that it is the intended file; to confirm, give NAME=FILE or save the array "
    "under the model's name.",
)
INPUT_NOT_FINITE = add_warning(
    "ATC1031 input-not-finite",
    "Data given for an input contains NaN or infinities. The model runs on it; the outputs are "
    "most likely NaN or infinite for that reason alone.",
    "Load the file with numpy.load and look at the element that the message names. Most often the "
    "preprocessing divided by 0, or wrote an array before it was filled.",
)
SESSION_UNSUPPORTED = add_code(
    "ATC1040 session-unsupported",
    ExitCode.USAGE,
    "A program asked an `InferenceSession` for something that onnxruntime has and the "
    "device does not: a library of custom operators, replaced initializers, a model in "
    "onnxruntime's own format, memory of another device, or a member that "
    "docs/inference-session.md lists as refused.",
    "Leave the option out, or run this model in onnxruntime itself.",
)
SESSION_OPTION_WITHOUT_EFFECT = add_warning(
    "ATC1041 session-option-without-effect",
    "A program gave an `InferenceSession` an execution provider or an option that has no effect "
    "there. In onnxruntime it would change numbers or write a file.",
    "Leave it out to silence the warning; the session computes what the compiled model computes.",
)
NOT_MODELED = add_code(
    "ATC1060 not-modeled",
    ExitCode.USAGE,
    "A command line of atc asks for something that atc-py does not model and that would "
    "change results or files: a framework other than ONNX, a mode for other devices, a "
    "block layout of inputs.",
    "Follow the message instead; docs/from-atc.md lists how each option of atc is treated.",
)
OPTION_WITHOUT_EFFECT = add_warning(
    "ATC1061 option-without-effect",
    "A command line of atc has options that have no meaning in atc-py: logs, caches, "
    "tuning, clusters. They change no result and are ignored.",
    "No action is needed; leave them out to silence the warning.",
)
GEAR_NOT_COMPILED = add_note(
    "ATC1050 gear-not-compiled",
    "One of several gears does not compile, for the reasons that the other findings give. An "
    "offline model holds all gears that were listed or is not written.",
    "Leave the gear out, or change it so that the model takes its shapes.",
)
NO_SUCH_GEAR = add_code(
    "ATC1051 no-such-gear",
    ExitCode.USAGE,
    "The model has several gears, and the shapes of the data, or the chosen ones, match "
    "none of them. A gear is one shape of the list that the model was converted for. As on "
    "the device, shapes are not rounded up to a gear, except with --auto-gears.",
    "Feed the shapes of one of the gears that the message lists, or convert the model again with "
    "the gear that is needed.",
)
OPEN_DIMS_NOT_COMPILED = add_note(
    "ATC1052 open-dims-not-compiled",
    "--input-shape leaves dims to each run, with a range such as 1~8 or with -1, but nodes "
    "of the model need them fixed; convolutions, for instance, do.",
    "Give the shapes that are needed as gears, with --batch-sizes, --image-sizes, --dims or "
    "--auto-gears.",
)
BAD_CONFIG = add_code(
    "ATC1080 bad-config-file",
    ExitCode.USAGE,
    "The configuration file is not TOML, or has an entry that atc-py does not know. The file is "
    "atc-py.toml, or the table [tool.atc-py] of pyproject.toml; its entries are commands, options "
    "and their values.",
    "Correct the entry that the message names; `atc-py config COMMAND` lists the options "
    "of a command with the values in effect.",
)
KIT_IN_USE = add_code(
    "ATC1093 kit-in-use",
    ExitCode.USAGE,
    "The folder for a kit holds something else, or a kit that already has results. A new "
    "kit replaces only an earlier one that was not run.",
    "Give another folder with --output, or remove that one.",
)
