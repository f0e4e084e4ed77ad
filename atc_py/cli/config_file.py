"""The configuration file: defaults of options, by command.

It is the nearest `atc-py.toml`, or `pyproject.toml` with a table `[tool.atc-py]`, from the working
folder upward. Each table is named after a command and holds values for its options; the command line
and environment variables come before it.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from atc_py.diag import BAD_CONFIG, AtcError, Place, nearest
from atc_py.text import Text

_OWN, _SHARED = "atc-py.toml", "pyproject.toml"
_TABLE = "atc-py"
_MOST_BYTES = 1 << 20
_SAID = r"""^\s*(\[\s*)*["']?tool["']?\s*(=|\]|\.\s*["']?atc-py)"""
"""What a line of a shared file with the table begins with: the file is not parsed for a mere name."""

UNCONFIGURED = {"atc", "completion", "config", "explain"}
"""Commands that no table configures: `atc` takes atc's command line as it is."""

_COMMAND_LINE_ALONE = {"help", "json", "passes", "version"}
"""Options that a file cannot give: they say what one call prints."""

_RIVALS = ({"precision_mode", "precision_mode_v2"}, {"verbose", "quiet"}, {"form", "as_json"})
"""Parameters of which one that the command line gives overrides another of the file."""


class Config(NamedTuple):
    """A configuration file."""

    path: Path
    tables: Mapping[str, Any]  # its tables, by command


def find_config(folder: Path, commands: Sequence[str]) -> Config | None:
    """The configuration that holds in `folder` or the nearest one above it; None without any.

    Raises:
        AtcError: BAD_CONFIG for a file that is not TOML or names a command that does not exist;
            what reading a file raises.
    """
    for each in (folder, *folder.parents):
        tables = _tables(each / _OWN, shared=False)
        path = each / _OWN
        if tables is None:
            tables, path = _tables(each / _SHARED, shared=True), each / _SHARED
        if tables is not None:
            known = [name for name in commands if name not in UNCONFIGURED]
            for name, table in tables.items():
                _check_table(path, name, table, known)
            return Config(path, tables)
    return None


def configured(
    config: Config, command: click.Command, keys: Sequence[str], args: Sequence[str] = ()
) -> dict[str, Any]:
    """The values that the file gives for a command, by parameter, and by subcommand.

    Raises:
        AtcError: BAD_CONFIG for an option or a value that the command does not take.
    """
    table: Any = config.tables
    for key in keys:
        table = table.get(key, {})
    if isinstance(command, click.Group):
        return _of_group(config, command, keys, table, args)
    known = {key: param for param in command.params if (key := option_key(param))}
    found = {}
    for key, value in table.items():
        param = known.get(key.replace("_", "-"))
        place = Place(str(config.path), field=".".join((*keys, key)))
        if param is None:
            raise _unknown(
                "option",
                Text("{keys} has no option --{key}", keys=" ".join(keys), key=key),
                key,
                known,
                place,
            )
        found[param.name or ""] = _value(command, param, value, config.path.parent, place)
    return {name: value for name, value in found.items() if not _is_rival(command, name, args)}


def option_key(param: click.Parameter) -> str:
    """The name of an option in the file; empty for what a file cannot give."""
    if not isinstance(param, click.Option):
        return ""
    longs = [each.lstrip("-") for each in param.opts if each.startswith("--")]
    return "" if not longs or longs[0] in _COMMAND_LINE_ALONE else longs[0]


def is_inverse(param: click.Parameter) -> bool:
    """Tell whether a flag, such as --no-simulator, makes its parameter False."""
    return isinstance(param, click.Option) and param.is_flag and param.flag_value is False


def _tables(path: Path, *, shared: bool) -> Mapping[str, Any] | None:
    """The tables of a file; None where it is not there or not about atc-py."""
    from atc_py.system.input_files import read_text

    try:
        if not path.is_file():
            return None
    except OSError:
        return None
    try:
        text = read_text(path, _MOST_BYTES)
    except AtcError:
        if shared:  # another tool's file; nothing in it is known to be for atc-py
            return None
        raise
    if shared and (_TABLE not in text or not re.search(_SAID, text, re.MULTILINE)):
        return None
    document = _parsed(path, text)
    if not shared:
        return document
    tool = document.get("tool", {})
    found = tool.get(_TABLE) if isinstance(tool, dict) else None
    if found is not None and not isinstance(found, dict):
        raise BAD_CONFIG.error(Text("tool.atc-py is not a table"), place=Place(str(path)))
    return found


def _parsed(path: Path, text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document: dict[str, Any] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BAD_CONFIG.error(
            Text("this is not TOML: {error}", error=error), place=Place(str(path))
        ) from None
    return document


def _check_table(path: Path, name: str, table: object, known: Sequence[str]) -> None:
    place = Place(str(path), field=name)
    if name not in known:
        raise _unknown(
            "table",
            Text("no command {keys} takes a configuration", keys=repr(name)),
            name,
            known,
            place,
        )
    if not isinstance(table, dict):
        raise BAD_CONFIG.error(
            Text("{name} is not a table", name=name),
            place=place,
            help=Text("write [{name}] and options below it", name=name),
        )


def _of_group(
    config: Config, group: click.Group, keys: Sequence[str], table: Any, args: Sequence[str]
) -> dict[str, Any]:
    context = click.Context(group)
    names = group.list_commands(context)
    found = {}
    for name, inner in table.items():
        _check_table(config.path, name, inner, names)
        command = group.get_command(context, name)
        if command is not None:
            found[name] = configured(config, command, (*keys, name), args)
    return found


def _value(
    command: click.Command, param: click.Parameter, value: object, folder: Path, place: Place
) -> object:
    """A value as the option takes it; paths are relative to the file's folder."""
    if isinstance(param, click.Option) and param.is_flag:
        if not isinstance(value, bool):
            raise _bad_value(value, Text("true or false"), place)
        return value is not is_inverse(param)
    if isinstance(value, bool):
        value = "true" if value else "false"
    several = param.multiple if isinstance(param, click.Option) else False
    values = value if isinstance(value, list) else [value]
    if isinstance(value, list) and not several:
        raise _bad_value(value, Text("one value"), place)
    if not all(isinstance(each, str | int | float) for each in values):
        raise _bad_value(value, Text("text or a number"), place)
    texts = [str(each) for each in values]
    if isinstance(param.type, click.Path):
        texts = [str(folder / each) for each in texts]
    try:
        for text in texts:
            param.type.convert(text, param, click.Context(command))
    except click.BadParameter as error:
        raise BAD_CONFIG.error(Text(error.message), place=place) from None
    return texts if several else texts[0]


def _is_rival(command: click.Command, name: str, args: Sequence[str]) -> bool:
    rivals = {each for group in _RIVALS if name in group for each in group} - {name}
    options = {option for param in command.params if param.name in rivals for option in param.opts}
    return any(arg.partition("=")[0] in options for arg in args)


def _bad_value(value: object, wanted: str, place: Place) -> AtcError:
    return BAD_CONFIG.error(
        Text("the value must be {wanted}, found {value}", wanted=wanted, value=repr(value)),
        place=place,
    )


def _unknown(kind: str, message: Text, name: str, known: Any, place: Place) -> AtcError:
    near = nearest(name.replace("_", "-"), known, 1)
    listing = Text(f"{kind}s are {{known}}", known=", ".join(sorted(known)))
    guess = Text("did you mean {near}? ", near=near[0]) if near else ""
    return BAD_CONFIG.error(message, place=place, help=guess + listing)
