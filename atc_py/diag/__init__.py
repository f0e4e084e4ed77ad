"""Diagnostics: coded findings with a place and a hint, and the exception that carries them."""

from atc_py.diag.diagnostic import (
    AtcError,
    AtcFault,
    Code,
    Diagnostic,
    ExitCode,
    Place,
    Severity,
)
from atc_py.diag.sink import Sink

__all__ = [
    "AtcError",
    "AtcFault",
    "Code",
    "Diagnostic",
    "ExitCode",
    "Place",
    "Severity",
    "Sink",
]
