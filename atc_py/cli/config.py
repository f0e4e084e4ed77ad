"""`atc-py config`: which defaults hold, and from where."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from atc_py.cli.config_file import (
    UNCONFIGURED,
    Config,
    configured,
    find_config,
    is_inverse,
    option_key,
)
from atc_py.cli.console import print_json, print_line, print_tables
from atc_py.cli.options import AS_JSON
from atc_py.report.tables import Table, visible
from atc_py.text import Text
from atc_py.text.language import spoken


class _Setting(NamedTuple):
    """A default of an option: its command, its value, and the source of that."""

    command: str
    option: str
    value: Any
    source: str


def _complete(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    from atc_py.cli.main import cli

    names = [name for name in cli.list_commands(context) if name not in UNCONFIGURED]
    return [name for name in names if name.startswith(incomplete)]


@click.command()
@click.argument("command", nargs=-1, shell_complete=_complete)
@AS_JSON
@click.pass_context
def config(context: click.Context, *, command: tuple[str, ...], as_json: bool) -> None:
    """Show which options the configuration file sets, or the values in effect for COMMAND.

    The file is the nearest atc-py.toml, or pyproject.toml with a table [tool.atc-py], from the
    working folder upward. Its tables are named after commands: [convert] and [ops.list] in
    atc-py.toml are [tool.atc-py.convert] and [tool.atc-py.ops.list] in pyproject.toml. Options are
    written as on the command line, without leading dashes: soc = "Ascend310P3". Paths are relative
    to the file's folder. The command line takes precedence, then environment variables, then the
    file.
    """
    from atc_py.cli.main import cli

    names = [name for name in cli.list_commands(context) if name not in UNCONFIGURED]
    found = find_config(Path.cwd(), names)
    wanted = [command] if command else [(name,) for name in (found.tables if found else ())]
    settings = [
        each
        for keys in wanted
        for each in _settings(cli, keys, found)
        if command or each.source not in {"default", "not set"}
    ]
    if as_json:
        print_json(
            {
                "file": None if found is None else str(found.path),
                "settings": [each._asdict() for each in settings],
            }
        )
        return
    _show(found, settings)


def _settings(cli: click.Group, keys: Sequence[str], found: Config | None) -> Iterator[_Setting]:
    command = _command_of(cli, keys)
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from _settings(cli, (*keys, name), found)
        if found is not None:
            configured(found, command, keys)  # refuses unknown names of commands
        return
    given = {} if found is None else configured(found, command, keys)
    context = click.Context(command)
    for param in command.params:
        key = option_key(param)
        if not key:
            continue
        variable = next((each for each in _variables(param) if os.environ.get(each)), None)
        value, source = param.get_default(context), "default"
        if variable is not None:
            value, source = os.environ[variable], variable
        elif param.name in given and found is not None:
            value, source = given[param.name], str(found.path)
        elif not isinstance(value, str | int | float | tuple) or value in {"", ()}:
            value, source = None, "not set"  # click has a mark of its own for this, too
        shown = value is not True if is_inverse(param) and isinstance(value, bool) else value
        yield _Setting(" ".join(keys), key, shown, source)


def _command_of(cli: click.Group, keys: Sequence[str]) -> click.Command:
    command: click.Command | None = cli
    for key in keys:
        inner = (
            command.get_command(click.Context(command), key)
            if isinstance(command, click.Group)
            else None
        )
        command = inner
    if command is None or keys[0] in UNCONFIGURED:
        raise click.UsageError(
            Text("no command {keys} takes a configuration", keys=repr(" ".join(keys)))
        )
    return command


def _variables(param: click.Parameter) -> Sequence[str]:
    names = param.envvar
    return [] if names is None else [names] if isinstance(names, str) else names


def _show(found: Config | None, settings: Sequence[_Setting]) -> None:
    if found is None:
        print_line(
            spoken(
                "no configuration file: no atc-py.toml, and no pyproject.toml with [tool.atc-py], in "
                "this folder or above"
            )
        )
    else:
        print_line(visible(spoken(Text("configuration file: {path}", path=found.path))))
    if not settings:
        return
    rows = tuple(
        (each.command, f"--{each.option}", _text(each.value), spoken(each.source))
        for each in settings
    )
    print_line()
    print_tables([Table("", ("command", "option", "value", "from"), rows)])


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)
