"""Codes of family 9: atc-py."""

from atc_py.diag.codes.table import add_code
from atc_py.diag.diagnostic import ExitCode

INTERNAL = add_code(
    9001,
    "internal-error",
    ExitCode.BUG,
    "atc-py reached a state that it does not handle. This is a bug in atc-py.",
    "Report it, and attach the log file that the message names.",
)
