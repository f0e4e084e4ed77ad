"""The block in which atc reports why a run failed: a code, its text, the solution, what else there is."""

from collections.abc import Iterator

from atc_py.adapters.atc.faults import NO_CODE, fault_text
from atc_py.adapters.atc.tokens import UnreadableLineError
from atc_py.diag import (
    BAD_CONTROL_FILE,
    BAD_INPUT_SHAPE,
    BAD_MODEL,
    BAD_NODE,
    BAD_OPTION,
    BAD_SWITCH_FILE,
    BAD_TENSOR,
    CANNOT_WRITE,
    EXTERNAL_DATA_MISSING,
    EXTERNAL_DATA_OUTSIDE,
    FILE_NOT_FOUND,
    FILE_NOT_TEXT,
    FILE_TOO_LARGE,
    FILE_UNREADABLE,
    FREE_DIMENSION,
    NO_BFLOAT16,
    NOT_IN_MODEL,
    NOT_LOWERED,
    NOT_ONNX,
    OPTIONS_EXCLUDE,
    REFUSED_BY_PARSER,
    UNKNOWN_OPERATOR,
    UNKNOWN_SHAPE,
    UNKNOWN_SOC,
    UNSUPPORTED_OPSET,
    AtcError,
    AtcFault,
    Diagnostic,
    Severity,
)
from atc_py.text.language import spoken

_INDENT = " " * 8
_MOST_LINES = 100

_CODES = {
    BAD_CONTROL_FILE: "E10001",
    BAD_INPUT_SHAPE: "E10002",
    BAD_MODEL: "E89999",
    BAD_NODE: "E89999",
    BAD_OPTION: "E10001",
    BAD_SWITCH_FILE: "E10001",
    BAD_TENSOR: "E13005",
    CANNOT_WRITE: "E13003",
    EXTERNAL_DATA_MISSING: "E13001",
    EXTERNAL_DATA_OUTSIDE: "E13001",
    FILE_NOT_FOUND: "E10001",
    FILE_NOT_TEXT: "E13004",
    FILE_TOO_LARGE: "E13015",
    FILE_UNREADABLE: "E13001",
    FREE_DIMENSION: "E10001",
    NOT_IN_MODEL: "E10016",
    NOT_LOWERED: "EZ3003",
    NOT_ONNX: "E13005",
    NO_BFLOAT16: "E10001",
    OPTIONS_EXCLUDE: "E10047",
    REFUSED_BY_PARSER: "E13010",
    UNKNOWN_OPERATOR: "E13010",
    UNKNOWN_SHAPE: "E89999",
    UNKNOWN_SOC: "E10001",
    UNSUPPORTED_OPSET: "E13010",
}
"""atc's codes of findings that carry none themselves (inferred, but for the unknown operator)."""

_RULES = "ATC4"
_NO_KERNEL = "EZ3003"
"""Code of nodes that break a rule of the operator list: no kernel takes them (inferred)."""
_OF_NODES = {_NO_KERNEL, "E13010"}
"""Codes whose text names a node."""


def code_of(found: Diagnostic) -> str:
    """The code under which atc reports a finding."""
    if found.atc is not None:
        return found.atc.code
    if found.code.id.startswith(_RULES):
        return _NO_KERNEL
    return _CODES.get(found.code, NO_CODE)


def error_block(error: AtcError) -> Iterator[str]:
    """Yield the lines of the block for an error: its first finding, the others as a trace."""
    errors = [each for each in error.diagnostics if each.code.severity is Severity.ERROR]
    if isinstance(error, UnreadableLineError) or not errors:
        yield from unknown_error_block()
        return
    first = errors[0]
    others = [each for each in error.diagnostics if each is not first]
    yield f"{code_of(first)}: {_text(first)}"
    if first.help or first.code.remedy:
        yield f"{_INDENT}Solution: {spoken(first.help or first.code.remedy)}"
    if not others:
        return
    yield f"{_INDENT}TraceBack (most recent call last):"
    for each in others[:_MOST_LINES]:
        place = f" --> {each.place}" if each.place is not None and str(each.place) else ""
        yield f"{_INDENT}{code_of(each)}: {_text(each)}{place}"
    if len(others) > _MOST_LINES:
        yield f"{_INDENT}... and {len(others) - _MOST_LINES} more"


def unknown_error_block() -> Iterator[str]:
    """Yield the lines of the block for a failure that atc has no code for."""
    yield f"{NO_CODE}: Internal Error!"
    yield f"{_INDENT}No code was recorded for this failure; see the lines on standard error."


def _text(found: Diagnostic) -> str:
    """Text of a finding in the block; of a node, tools look for its name and type."""
    if found.atc is not None:
        return fault_text(found.atc)
    code, place = code_of(found), found.place
    if code in _OF_NODES and place is not None and place.op_type:
        name = place.node_name or f"at {place.node}"
        return f"{fault_text(AtcFault(code, (name, place.op_type)))}: {found.message}"
    return found.message
