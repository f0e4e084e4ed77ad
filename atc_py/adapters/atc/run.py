"""A run of atc: its start line, its work, its verdict, its exit status."""

from collections.abc import Iterator, Sequence

from atc_py.adapters.atc.block import error_block, unknown_error_block
from atc_py.adapters.atc.console import Console
from atc_py.adapters.atc.options import GROUPS, OPTIONS, AtcOption, Treatment
from atc_py.adapters.atc.tokens import Flags, UnreadableLineError, parse_line
from atc_py.diag import OPTION_WITHOUT_EFFECT, AtcError, Diagnostic
from atc_py.report.wrapping import wrap
from atc_py.system.input_files import guarded_run
from atc_py.text import SEMICOLON, Text
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
        from atc_py.adapters.atc.dispatch import dispatch, prepare

        prepare(flags)
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
