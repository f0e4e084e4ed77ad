"""What a command that failed prints: coded diagnostics, never tracebacks."""

import os
import re
import sys
from collections.abc import Sequence

import click

from atc_py import __version__
from atc_py.cli.console import print_diagnostics
from atc_py.cli.guards import StdoutError
from atc_py.diag import BAD_OPTION, CANNOT_WRITE, INTERNAL, AtcError, Diagnostic, ExitCode
from atc_py.system.memory_limit import exhausted
from atc_py.text import Text, os_reason, verbatim


def failure_status(error: Exception, *, as_json: bool, command: str = "COMMAND") -> int:
    """Print why a command failed; return the exit status."""
    if isinstance(error, AtcError):
        return _report(error.diagnostics, error.exit_code, as_json=as_json)
    if isinstance(error, click.ClickException):
        return _report([_usage_finding(error, command)], ExitCode.USAGE, as_json=as_json)
    if isinstance(error, StdoutError):
        finding = CANNOT_WRITE.diagnostic(
            Text("cannot write standard output: {strerror}", strerror=os_reason(error)),
            help=Text("free space, or redirect the output elsewhere"),
        )
        return _report([finding], ExitCode.FILE, as_json=False)
    ran_out = exhausted(error)
    if ran_out is None:
        return _report([_bug(error)], ExitCode.BUG, as_json=as_json)
    return _report(ran_out.diagnostics, ran_out.exit_code, as_json=as_json)


def _report(findings: Sequence[Diagnostic], code: ExitCode, *, as_json: bool) -> int:
    """Print the findings, as text if JSON cannot be written; return the exit status."""
    try:
        print_diagnostics(findings, as_json=as_json)
        sys.stdout.flush()
    except StdoutError:
        if as_json:
            print_diagnostics(findings, as_json=False)
    return int(code)


def _usage_finding(error: click.ClickException, command: str) -> Diagnostic:
    if isinstance(error, click.NoSuchOption):
        from atc_py.cli.unknown_names import unknown_option, unknown_option_hint

        return BAD_OPTION.diagnostic(unknown_option(error), help=unknown_option_hint(error))
    context = getattr(error, "ctx", None)
    path = context.command_path if context else f"atc-py {command}"
    help_ = Text("`{path} --help` shows the options", path=path)
    from atc_py.cli.click_texts import missing_parameter, one_line

    message = one_line(error.format_message())
    if isinstance(error, click.MissingParameter):
        message = missing_parameter(message)
    if not isinstance(message, Text):
        # click names the range where the text is no number at all.
        message = re.sub(r"(?<=is not a valid )(\w+) range\.$", r"\1.", message)
    return BAD_OPTION.diagnostic(Text(message), help=help_)


def _bug(error: Exception) -> Diagnostic:
    where = write_bug_log(error)
    return INTERNAL.diagnostic(
        verbatim(f"{type(error).__name__}: {error}"),
        help=Text("this is a bug in atc-py; please report it with {where}", where=where),
    )


def write_bug_log(error: Exception) -> str:
    """Write the traceback to a temporary file; return its path, or a note on failure."""
    import platform
    import tempfile
    import traceback

    text = "".join(traceback.format_exception(error))
    head = f"atc-py {__version__}, Python {sys.version}, {platform.platform()}\n{sys.argv}\n\n"
    try:
        handle, path = tempfile.mkstemp(prefix="atc-py-", suffix=".log")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(head + text)
    except OSError as failure:
        return Text(
            "the traceback (no log could be written: {strerror})", strerror=os_reason(failure)
        )
    return path
