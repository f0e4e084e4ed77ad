"""Lines in ais_bench's form, `[LEVEL] text` on standard output."""

import sys


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
