"""Lines in ais_bench's form, `[LEVEL] text` on standard output; refusals are lines and an error."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from atc_py.diag import AtcError


def info_line(text: str) -> None:
    """Print what was done."""
    _print("INFO", text)


def error_line(text: str) -> None:
    """Print what went wrong."""
    _print("ERROR", text)


def debug_line(text: str) -> None:
    """Print what only a search for faults needs."""
    _print("DEBUG", text)


def plain_line(text: str) -> None:
    """Print a line without a level."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def note_line(text: str) -> None:
    """Print to standard error what ais_bench does not have to say."""
    sys.stderr.write(f"atc-py: {text}\n")
    sys.stderr.flush()


def _print(level: str, text: str) -> None:
    """Print a line at once; other programs read them while the run goes on."""
    plain_line(f"[{level}] {text}")


def refused(*lines: str) -> RuntimeError:
    """Print lines of the log and return the error to raise, which says the first of them."""
    for line in lines:
        error_line(line)
    return RuntimeError(lines[0])


@contextmanager
def as_runtime_errors(*lines: str) -> Iterator[None]:
    """Turn diagnostics into RuntimeError; print `lines` of the log before their own."""
    try:
        yield
    except AtcError as error:
        found = [f"{each.code.id}: {each.message}" for each in error.diagnostics]
        for line in (*lines, *found):
            error_line(line)
        raise RuntimeError(found[0] if found else str(error)) from error
