"""`atc-py completion`: the script that completes commands and options in a shell."""

import click

from atc_py.cli.console import print_line
from atc_py.text import Text

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
