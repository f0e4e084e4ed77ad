"""The language of a command's text: --lang, else ATC_PY_LANG, else the locale; English else."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise

from atc_py.text import LANGUAGES, in_language

VARIABLE = "ATC_PY_LANG"
_LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")
"""The variables that decide a program's messages; the first that is set counts, as POSIX says."""

_spoken = [LANGUAGES[0]]


def language() -> str:
    """The language of this process's commands, one of LANGUAGES."""
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
    """The language that a command line asks for.

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
    """A command line without --lang and its value, for commands that pass it on."""
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
    """A text of atc-py in the language of the commands; one that has no Chinese stays."""
    return in_language(text, language())
