"""Codes of family 7: the device."""

from atc_py.diag.diagnostic import ExitCode, add_code, add_note, add_warning

UNKNOWN_DEVICE = add_code(
    "ATC7001 unknown-device",
    ExitCode.USAGE,
    "No device back end of that name is installed.",
    "Use `sim`, or install the package that provides the back end.",
)
DEVICE_FAILED = add_code(
    "ATC7002 device-run-failed",
    ExitCode.DEVICE,
    "The device stopped while it ran the model.",
    "The message says what failed. Run with --seed to see whether it depends on the data, and "
    "with `--device sim` to see whether it depends on the device; then ask the provider of the "
    "back end.",
)
OUTPUT_MISMATCH = add_code(
    "ATC7003 output-mismatch",
    ExitCode.DEVICE,
    "An output of the run differs from the expected data by more than the tolerance.",
    "Convert with --precision-mode must_keep_origin_dtype to see whether float16 is the cause; "
    "`atc-py compare MODEL` names the first layer that differs.",
)

NOT_FINITE = add_warning(
    "ATC7004 output-not-finite",
    "An output of the run contains infinities or NaN although its inputs do not. With float16 "
    "the usual cause is an intermediate value beyond 65504.",
    "Convert with --precision-mode must_keep_origin_dtype and run again; if that is finite, "
    "float16 is the cause.",
)
ROWS_REORDERED = add_note(
    "ATC7100 rows-reordered",
    "TopK orders the rows of an output differently from the original, because scores are "
    "equal or nearly so. The figures compare the rows as a set: each row with the nearest "
    "one.",
    "Nothing is wrong where the order of equal scores does not matter. Where it does, keep what computes "
    "the scores in float32.",
)
REFERENCE_FAILED = add_code(
    "ATC7005 reference-run-failed",
    ExitCode.DEVICE,
    "The original ONNX model could not be run as the reference. Neither onnxruntime nor onnx's "
    "own evaluator runs some of its operators, or they reject the data.",
    "Install onnxruntime, and give inputs that fit the model with --input. Operators that "
    "exist only on Ascend, which the message names, run in neither: replace them by ONNX "
    "operators.",
)
BELOW_TARGET = add_code(
    "ATC7006 comparison-below-target",
    ExitCode.DEVICE,
    "An output of the compiled model does not reach the target. It differs from the original's by "
    "more than --fail-under allows, it could not be compared, or --suggest found no set of nodes "
    "that reaches the target.",
    "The report names the first failing layer. --suggest FILE finds the nodes to keep in float32; "
    "another --precision-mode keeps more.",
)

NO_COMPILER = add_code(
    "ATC7011 no-cpp-compiler",
    ExitCode.DEVICE,
    "Comparing kernels with the simulator needs a C++ compiler, and none was found. It builds the "
    "kernels for the host.",
    "Install g++ or clang++, or name one in the environment variable CXX.",
)
KERNEL_NOT_BUILT = add_code(
    "ATC7012 kernel-not-built",
    ExitCode.DEVICE,
    "The C++ compiler rejects a kernel, or exceeds its time limit.",
    "The message quotes the compiler's first line. With --templates the fault is most likely in "
    "the template; `atc-py kernels MODEL -o DIR` writes the kernels for inspection.",
)
KERNEL_FAULT = add_code(
    "ATC7013 kernel-fault",
    ExitCode.DEVICE,
    "A kernel does something on the host that would fail on the hardware. It makes a misaligned "
    "copy or a buffer overrun, for example, or stops the program that runs it.",
    "Correct the kernel at the file and line that the message names.",
)
KERNEL_DIFFERS = add_code(
    "ATC7014 kernel-differs",
    ExitCode.DEVICE,
    "A kernel that was run on the host differs from the simulator.",
    "Correct the kernel's template, or, without --templates, report it: it is a bug. Integers, "
    "data movement and operations that round once must agree in all bits; everything else within "
    "2 units in the last place of float16.",
)
DEVICE_MEMORY = add_code(
    "ATC7020 device-memory",
    ExitCode.DEVICE,
    "A run needs more memory than --max-memory allows, or than is available. The memory "
    "holds results, constants as the simulated device stores them, and the workspace of "
    "kernels.",
    "Raise --max-memory, run on a machine with more memory, or convert with a smaller input shape.",
)
DEVICE_TIMEOUT = add_code(
    "ATC7021 device-timeout",
    ExitCode.DEVICE,
    "The device did not respond within the time limit that --timeout sets, and was stopped.",
    "Raise the limit with --timeout SECONDS, or remove it with --timeout 0; if the device hangs, "
    "ask the provider of the back end.",
)
FIX_DIFFERS = add_code(
    "ATC7030 fix-differs",
    ExitCode.DEVICE,
    "A rule of `atc-py fix` wrote a form whose results differ from the original's by more "
    "than the rule's class allows. This is a bug in atc-py; nothing was written.",
    "Leave the rule out with --skip, and report the model.",
)
FIX_NOT_SETTLED = add_code(
    "ATC7031 fix-not-settled",
    ExitCode.DEVICE,
    "Rules of `atc-py fix` undo each other: after the allowed number of rounds they still "
    "change the model, or they have written more nodes than are allowed. This is a bug in "
    "atc-py; nothing was written.",
    "Leave one of the rules that the message names out with --skip, and report the model.",
)

