"""`atc-py atc`: atc's own command line."""

from __future__ import annotations

import click

from atc_py.cli.console import print_diagnostics, print_error, print_line, progress

__all__ = ["atc"]


class _RawCommand(click.Command):
    """A command that gets its words as they are; atc reads them otherwise than click does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take all words."""
        ctx.params["words"] = tuple(args)
        return []


@click.command(cls=_RawCommand, add_help_option=False)
@click.argument("words", metavar="--model=FILE --framework=5 --output=NAME ...", nargs=-1)
@click.pass_context
def atc(context: click.Context, words: tuple[str, ...]) -> None:
    """Take atc's own command line, as atc reads it, with atc's console lines.

    `alias atc='atc-py atc'` lets scripts for atc run unchanged. `atc-py atc --help` lists the
    options; docs/from-atc.md says what becomes of each.

    Exit status: 0 done, 255 failed, as with atc; 70 a bug in atc-py.
    """
    from atc_py.atc.console import Console
    from atc_py.atc.run import run_atc
    from atc_py.report.escape import clipped
    from atc_py.system.memory_limit import limited_memory, require_own_memory

    require_own_memory()
    context.with_resource(limited_memory(None))

    def say(line: str) -> None:
        print_line(clipped(line))

    def note(line: str) -> None:
        print_error(clipped(line))

    with progress(quiet=False) as on_stage:
        console = Console(
            say, note, lambda found: print_diagnostics(found, as_json=False), on_stage
        )
        status = run_atc(words, console)
    context.exit(status)
