"""A run of atc: its start line, its work, its verdict, its exit status."""

from collections.abc import Iterator, Sequence

from atc_py.adapters.atc.console import Console
from atc_py.adapters.atc.faults import NO_CODE, fault_text
from atc_py.adapters.atc.options import GROUPS, OPTIONS, AtcOption, Treatment
from atc_py.adapters.atc.tokens import Flags, UnreadableLineError, parse_line
from atc_py.diag import OPTION_WITHOUT_EFFECT, AtcError, AtcFault, Diagnostic, Severity
from atc_py.report.wrapping import wrap
from atc_py.system.input_files import guarded_run
from atc_py.text import COLON, SEMICOLON, Text
from atc_py.text.language import language, spoken

_WIDTH = 100
_INDENT = " " * 6
_MARKS = {Treatment.DOES: "", Treatment.NO_MEANING: "(no effect) ", Treatment.REFUSED: "(refused) "}


def usage_lines() -> Iterator[str]:
    """Yield the usage: every option of atc, and what it does here."""
    yield spoken("usage: atc-py atc <args>")
    yield spoken("generate offline model example:")
    yield "atc-py atc --model=./m.onnx --framework=5 --output=./m --soc_version=Ascend310P3"
    for title, rows in GROUPS.items():
        yield ""
        yield f"===== {spoken(title)} ====="
        for option in rows:
            if option.shown:
                yield from _option_lines(option)


def _option_lines(option: AtcOption) -> Iterator[str]:
    yield f"  --{option.name}"
    text = f"{spoken(_MARKS[option.effect])}{spoken(option.words)}"
    semicolon = SEMICOLON.in_language(language())
    if option.values:
        text += f"{semicolon}{', '.join(option.values)}"
    if option.default not in {"", "-1"}:
        text += f"{semicolon}{spoken(Text('default {value}', value=option.default))}"
    yield from wrap(text, _INDENT, _INDENT, _WIDTH)


START = "ATC start working now, please wait for a moment."
BEFORE_VERDICT = "..."
SUCCESS = "ATC run success, welcome to the next use."
FAILURE = "ATC run failed, Please check the detail log, Try 'atc --help' for more information"
FAILED = 255
"""Exit status of every failure [I]."""


@guarded_run()
def run_atc(words: Sequence[str], console: Console) -> int:
    """Do what a command line of atc says; return the exit status.

    Lines of the console are atc's [C], but for the texts of errors, which are ours.
    """
    console.say(START)
    try:
        flags = parse_line(words)
        if flags.wants_help:
            for line in usage_lines():
                console.say(line)
            return 0
        from atc_py.adapters.atc.dispatch import dispatch

        if flags["raw_ge_options"]:
            from atc_py.adapters.atc.raw_options import with_raw_options

            flags = with_raw_options(flags)
    except AtcError as error:
        if isinstance(error, UnreadableLineError):
            console.note(error.line)
        return _fail(error, console)
    try:
        dispatch(flags, words, console)
    except AtcError as error:
        console.say(BEFORE_VERDICT)
        return _fail(error, console)
    console.say(BEFORE_VERDICT)
    console.say(SUCCESS)
    idle = _idle_options(flags)
    found = [*console.warnings, *([idle] if idle is not None else [])]
    for each in found:
        console.say(f"{each.code.severity.value.upper()}: [{each.code.id}] {spoken(each.message)}")
    return 0


def _fail(error: AtcError, console: Console) -> int:
    console.say(FAILURE)
    for line in error_block(error):
        console.say(line)
    console.report(error.diagnostics)
    return FAILED


def say_unknown_failure(console: Console) -> int:
    """Print the verdict and block of a failure without a code; return the exit status."""
    console.say(BEFORE_VERDICT)
    console.say(FAILURE)
    for line in unknown_error_block():
        console.say(line)
    return FAILED


def _idle_options(flags: Flags) -> Diagnostic | None:
    names = [
        f"--{name}"
        for name, value in flags.given.items()
        if OPTIONS[name].effect is Treatment.NO_MEANING and value not in {"", OPTIONS[name].default}
    ]
    if not names:
        return None
    listed = ", ".join(names)
    return OPTION_WITHOUT_EFFECT.diagnostic(
        Text("{listed} has no effect in atc-py", listed=listed)
        if len(names) == 1
        else Text("{listed} have no effect in atc-py", listed=listed)
    )


_IN_BLOCK = " " * 8
_MOST_LINES = 100


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
    return found.code.atc or NO_CODE


def error_block(error: AtcError) -> Iterator[str]:
    """Yield the lines of the block for an error: its first finding, the others as a trace."""
    errors = [each for each in error.diagnostics if each.code.severity is Severity.ERROR]
    if not errors:
        yield from unknown_error_block()
        return
    first = errors[0]
    others = [each for each in error.diagnostics if each is not first]
    # A line that cannot be read records no code: the fallback stands before what is wrong with it.
    code = NO_CODE if isinstance(error, UnreadableLineError) else code_of(first)
    yield f"{code}: {spoken(_text(first))}"
    if first.help or first.code.remedy:
        yield f"{_IN_BLOCK}Solution: {spoken(first.help or first.code.remedy)}"
    if not others:
        return
    yield f"{_IN_BLOCK}TraceBack (most recent call last):"
    for each in others[:_MOST_LINES]:
        place = f" --> {each.place}" if each.place is not None and str(each.place) else ""
        yield f"{_IN_BLOCK}{code_of(each)}: {spoken(_text(each))}{place}"
    if len(others) > _MOST_LINES:
        yield f"{_IN_BLOCK}... and {len(others) - _MOST_LINES} more"


def unknown_error_block() -> Iterator[str]:
    """Yield the lines of the block for a failure that atc has no code for."""
    yield f"{NO_CODE}: Internal Error!"
    yield f"{_IN_BLOCK}No code was recorded for this failure; see the lines on standard error."


def _text(found: Diagnostic) -> str:
    """Text of a finding in the block; of a node, tools look for its name and type."""
    if found.atc is not None and (text := fault_text(found.atc)):
        return text
    code, place = code_of(found), found.place
    if code in _OF_NODES and place is not None and place.op_type:
        name = place.node_name or f"at {place.node}"
        return fault_text(AtcFault(code, (name, place.op_type))) + COLON + found.message
    return found.message
