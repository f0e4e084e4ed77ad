"""`atc-py atc`: atc's own command line."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import click

from atc_py.adapters.atc.console import Console
from atc_py.cli.console import print_diagnostics, print_error, print_line, progress
from atc_py.cli.guards import StdoutError
from atc_py.report.tables import clipped
from atc_py.system.memory_limit import require_own_memory
from atc_py.text.language import without_language


class _RawCommand(click.Command):
    """A command that gets its words as they are; atc reads them otherwise than click does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.params["words"] = without_language(args)
        return []


@click.command(cls=_RawCommand, add_help_option=False)
@click.argument("words", metavar="--model=FILE --framework=5 --output=NAME ...", nargs=-1)
@click.pass_context
def atc(context: click.Context, words: tuple[str, ...]) -> None:
    """Accept the command line of Huawei's atc, and print what atc prints.

    `alias atc='atc-py atc'` lets scripts for atc run unchanged. `atc-py atc --help` lists the
    options; docs/from-atc.md says how each is treated. --lang en or zh is an addition to atc's
    options: it chooses the language of hints, warnings and --help; lines that scripts read stay as
    atc prints them.

    Exit status: 0 done, 255 failed, as with atc; 130 interrupted (Ctrl-C), 143 terminated.
    """

    def say(line: str) -> None:
        print_line(clipped(line))

    def note(line: str) -> None:
        print_error(clipped(line))

    with progress(quiet=False) as on_stage:
        report = partial(print_diagnostics, as_json=False)
        status = _status(words, Console(say, note, report, on_stage))
    context.exit(status)


def _status(words: Sequence[str], console: Console) -> int:
    """Do what a command line says; return the exit status, which is that of atc for every failure.

    Bugs and missing memory are reported as by other commands, after atc's verdict.
    """
    from atc_py.adapters.atc.run import FAILED, run_atc, say_unknown_failure

    try:
        require_own_memory()
        status = run_atc(words, console)
        sys.stdout.flush()
    except Exception as error:  # noqa: BLE001  (scripts know atc's exit status alone)
        from atc_py.cli.failures import failure_status

        with suppress(StdoutError):
            say_unknown_failure(console)
        failure_status(error, as_json=False)
        return FAILED
    return status
