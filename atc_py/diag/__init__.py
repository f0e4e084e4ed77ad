"""Diagnostics: coded findings with a place and a hint, and the exception that carries them."""

from atc_py.diag.codes import *  # noqa: F403  (every code)
from atc_py.diag.diagnostic import (
    AtcError,
    AtcFault,
    Code,
    Diagnostic,
    ExitCode,
    Place,
    Severity,
    Sink,
    all_codes,
    did_you_mean,
    find_code,
    nearest,
    nearest_of_many,
)

__all__ = [
    "AtcError",
    "AtcFault",
    "Code",
    "Diagnostic",
    "ExitCode",
    "Place",
    "Severity",
    "Sink",
    "all_codes",
    "did_you_mean",
    "find_code",
    "nearest",
    "nearest_of_many",
]
