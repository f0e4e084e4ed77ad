"""Groups of commands, whose help is in their language, and which refuse options given twice.

Help has click's own layout, with lines cut by columns in Chinese.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from atc_py.text import COLON, LANGUAGES, SEMICOLON, Text
from atc_py.text.language import language, speak, spoken

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_EXTRAS = re.compile(r"(?P<help>.*?)(?:  |^)\[(?P<extras>[^\[\]]*)\]", re.DOTALL)
"""What click appends to an option's help: `[default: sim]`."""

_LEAST = 10
"""Columns that text has at least, however narrow the terminal is."""


class SpokenFormatter(click.HelpFormatter):
    """A writer of help pages whose texts are those of the language of the commands."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(prog, args, prefix or spoken("Usage: "))

    def write_heading(self, heading: str) -> None:
        if _is_english():
            super().write_heading(heading)
        else:
            self.write(f"{'':>{self.current_indent}}{spoken(Text(heading) + COLON).rstrip()}\n")

    def write_text(self, text: str) -> None:
        if _is_english():
            super().write_text(text)
            return
        indent = " " * self.current_indent
        paragraphs = (spoken(" ".join(each.split())) for each in text.split("\n\n"))
        lines = ("\n".join(_wrapped(each, indent, self.width)) for each in paragraphs)
        self.write("\n\n".join(lines) + "\n")

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Write names with their texts beside them."""
        if _is_english():
            super().write_dl(rows, col_max, col_spacing)
            return
        listed = list(rows)
        first = min(max(len(name) for name, _ in listed), col_max) + col_spacing
        indent, beside = " " * self.current_indent, " " * (self.current_indent + first)
        for name, text in listed:
            lines = _wrapped(_spoken_help(text), beside, max(self.width, len(beside) + _LEAST))
            if len(name) <= first - col_spacing:
                lines[0] = f"{indent}{name:<{first}}{lines[0].lstrip(' ')}"
            else:
                lines.insert(0, indent + name)
            self.write("\n".join(lines) + "\n")


class SpokenContext(click.Context):
    """A context whose help is in the language of the commands."""

    formatter_class = SpokenFormatter


class AliasedOption(click.Option):
    """An option whose help leaves out former spellings, and those of ATC, which have underscores."""

    def __init__(
        self, declared: Sequence[str], *, old: Sequence[str] = (), **settings: Any
    ) -> None:
        super().__init__([*declared, *old], **settings)
        self._old = frozenset(old)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The spellings with the value, and the help."""
        shown = copy.copy(self)
        shown.opts = [each for each in self.opts if each not in self._old and "_" not in each]
        return click.Option.get_help_record(shown, ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Values that begin so: names of SoCs, lists and rules, and what the type has."""
        from click.shell_completion import CompletionItem

        from atc_py.cli.completed_names import values_of

        names = values_of(self.opts[0], incomplete)
        return [*map(CompletionItem, names)] or super().shell_complete(ctx, incomplete)


class SpokenGroup(click.Group):
    """A group whose list of commands has each summary whole."""

    context_class = SpokenContext

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Parts of a line of usage; not every click says that the command may be left out."""
        return [*click.Command.collect_usage_pieces(self, ctx), "[COMMAND] [ARGS]..."]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the group's own options, none of them twice.

        Raises:
            AtcError: BAD_OPTION.
        """
        _refuse_repeated(ctx, args)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        absent = self.get_command(ctx, name) is None
        if absent and not ctx.resilient_parsing and not name.startswith("-"):
            from atc_py.cli.unknown_names import no_such_command

            raise no_such_command(name, ctx.command_path, self.list_commands(ctx))
        name_, command, rest = super().resolve_command(ctx, args)
        # Groups look at their own options, and `atc` has a parser of its own.
        if command is not None and type(command).parse_args is click.Command.parse_args:
            settings = {"resilient_parsing": ctx.resilient_parsing, **command.context_settings}
            own = command.context_class(command, ctx, name_, **settings)
            _refuse_repeated(own, rest)
        return name_, command, rest

    def summaries(self, ctx: click.Context) -> Iterable[tuple[str, str]]:
        """Yield the commands with the first paragraphs of their help."""
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                yield name, " ".join((command.help or "").partition("\n\n")[0].split())

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries(ctx)))


