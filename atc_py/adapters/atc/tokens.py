"""The words of a command line, as atc reads them: dashes made alike, options taken as GNU getopt does.

A dash before two or more letters is as good as two; from the fifth character to the first `=`,
dashes are underscores; this goes for values, too [C]. Names may be cut short while they are
unambiguous.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from atc_py.adapters.atc.faults import atc_error, invalid_value
from atc_py.adapters.atc.options import OPTIONS, AtcOption, ValueKind
from atc_py.diag import BAD_OPTION, AtcError, nearest
from atc_py.text import Text

_FIXED = len("--ab")
"""Characters of a word that keep their dashes."""

_TRUE = frozenset({"1", "t", "true", "y", "yes"})
_FALSE = frozenset({"0", "f", "false", "n", "no"})

_SUPPORT = {
    "framework": "0(Caffe) or 1(MindSpore) or 3(TensorFlow) or 5(Onnx)",
}
"""What atc names as the values of an option besides its list."""


class UnreadableLineError(AtcError):
    """A word that is no option, or lacks its value; atc records no code for it.

    Attributes:
        line: what atc prints to standard error.
    """

    def __init__(self, line: str, message: Text, help_: Text) -> None:
        super().__init__(BAD_OPTION.diagnostic(message, help=help_))
        self.line = line

    def __reduce__(self) -> tuple[type[UnreadableLineError], tuple[str, str, str]]:  # type: ignore[override]
        """Constructor and arguments for another process."""
        found = self.diagnostics[0]
        return type(self), (self.line, found.message, found.help or "")


@dataclass(frozen=True, slots=True)
class Flags:
    """The options of a command line."""

    # values by name, of those that the line has; the last one counts
    given: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        """The value of an option, its default where it was not given."""
        return self.given.get(name, OPTIONS[name].default)

    def __contains__(self, name: str) -> bool:
        return name in self.given

    @property
    def wants_help(self) -> bool:
        """True if the line asks for the usage."""
        return any(self.given.get(name) == "true" for name in ("help", "h"))

    @property
    def gears(self) -> tuple[str, ...]:
        """Names of the options on gears that have a value."""
        names = ("dynamic_batch_size", "dynamic_image_size", "dynamic_dims")
        return tuple(name for name in names if self[name])


def normal_word(word: str) -> str:
    """A word with its dashes as atc makes them."""
    if re.match(r"-[A-Za-z]{2}", word):
        word = f"-{word}"
    if not re.match(r"--[A-Za-z]{2}", word):
        return word
    name, equals, value = word[_FIXED:].partition("=")
    return f"{word[:_FIXED]}{name.replace('-', '_')}{equals}{value}"


def parse_line(words: Sequence[str]) -> Flags:
    """The options that `words` give.

    Raises:
        UnreadableLineError: a word is no option of atc, or an option has no value.
        AtcError: a value is none of its option's list; nothing after it is looked at.
    """
    flags = Flags()
    rest = [normal_word(word) for word in words]
    left: list[str] = []
    while rest:
        word = rest.pop(0)
        if word == "--":
            left += rest
            break
        if word == "-h":
            flags.given["help"] = "true"
        elif word.startswith("--"):
            _take(word, rest, flags)
        elif word.startswith("-") and word != "-":
            raise _unknown(word.lstrip("-"))
        else:
            left.append(word)
        if flags.wants_help:
            return flags
    if left:
        raise UnreadableLineError(
            f"ERROR: Non-option parameter: {left[0]}",
            Text("{left} belongs to no option", left=repr(left[0])),
            Text("quote values with blanks or `;` for the shell, and begin options with `--`"),
        )
    return flags


def _take(word: str, rest: list[str], flags: Flags) -> None:
    """Put the option that `word` begins into `flags`; its value may be the first of `rest`."""
    name, equals, value = word.removeprefix("--").partition("=")
    option = _find(name)
    if option.kind is ValueKind.SWITCH:
        flags.given[option.name] = _switched(option, value if equals else "true")
        return
    if not equals:
        if not rest:
            raise UnreadableLineError(
                f"ERROR: flag '--{option.name}' is missing its argument; flag description: "
                f"{option.words}",
                Text("--{a} has no value", a=option.name),
                Text("write --{option}=VALUE", option=option.name),
            )
        value = rest.pop(0)
    flags.given[option.name] = checked_value(option, value)


def checked_value(option: AtcOption, value: str) -> str:
    """The value of an option as parsing leaves it."""
    if option.kind is ValueKind.SWITCH:
        return _switched(option, value)
    if option.values and not option.late and value not in option.values:
        raise refused_value(option, value)
    return value


def _find(name: str) -> AtcOption:
    """The option called `name`, or the only one whose name begins so."""
    if name in OPTIONS:
        return OPTIONS[name]
    found = [each for each in OPTIONS if each.startswith(name)] if name else []
    if len(found) == 1:
        return OPTIONS[found[0]]
    raise _unknown(name, found)


def _unknown(name: str, several: Sequence[str] = ()) -> UnreadableLineError:
    if several:
        message = Text(
            "--{name} may be any of {several}",
            name=name,
            several=", ".join(f"--{each}" for each in several),
        )
        help_ = Text("write the whole name")
    else:
        message = Text("atc has no option --{name}", name=name)
        near = ", ".join(f"--{each}" for each in nearest(name, OPTIONS, 3))
        help_ = (
            Text("the nearest names are {near}", near=near)
            if near
            else Text("`atc-py atc --help` lists them")
        )
    return UnreadableLineError(f"ERROR: unknown command line flag '{name}'", message, help_)


def _switched(option: AtcOption, value: str) -> str:
    if value.lower() in _TRUE:
        return "true"
    if value.lower() in _FALSE:
        return "false"
    raise invalid_value(
        option.name,
        value,
        "it is neither true nor false",
        Text("write --{option} alone, or with true or false", option=option.name),
    )


def refused_value(option: AtcOption, value: str) -> AtcError:
    """That `value` is none of the option's list, under the option's own code."""
    name = option.name
    if option.code == "E10007":
        arguments: tuple[str, ...] = (name, _SUPPORT[name])
    elif option.code == "E10001":
        listed = "".join(f"[{each}] " for each in option.values)
        arguments = (value, f"--{name}", f"not within the range of values: {listed}")
    else:
        arguments = (value, name)
    return atc_error(
        option.code,
        *arguments,
        option=name,
        help=Text("values are {values}", values=", ".join(option.values)),
    )
