"""Errors of a session: coded, and of the class that programs written for onnxruntime catch."""

import sys
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from atc_py.diag import (
    BAD_MODEL,
    FILE_NOT_FOUND,
    FILE_UNREADABLE,
    NOT_ONNX,
    SESSION_OPTION_WITHOUT_EFFECT,
    AtcError,
    Code,
    Diagnostic,
    ExitCode,
)

INVALID_ARGUMENT, NOT_IMPLEMENTED = "InvalidArgument", "NotImplemented"
"""Classes of onnxruntime for data that do not fit, and for what it does not have."""

_BINDINGS = "onnxruntime.capi.onnxruntime_pybind11_state"
"""Module that has onnxruntime's exceptions; it is there where a program imported onnxruntime."""

_BUILT_IN = {each.__name__: each for each in (ValueError, TypeError, RuntimeError)}

_LOADING = {
    FILE_NOT_FOUND: "NoSuchFile",
    FILE_UNREADABLE: "Fail",
    NOT_ONNX: "InvalidProtobuf",
    BAD_MODEL: "InvalidGraph",
}
"""Classes for models that cannot be read; one that cannot be compiled is not implemented."""


class SessionWarning(UserWarning):
    """A warning of a session; the text begins with the code."""


def session_error(kind: str, *diagnostics: Diagnostic) -> AtcError:
    """An AtcError that is an error of the class `kind`, too.

    Args:
        kind: name of a built-in class, or of one of onnxruntime's; a program that catches one of
            these has imported onnxruntime, else the error is an AtcError alone.
        diagnostics: what is wrong.
    """
    base = _BUILT_IN.get(kind) or getattr(sys.modules.get(_BINDINGS), kind, None)
    made = AtcError if base is None else _joined(base, kind)
    return made(*diagnostics)


def load_error(error: AtcError) -> AtcError:
    """An error of reading or compiling as one that onnxruntime's constructor may raise.

    It has the attributes of `error`, such as the findings of the check.
    """
    codes = [each.code for each in error.diagnostics]
    usage = any(code.exit is ExitCode.USAGE for code in codes)
    other = INVALID_ARGUMENT if usage else NOT_IMPLEMENTED
    kind = next((_LOADING[code] for code in codes if code in _LOADING), other)
    found = session_error(kind, *error.diagnostics)
    found.__dict__.update(error.__dict__)
    return found


def session_warning(
    message: str, hint: str | None = None, code: Code = SESSION_OPTION_WITHOUT_EFFECT
) -> SessionWarning:
    """A warning; by default that something has no effect."""
    return SessionWarning(f"{code.id}: {message}" + (f"; {hint}" if hint else ""))


@lru_cache(maxsize=64)
def _joined(base: type[Exception], kind: str) -> type[AtcError]:
    """A class that is an AtcError and `base`; its errors can be pickled."""

    def reduced(self: AtcError) -> tuple[Any, Iterable[Any]]:
        return session_error, (kind, *self.diagnostics)

    return type("AtcError", (AtcError, base), {"__reduce__": reduced, "__module__": __name__})