_SWEPT = frozenset({"soc", "precision_mode", "operator_list"})
"""Parameters whose option takes commas in some commands."""


def _refuse_repeated(context: click.Context, args: list[str]) -> None:
    """Refuse a second value of an option that keeps one: click takes the last without a word."""
    if context.resilient_parsing:
        return
    values, _, given = context.command.make_parser(context).parse_args(args=list(args))
    options = [option for option in given if isinstance(option, click.Option)]
    if any(set(option.opts).intersection(context.help_option_names) for option in options):
        return
    seen: set[str | None] = set()
    for option in options:
        if option.multiple or option.count:
            continue
        several = option.name in _SWEPT
        if option.name in seen and not (option.is_flag and not option.secondary_opts):
            raise _not_one(
                Text("{option} is given twice, and takes one value", option=option.opts[0]),
                several=several,
            )
        if several and "," in str(values[option.name]):
            raise _not_one(
                Text("{option} takes one value here", option=option.opts[0]), several=several
            )
        seen.add(option.name)


def _not_one(message: Text, *, several: bool) -> Exception:
    """The error for a second value, which `sweep` takes where `several`."""
    from atc_py.diag import BAD_OPTION

    help_ = Text("give one; `atc-py sweep` takes several") if several else Text("give it once")
    return BAD_OPTION.error(message, help=help_)


def _is_english() -> bool:
    return language() == LANGUAGES[0]


def _spoken_help(text: str) -> str:
    found = _EXTRAS.fullmatch(text)
    if found is None:
        return spoken(" ".join(text.split()))
    extras = SEMICOLON.join(map(_extra, found["extras"].split("; ")))
    return spoken(
        Text("{value} ({note})", value=Text(" ".join(found["help"].split())), note=extras)
    )


def _extra(text: str) -> Text:
    """One of what click appends: `default: sim`."""
    name, colon, value = text.partition(": ")
    if not colon:
        return Text(text)
    return Text(f"{name}: {{value}}", value=Text(value.strip("()")) if " " in value else value)


def _wrapped(text: str, indent: str, width: int) -> list[str]:
    from atc_py.report.wrapping import wrap

    return wrap(text, indent, indent, width)


def _speak(context: click.Context, _option: click.Parameter, chosen: str | None) -> str | None:
    """Speak the language that a configuration file chooses; `main` has read the command line."""
    if chosen is not None and not context.resilient_parsing:
        speak(chosen)
    return chosen


LANG = click.option(
    "--lang",
    type=click.Choice(LANGUAGES),
    callback=_speak,
    is_eager=True,
    default=language,
    expose_value=False,
    show_default="from ATC_PY_LANG or the locale, else en",
    help="Language of the text.",
)


def speaking(command: click.Command) -> None:
    """Add --lang, which `main` reads, before the last options of a command, --json and --help."""
    option = click.Option(
        ["--lang"],
        type=click.Choice(LANGUAGES),
        expose_value=False,
        callback=_speak,
        is_eager=True,
        help="Language of the text; by default taken from ATC_PY_LANG or the locale, else en.",
    )
    as_json = [at for at, each in enumerate(command.params) if each.name == "as_json"]
    command.params.insert(as_json[0] if as_json else len(command.params), option)


def _silence(context: click.Context, _option: click.Parameter, is_quiet: bool) -> None:
    """Leave out lines and tables in the rest of the command."""
    from atc_py.cli.console import silenced

    if is_quiet and not context.resilient_parsing:
        context.with_resource(silenced())


def quieting(command: click.Command) -> None:
    """Add -q before the last options of a command, after its own -v."""
    option = click.Option(
        ["-q", "--quiet"],
        is_flag=True,
        expose_value=False,
        callback=_silence,
        help="Print only errors, and documents such as JSON if asked for.",
    )
    last = [at for at, each in enumerate(command.params) if each.name in {"as_json", "lang"}]
    command.params.insert(min(last, default=len(command.params)), option)
