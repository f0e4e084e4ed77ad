"""`atc-py completion`: the script that completes commands and options in a shell."""

import click

from atc_py.cli.console import print_line
from atc_py.text import Text

_LISTED = {"--soc", "--time-soc", "--list", "--precision-mode", "--only", "--skip"}


def values_of(option: str, incomplete: str) -> list[str]:
    """What may stand for the value of an option; of several with commas, for the last."""
    if option not in _LISTED:
        return []
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _names(option) if _begins(name, last)]


def _begins(name: str, incomplete: str) -> bool:
    return name.lower().startswith(incomplete.lower())


def _names(option: str) -> list[str]:
    if option in {"--soc", "--time-soc"}:
        from atc_py.target import socs

        return [soc.name for soc in socs()]
    if option == "--list":
        from atc_py.options.compile_options import ANY_LIST
        from atc_py.spec.lists import operator_lists

        return [ANY_LIST, *(row.name for row in operator_lists())]
    if option == "--precision-mode":
        from atc_py.options.compile_options import PrecisionMode

        return [mode.value for mode in PrecisionMode]
    from atc_py.fix.rule import load_rules

    return sorted(load_rules())


def complete_codes(_: click.Context, _argument: click.Parameter, incomplete: str) -> list[str]:
    """Codes of diagnostics that begin so, and their names."""
    from atc_py.diag import all_codes

    names = [name for row in all_codes() for name in (row.id, row.name)]
    return [name for name in names if _begins(name, incomplete)]


def complete_operators(_: click.Context, _argument: click.Parameter, incomplete: str) -> list[str]:
    """Operators of the lists that begin so."""
    from atc_py.spec import specifications

    names = {spec.op for spec in specifications(None).all()}
    return sorted(name for name in names if _begins(name, incomplete))


_VARIABLE = "_ATC_PY_COMPLETE"
"""The variable by which the script asks for completions; click derives it from the name."""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="SHELL")
def completion(*, shell: str) -> None:
    """Print the script that completes commands and options in SHELL.

    bash: add `eval "$(atc-py completion bash)"` to ~/.bashrc; it needs version 4.4 or later.

    zsh: add `eval "$(atc-py completion zsh)"` to ~/.zshrc, after compinit.

    fish: atc-py completion fish > ~/.config/fish/completions/atc-py.fish
    """
    from click.shell_completion import ShellComplete, get_completion_class

    from atc_py.cli.main import cli

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(Text("click has no completion for {shell}", shell=shell))
    # The script is printed as it is; bash's own method starts bash to look at its version.
    print_line(ShellComplete.source(kind(cli, {}, "atc-py", _VARIABLE)).rstrip("\n"))
