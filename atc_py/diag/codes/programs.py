"""Codes of family 7 about programs that `atc-py exec` runs."""

from atc_py.diag.codes.table import add_code
from atc_py.diag.diagnostic import ExitCode, Severity

PROGRAM_NOT_STARTED = add_code(
    7060,
    "program-not-started",
    ExitCode.USAGE,
    "`atc-py exec` could not start the program. There is no file of that name, or the system does "
    "not execute it.",
    "Give the command as a shell would, such as `atc-py exec -- python evaluate.py`.",
)
SESSION_IN_ONNXRUNTIME = add_code(
    7061,
    "session-in-onnxruntime",
    ExitCode.DONE,
    "A session of a program under `atc-py exec` ran in onnxruntime. The model cannot be compiled, "
    "or not for these shapes. The message has the codes of the findings; the report has all of "
    "them. With --strict the program ends here, with the exit status that `convert` would have.",
    "Look the codes up; `--fix` compiles the model in a form that the list takes.",
    Severity.WARNING,
)
NO_SESSION_SEEN = add_code(
    7062,
    "no-session-seen",
    ExitCode.DONE,
    "The program under `atc-py exec` ended and no onnxruntime session of it was seen. Python options "
    "that ignore the environment (-I, -E) or leave out the module site (-S) keep the hook out, "
    "and so does a program in another language.",
    "Start the program with the Python that has onnxruntime, without these options.",
    Severity.WARNING,
)
PROGRAM_LACKS_LIBRARIES = add_code(
    7063,
    "program-lacks-libraries",
    ExitCode.USAGE,
    "The Python that runs the program cannot load atc-py. It is older than 3.10, lacks a library "
    "that atc-py needs or has one that is too old, or has another atc_py. Its sessions ran in "
    "onnxruntime.",
    "Install atc-py into the program's environment, or run the program in atc-py's. Rename a "
    "package of the program that is called atc_py.",
    Severity.WARNING,
)
NO_ONNXRUNTIME_IN_PROGRAM = add_code(
    7064,
    "no-onnxruntime-in-program",
    ExitCode.DONE,
    "The program under `atc-py exec` imports onnxruntime, which its environment does not have.",
    "Install onnxruntime there; the extra `atc-py[ort]` has it.",
    Severity.WARNING,
)
