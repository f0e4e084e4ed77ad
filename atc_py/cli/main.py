"""The `atc-py` command: the group of commands, and the handling of errors."""

from __future__ import annotations

import signal
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

import click

from atc_py import __version__
from atc_py.cli.aipp import aipp
from atc_py.cli.atc import atc
from atc_py.cli.check import check
from atc_py.cli.compare import compare
from atc_py.cli.console import print_diagnostics, print_error, show_help_of_bare_group
from atc_py.cli.convert import convert
from atc_py.cli.exec import program
from atc_py.cli.exhaustion import exhaustion
from atc_py.cli.explain import explain
from atc_py.cli.export import export
from atc_py.cli.fix import fix
from atc_py.cli.info import info
from atc_py.cli.kernels import kernels
from atc_py.cli.ops import ops
from atc_py.cli.profile import profile
from atc_py.cli.quantize import quantize
from atc_py.cli.run import run
from atc_py.cli.signals import SignalledError, signals_as_exceptions
from atc_py.cli.streams import StdoutError, guarded_streams
from atc_py.diag import AtcError, ExitCode
from atc_py.diag.codes import BAD_OPTION, CANNOT_WRITE, INTERNAL, MEMORY_LIMIT
from atc_py.system.memory_limit import RAISE_SYSTEM_LIMITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.diag import Diagnostic

__all__ = ["cli", "main"]


class _Commands(click.Group):
    """The group of commands."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command that was given.

        A broken pipe cannot be a standard stream's here. Click takes each for one, and would end
        the command without a word.
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise RuntimeError(f"a pipe to another process broke: {error}") from error


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name="atc-py")
@click.pass_context
def cli(context: click.Context) -> None:
    """Compile ONNX models for Ascend NPUs and run them on a simulated one.

    Exit status: 0 done, 1 the model breaks a rule, 2 the command was called wrongly or is
    missing, 3 a file cannot be read or written, 4 the run on the device failed or its outputs
    are not the expected ones, 70 a bug in atc-py, 130 interrupted (Ctrl-C), 143 terminated; output
    files are never left partially written.
    """
    show_help_of_bare_group(context)


for _command in (
    convert, check, compare, run, program, export, info, kernels, profile, quantize, fix, aipp,
    ops, explain, atc,
):  # fmt: skip
    cli.add_command(_command)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and exit; errors become coded diagnostics, never tracebacks."""
    given = list(sys.argv[1:] if args is None else args)
    with guarded_streams():
        try:
            with signals_as_exceptions():
                status = _guarded_status(given)
        except (SignalledError, KeyboardInterrupt, click.Abort) as error:
            status = _signal_status(error)
    sys.exit(status)


def _guarded_status(args: list[str]) -> int:
    """Return the exit status of the command line `args`."""
    as_json = _wants_json(args)
    try:
        status = cli.main(args, prog_name="atc-py", standalone_mode=False)
        sys.stdout.flush()
    except (AtcError, click.ClickException) as error:
        return _print_refusal(error, as_json=as_json)
    except click.Abort:  # click's word for KeyboardInterrupt
        raise
    except StdoutError as error:
        return _report_unwritten(error)
    except Exception as error:  # noqa: BLE001  (the last net: a bug must not show a traceback)
        return _failure_status(error, as_json=as_json)
    return status if isinstance(status, int) else ExitCode.DONE


def _signal_status(error: BaseException) -> int:
    """Return the exit status of a command that a signal ended."""
    signalled = error if isinstance(error, SignalledError) else SignalledError(signal.SIGINT)
    print_error(f"{signalled}; no output file is left partially written")
    return signalled.status


def _wants_json(args: Sequence[str]) -> bool:
    """Return True if the command line asks for JSON, in either spelling.

    Standard output of `exec` is the program's, and so may be a --json in its line; that of `atc` is
    a file's name.
    """
    if {program.name, atc.name}.intersection(args[:1]):
        return False
    pairs = pairwise(args)
    return "--json" in args or "--format=json" in args or ("--format", "json") in pairs


def _print_refusal(error: AtcError | click.ClickException, *, as_json: bool) -> int:
    """Print why the command was refused; return the exit status."""
    if isinstance(error, AtcError):
        return _report(error.diagnostics, error.exit_code, as_json=as_json)
    return _report([_usage_finding(error)], ExitCode.USAGE, as_json=as_json)


def _report_unwritten(error: StdoutError) -> int:
    """Report that standard output could not be written, and return the exit status."""
    finding = CANNOT_WRITE.diagnostic(
        f"cannot write standard output: {error.strerror or error}",
        help="free space, or redirect the output elsewhere",
    )
    return _report([finding], ExitCode.FILE, as_json=False)


def _report(findings: Sequence[Diagnostic], code: ExitCode, *, as_json: bool) -> int:
    """Print the findings, as text if JSON cannot be written; return the exit status."""
    try:
        print_diagnostics(findings, as_json=as_json)
        sys.stdout.flush()
    except StdoutError:
        if as_json:
            print_diagnostics(findings, as_json=False)
    return int(code)


def _usage_finding(error: click.ClickException) -> Diagnostic:
    """Return the finding for a command line that click refused."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "atc-py COMMAND"
    help_ = f"`{path} --help` shows the options"
    # click breaks some messages into lines for its own layout.
    return BAD_OPTION.diagnostic(" ".join(error.format_message().split()), help=help_)


def _failure_status(error: Exception, *, as_json: bool) -> int:
    """Return the exit status after an unexpected error or a failure of the system."""
    ran_out = exhaustion(error)
    if ran_out is None:
        return _report([_bug(error)], ExitCode.BUG, as_json=as_json)
    finding = MEMORY_LIMIT.diagnostic(ran_out, help=RAISE_SYSTEM_LIMITS)
    return _report([finding], ExitCode.FILE, as_json=as_json)


def _bug(error: Exception) -> Diagnostic:
    """Build the finding for an unexpected exception; the traceback goes to a log file."""
    from atc_py.cli.bug_log import write_bug_log

    where = write_bug_log(error)
    return INTERNAL.diagnostic(
        f"{type(error).__name__}: {error}",
        help=f"this is a bug in atc-py; please report it with {where}",
    )
