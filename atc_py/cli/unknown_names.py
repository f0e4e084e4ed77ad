"""Hints for an option or a command that does not exist: a near name, or that it is atc's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from atc_py.diag import BAD_OPTION, AtcError, did_you_mean, nearest
from atc_py.text import Text

if TYPE_CHECKING:
    import click


_LIKENESS = 0.75
"""Likeness from which a name is worth a suggestion; `framework` is 0.5 like `max-memory`."""

_DATA = {"--input": "--data", "-i": "--data", "--data": "--input"}
"""Words for data: one feed, and samples; a command that takes one of them names it."""

_PREFIX = 3
"""Letters from which the beginning of a name is worth a suggestion."""


def no_such_command(name: str, group: str, known: Sequence[str]) -> AtcError:
    listing = Text("`{group} --help` lists the commands", group=group)
    return BAD_OPTION.error(
        Text("No such command {name}.", name=repr(name)),
        help=did_you_mean(nearest(name.lower(), known, 2), listing),
    )


def unknown_option(error: click.NoSuchOption) -> Text:
    """The message for the option, without click's own suggestions."""
    return Text("no such option: {option_name}", option_name=error.option_name)


def unknown_option_hint(error: click.NoSuchOption) -> Text:
    """Hint: the nearest options, then those of the command or of atc."""
    from atc_py.adapters.atc.options import OPTIONS

    context = error.ctx
    path = context.command_path if context else "atc-py COMMAND"
    listing = Text("`{path} --help` shows the options", path=path)
    near, name = _near(error), error.option_name.lstrip("-").replace("-", "_")
    if (data := _DATA.get(error.option_name)) and data in _options(error):
        near = [data]
    if not near and name in OPTIONS:
        return Text(
            "--{name} is an option of atc; `atc-py atc` takes atc's command line; {listing}",
            name=name,
            listing=listing,
        )
    return did_you_mean(near, listing)


def _near(error: click.NoSuchOption) -> list[str]:
    """The options that are spelled like the unknown one, two at most."""
    known: dict[str, str] = {}
    for param in error.ctx.command.params if error.ctx else ():
        long = [each for each in (*param.opts, *param.secondary_opts) if each.startswith("--")]
        for option in long:
            # Of several spellings the first is suggested; `--no-x` is none of `--x`.
            known[_folded(option)] = option if option in param.secondary_opts else long[0]
    name = _folded(error.option_name)
    begun = [each for each in known if len(name) >= _PREFIX and each.startswith(name)]
    found = begun or nearest(name, known, 2, _LIKENESS)
    return list(dict.fromkeys(known[each] for each in found))[:2]


def _options(error: click.NoSuchOption) -> set[str]:
    params = error.ctx.command.params if error.ctx else ()
    return {option for param in params for option in param.opts}


def _folded(option: str) -> str:
    return option.lstrip("-").replace("_", "-").casefold()
