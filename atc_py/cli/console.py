"""Printing: rich tables on a terminal, plain lines elsewhere, JSON if requested."""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import click

from atc_py.diag import AtcError, Diagnostic, ExitCode
from atc_py.report.tables import Table, plain_lines, visible
from atc_py.system.json_text import escaped, finite
from atc_py.text import Text
from atc_py.text.language import language, spoken

_HEAD = re.compile(r"^(?:atc-py: )?(?P<level>[\w ]+)\[ATC\d{4}(?: [\w-]+)?\]", re.MULTILINE)
"""The beginning of a finding: `error[ATC2001 file-not-found]`."""

_RED, _YELLOW, _CYAN = "1;31", "1;33", "36"
_STYLES = {
    Text("error", context="level"): _RED,
    Text("warning"): _YELLOW,
    Text("unknown"): _YELLOW,
    Text("parser"): _YELLOW,
    Text("list"): _YELLOW,
    Text("accuracy"): _YELLOW,
    Text("rewrite"): _CYAN,
    Text("aicpu"): _CYAN,
    Text("note"): _CYAN,
}
"""Styles by level, as reports word it; a test compares them with the levels."""


def colored(text: str, stream: TextIO) -> str:
    """`text` with the head of each finding in color, where `stream` wants color.

    Nothing else of it is changed, so names from files have no part in it.
    """
    if "[ATC" not in text or not wants_color(stream):
        return text
    return _HEAD.sub(_styled, text)