NO_ONNX_FORM = add_code(
    "ATC7040 no-onnx-form",
    ExitCode.DEVICE,
    "An operator of the compiled graph cannot be written in ONNX's operators. The model has no "
    "exported form, and does not run on the device `ort`. Every such node is named.",
    "Run the model on the device `sim`, which has every operator.",
)
NO_ONNXRUNTIME = add_code(
    "ATC7041 no-onnxruntime",
    ExitCode.USAGE,
    "The device `ort` runs models in onnxruntime, which is not installed.",
    'Install it with `pip install "atc-py[ort]"`, or use the device `sim`.',
)

BOARD_DIFFERS = add_warning(
    "ATC7080 board-differs",
    "A layer or output differs between board and simulator by more than rounding explains, "
    "although its inputs agree. The simulator, CANN or the device is wrong there. Errors "
    "that come from the dtypes, which both have, are not reported this way.",
    "Look at the layer in the table: if board and original agree, the simulator is off. "
    "Otherwise run the node alone, or without fusion, and report it with its inputs.",
    exit_code=ExitCode.DEVICE,
)
BOARD_EXECUTIONS = add_warning(
    "ATC7081 board-dump-of-several-executions",
    "A dump holds more than one execution of the model, or one that is not the first.",
    "Dump one execution: run the model once in the process that dumps.",
    exit_code=ExitCode.DEVICE,
)
BOARD_FUSION = add_note(
    "ATC7082 board-launches-otherwise",
    "The launches of the board's model differ from the simulator's: in fusion, dtypes or "
    "formats. Values inside fused launches cannot be compared, and times differ.",
    "Look at the table of launches that differ; the variant of the kit without fusion has a result "
    "for each node.",
    exit_code=ExitCode.DEVICE,
)
BOARD_INCONSISTENT = add_warning(
    "ATC7083 board-results-inconsistent",
    "Parts of the results of a board do not belong together: inputs, SoC or model file "
    "differ, or outputs with a dump differ from those without.",
    "Run the kit again, unchanged, on a host with the kit's SoC.",
    exit_code=ExitCode.DEVICE,
)
BOARD_INCOMPLETE = add_warning(
    "ATC7084 board-results-incomplete",
    "A step of the kit was not completed on the board, so a part of the comparison is missing.",
    "Follow the message of the step, and run `run_on_board.py` again: it repeats the steps "
    "that are not done.",
    exit_code=ExitCode.DEVICE,
)
BOARD_TIMES = add_note(
    "ATC7086 board-times-beyond-estimate",
    "The kernels take far less or far more time on the board than estimated.",
    "Save fitted factors with --save-factors and estimate with --factors; check whether "
    "the clock, other processes or another SoC explain it.",
    exit_code=ExitCode.DEVICE,
)
BOARD_RELEASE = add_note(
    "ATC7085 board-has-another-release",
    "The host of the board has a different release of CANN than the kit assumed. This "
    "alone can change what nodes compute and what is fused.",
    "Pack the kit again, with --cann set to the host's release.",
    exit_code=ExitCode.DEVICE,
)
