"""The language of a command's text: --lang, else ATC_PY_LANG, else the locale; English else."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from atc_py.diag.words import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from atc_py.diag.diagnostic import Diagnostic

__all__ = [
    "VARIABLE",
    "in_language",
    "language",
    "speak",
    "speaking",
    "spoken",
    "spoken_diagnostic",
    "spoken_line",
    "spoken_parts",
    "wanted_language",
    "without_language",
]

VARIABLE = "ATC_PY_LANG"
_LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")
"""The variables that decide a program's messages; the first that is set counts, as POSIX says."""

_MOST_PARTS = 20
"""Parts of a text that are looked up one by one; what comes from a file may have very many."""

_spoken = [LANGUAGES[0]]


def language() -> str:
    """Return the language of this process's commands, one of LANGUAGES."""
    return _spoken[0]


def speak(chosen: str) -> None:
    """Let commands of this process speak a language; libraries' users get English."""
    _spoken[0] = chosen


@contextmanager
def speaking(chosen: str) -> Iterator[None]:
    """Let what runs inside speak a language, such as texts that are then given in both."""
    before = language()
    speak(chosen)
    try:
        yield
    finally:
        speak(before)


def wanted_language(args: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return the language that a command line asks for.

    The line is read before click reads it, so that a line that click refuses is answered in the
    language that it asks for. An unknown value is left to click.
    """
    own = args[: args.index("--")] if "--" in args else args
    given = [each.partition("=")[2] for each in own if each.startswith("--lang=")]
    given += [value for option, value in pairwise(own) if option == "--lang"]
    if given and given[-1] in LANGUAGES:
        return given[-1]
    named = environment.get(VARIABLE, "")
    if not named:
        named = next((environment[each] for each in _LOCALE if environment.get(each)), "")
    return next((each for each in LANGUAGES if named.lower().startswith(each)), LANGUAGES[0])


def without_language(args: Sequence[str]) -> tuple[str, ...]:
    """Return a command line without --lang and its value, for commands that pass it on."""
    kept: list[str] = []
    rest = iter(args)
    for each in rest:
        option, _, value = each.partition("=")
        if option != "--lang":
            kept.append(each)
        elif not value:
            next(rest, None)
    return tuple(kept)


def spoken(text: str) -> str:
    """Return a text of atc-py in the language of the commands; one that has no Chinese stays."""
    return in_language(text, language())


def in_language(text: str, chosen: str) -> str:
    """Return a text of atc-py in a language; one that has no Chinese stays."""
    if chosen == LANGUAGES[0]:
        return text
    from atc_py.diag.chinese import chinese

    return chinese(text)


def spoken_line(text: str) -> str:
    """Return a line in the language of the commands, with the blanks before it."""
    words = text.lstrip(" ")
    return text[: len(text) - len(words)] + spoken(words)


def spoken_parts(text: str) -> str:
    """Return a text, or else its parts between semicolons or commas, as `spoken` does."""
    whole = spoken(text)
    if whole != text or language() == LANGUAGES[0]:
        return whole
    for mark, written in (("; ", "；"), (", ", "，")):
        parts = text.split(mark, _MOST_PARTS)
        said = list(map(spoken_parts, parts)) if len(parts) > 1 else parts
        if said != parts:
            return written.join(said)
    return text


def spoken_diagnostic(found: Diagnostic) -> Diagnostic:
    """Return a finding with its message and help in the language of the commands."""
    help_ = spoken(found.help or found.code.remedy)
    return replace(found, message=spoken(found.message), help=help_)