def wants_color(stream: TextIO) -> bool:
    """True if what is written to `stream` may have color.

    NO_COLOR that is not empty forbids it, FORCE_COLOR that is not empty asks for it; otherwise a
    terminal has it that is not `dumb`.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _styled(head: re.Match[str]) -> str:
    style = next((style for text, style in _STYLES.items() if spoken(text) == head["level"]), None)
    return head[0] if style is None else f"\x1b[{style}m{head[0]}\x1b[0m"


PACE = 5.0
"""Seconds between two lines of progress where there is no terminal."""

_silence: list[bool] = []
"""Not empty while lines and tables are left out."""

_MOST_FINDINGS = 100
"""Findings that are printed in text; a hostile model may have as many as it has nodes."""


def print_line(text: str = "") -> None:
    """Print one line to standard output, a severity at its start in color where that is wanted.

    Raises:
        StdoutError: the system refuses it, though there is a reader.
    """
    if not _silence:
        _echo(text, err=False)


def say(*texts: str) -> None:
    """Print texts in the language of the commands, each as a line in which no name is a command."""
    for text in texts:
        print_line(visible(spoken(text)))


def print_report(text: str, form: str) -> None:
    """Print a report: text as lines, other formats unchanged."""
    if form == "text":
        print_blocks(text.splitlines())
    else:
        print_bytes(text.encode("utf-8"))


def print_bytes(data: bytes) -> None:
    """Write bytes to standard output unchanged: their format says how they are encoded.

    Raises:
        StdoutError: the system refuses them, though there is a reader.
    """
    # A program that calls `main` may have put a stream in place that takes text alone.
    click.echo(data if hasattr(sys.stdout, "buffer") else data.decode("utf-8"), nl=False)


def deliver(
    form: str,
    path: Path | None,
    rendered: Callable[[], str],
    *,
    as_json: bool,
    whole: Callable[[], None],
    brief: Callable[[], None],
) -> None:
    """Print a report, or write it and print where it is; as JSON it is printed in any case.

    `whole` prints it as text, `brief` what is printed of one that goes to a file.
    """
    from atc_py.system.atomic_files import write_files

    if path is None and form == "text":
        whole()
        return
    text = rendered()
    if path is not None:
        write_files({path: text})
    if path is None or as_json:
        print_bytes(text.encode("utf-8"))
        return
    brief()
    say(Text("report: {path}", path=path))


def print_error(text: str) -> None:
    """Print one line to standard error, a severity at its start in color where that is wanted."""
    _echo(text, err=True)


def print_json(value: object) -> None:
    """Print a JSON document to standard output, escaped where its encoding lacks a character.

    Numbers that are infinite or NaN become null.
    """
    value = finite(value)
    text = escaped(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2, allow_nan=False)
    click.echo(text)


def print_blocks(blocks: Iterable[str | Table]) -> None:
    for block in blocks:
        if isinstance(block, str):
            print_line(block)
        else:
            print_tables([block])


@contextmanager
def silenced() -> Iterator[None]:
    """Print no line, table or progress in the block; errors and documents are printed."""
    _silence.append(True)
    try:
        yield
    finally:
        _silence.pop()


def print_tables(tables: Iterable[Table], *, err: bool = False, narrow: bool = False) -> None:
    """Print tables with an empty line between them, to standard output or standard error.

    With `narrow` texts are shortened in the middle where a terminal is too narrow for them.
    """
    if _silence and not err:
        return
    for position, table in enumerate(tables):
        if position:
            click.echo(err=err)
        _print_table(table, err=err, narrow=narrow)


def print_diagnostics(diagnostics: Iterable[Diagnostic], *, as_json: bool) -> None:
    """Print findings to standard error, the first of very many; with JSON, all to stdout."""
    from atc_py.report.diagnostics import diagnostic_text

    findings = list(diagnostics)
    if as_json:
        print_json({"diagnostics": [each.in_language(language()).as_json() for each in findings]})
        return
    for found in findings[:_MOST_FINDINGS]:
        print_error(diagnostic_text(found))
    if len(findings) > _MOST_FINDINGS:
        print_error(
            spoken(
                Text("... and {count} more; --json names all", count=len(findings) - _MOST_FINDINGS)
            )
        )


def print_refusal(error: AtcError, what: str, *, as_json: bool) -> int:
    """Print the findings that refused a model, and a closing line such as `not converted: 6 errors`.

    Returns:
        The exit status.
    """
    if as_json:
        raise error
    from atc_py.check.findings_builder import RulesBrokenError
    from atc_py.report.model.conversion import closing_line, refusal_lines

    if isinstance(error, RulesBrokenError):
        for line in refusal_lines(error.check, error.missing):
            print_error(line)
    else:
        print_diagnostics(error.diagnostics, as_json=False)
    print_error("")
    print_error(closing_line(error.diagnostics, what))
    return int(error.exit_code)


def show_help_of_bare_group(context: click.Context) -> None:
    """Print the help of a group called without a command, and end as a wrong call."""
    if context.invoked_subcommand is None:
        print_line(context.get_help())
        context.exit(ExitCode.USAGE)


@contextmanager
def progress(*, quiet: bool, lines: bool = False) -> Iterator[Callable[[str], None]]:
    """Give a function that shows the current stage on standard error.

    On a terminal that is a line, once the work takes more than 2 seconds.

    Args:
        quiet: show nothing.
        lines: if standard error is not a terminal, print stages as lines, PACE seconds apart at
            least, so that the log of long work shows that it goes on; otherwise it shows nothing.
    """
    quiet = quiet or bool(_silence)
    if not quiet and lines and not sys.stderr.isatty():
        yield _paced_printer(time.monotonic)
        return
    if quiet or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda _stage: None
        return
    from atc_py.cli.progress import shown_progress

    with shown_progress() as shown:
        yield shown


def _paced_printer(clock: Callable[[], float]) -> Callable[[str], None]:
    """Give a function that prints a stage when the last line is PACE seconds old."""
    from atc_py.cli.progress import stage_text

    last = clock()

    def show(stage: str) -> None:
        nonlocal last
        if clock() - last >= PACE:
            last = clock()
            print_error(spoken(stage_text(stage)))

    return show


def _echo(text: str, *, err: bool) -> None:
    """Print text; click removes codes for terminals unless they are ours."""
    shown = colored(text, sys.stderr if err else sys.stdout)
    click.echo(shown, err=err, color=None if shown == text else True)


def _print_table(table: Table, *, err: bool, narrow: bool) -> None:
    if not (sys.stderr if err else sys.stdout).isatty():
        for line in plain_lines(table):
            click.echo(line, err=err)
        return
    from atc_py.cli.drawn_tables import draw_table

    draw_table(table.spoken().visible(), err=err, narrow=narrow)
