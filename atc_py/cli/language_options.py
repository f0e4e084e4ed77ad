"""Options for the language and the amount of text, which commands get when they are called."""

import click

from atc_py.text import LANGUAGES
from atc_py.text.language import language, speak


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
    show_default="as ATC_PY_LANG and the locale say, else en",
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
        help="Language of the text; by default as ATC_PY_LANG and the locale say, else en.",
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
        help="Print nothing but errors, and documents such as JSON if asked for.",
    )
    last = [at for at, each in enumerate(command.params) if each.name in {"as_json", "lang"}]
    command.params.insert(min(last, default=len(command.params)), option)
