"""The `atc-py` command: the group of commands, each of which is imported when it is called."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import click

from atc_py import __version__
from atc_py.cli.guards import SignalledError, guarded_streams, signals_as_exceptions
from atc_py.cli.help_text import SpokenContext, SpokenGroup, speaking
from atc_py.text import LANGUAGES, Text
from atc_py.text.language import language, speak, spoken, wanted_language

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


_SUMMARIES = {
    "aipp": "Show what CONFIG, an AIPP configuration, does to PICTURE.",
    "atc": "Accept the command line of Huawei's atc, and print what atc prints.",
    "board": "Pack a model for a host with CANN and an NPU, and compare the results that it "
    "returns.",
    "check": "Check whether MODELs, ONNX files, can be compiled, and if not, report why.",
    "compare": "Compile MODEL, an ONNX file, and compare each layer with the original.",
    "config": "Show which options the configuration file sets, or the values in effect for "
    "COMMAND.",
    "completion": "Print the script that completes commands and options in SHELL.",
    "convert": "Compile MODEL, an ONNX file, to an offline model.",
    "diff": "Compare offline models FIRST and SECOND, each of atc-py or of Huawei's own atc.",
    "exec": "Run PROGRAM with every onnxruntime session in it and its children on the "
    "simulated NPU.",
    "explain": "Explain CODE (ATC2003, 2003 or not-an-onnx-model); without CODE, list them all.",
    "export": "Write MODEL, compiled, as an ONNX model with the arithmetic of the NPU.",
    "fix": "Rewrite MODEL, an ONNX file, in an equivalent form that the operator list accepts.",
    "info": "Show what MODEL, an offline model or an ONNX file, contains.",
    "kernels": "List the kernels of MODEL, an offline model or an ONNX model to compile.",
    "ops": "Look up the operators that atc-py knows.",
    "plan": "Find the fastest dtypes for MODEL's nodes that still reach an accuracy target.",
    "profile": "Estimate the time and memory of MODEL, an ONNX file or an offline model.",
    "report": "Write one page about MODEL, an ONNX file or offline model, with all that atc-py "
    "finds out.",
    "quantize": "Quantize MODEL, a float ONNX file, or write a quantized one in another form.",
    "run": "Run MODEL, an offline model, on the simulated NPU.",
    "sweep": "Check, compile and compare MODELS for each SoC, precision mode and operator list.",
    "socs": "List the SoCs that --soc takes: family, cores, clock, memory, dtypes of the cube.",
}
"""The commands, each in the module of its name, as their own help begins; a test compares them."""


_QUIETED = {
    "aipp", "check", "compare", "diff", "export", "fix", "info", "kernels", "plan", "profile", "quantize", "report",
    "run", "sweep",
}  # fmt: skip
"""Commands that get -q here; `convert` has its own."""


class _Commands(SpokenGroup):
    """The group of commands, each of which is imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*_SUMMARIES, *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _SUMMARIES and cmd_name not in self.commands:
            # What answers failures is there before a command uses up files or memory.
            importlib.import_module("atc_py.cli.failures")
            from atc_py.cli.help_text import quieting

            module = importlib.import_module(f"atc_py.cli.{cmd_name}")
            command = getattr(module, "program" if cmd_name == "exec" else cmd_name)
            if cmd_name in _QUIETED:
                quieting(command)
            self.add_command(_with_language(command))
        return super().get_command(ctx, cmd_name)

    def summaries(self, ctx: click.Context) -> Iterable[tuple[str, str]]:
        return ((name, _SUMMARIES[name]) for name in self.list_commands(ctx))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        wanted = not (ctx.resilient_parsing or {"-h", "--help"}.intersection(rest))
        if name is not None and command is not None and wanted:
            from atc_py.cli.config_file import UNCONFIGURED, configured, find_config

            if name not in UNCONFIGURED and (found := find_config(Path.cwd(), [*_SUMMARIES])):
                ctx.default_map = {name: configured(found, command, (name,), rest)}
        return name, command, rest

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands and options that begin so, for which no command is imported."""
        from click.shell_completion import CompletionItem

        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        commands = [CompletionItem(name, help=spoken(_SUMMARIES[name])) for name in names]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def invoke(self, ctx: click.Context) -> object:
        """Run the command that was given.

        A broken pipe cannot be a standard stream's here. Click takes each for one, and would end
        the command without a word.
        """
        from atc_py.system.input_files import guarded_run

        try:
            with guarded_run():
                return super().invoke(ctx)
        except BrokenPipeError as error:
            raise RuntimeError(f"a pipe to another process broke: {error}") from error


def _with_language(command: click.Command) -> click.Command:
    """Add --lang to a command and those below it, where it is not among their options.

    Their help is in the language, too.

    `atc` reads its line itself.
    """
    command.context_class = SpokenContext
    if isinstance(command, click.Group):
        for below in command.commands.values():
            _with_language(below)
    if command.name != "atc" and all(each.name != "lang" for each in command.params):
        speaking(command)
    return command


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name="atc-py")
@click.option(
    "--lang",
    type=click.Choice(LANGUAGES),
    expose_value=False,
    help="Language of the text; by default taken from ATC_PY_LANG or the locale, else en.",
)
@click.pass_context
def cli(context: click.Context) -> None:
    """Compile ONNX models for Ascend NPUs and run them on a simulated one.

    Exit status: 0 done, 1 the model breaks a rule, 2 the command was called wrongly or is
    missing, 3 a file cannot be read or written, 4 the run on the device failed or its outputs
    are not the expected ones, 70 a bug in atc-py, 130 interrupted (Ctrl-C), 143 terminated; output
    files are never left partially written.
    """
    if context.invoked_subcommand is None:
        from atc_py.cli.console import show_help_of_bare_group

        show_help_of_bare_group(context)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and exit; errors become coded diagnostics, never tracebacks."""
    given = list(sys.argv[1:] if args is None else args)
    with guarded_streams():
        try:
            with signals_as_exceptions():
                status = _guarded_status(given)
        except (SignalledError, KeyboardInterrupt, click.Abort) as error:
            status = signal_status(error)
    sys.exit(status)


def _guarded_status(args: list[str]) -> int:
    as_json = _wants_json(args)
    speak(wanted_language(args, os.environ))
    if language() != LANGUAGES[0]:
        from atc_py.cli.click_texts import speak_for_click

        speak_for_click()
    try:
        status = cli.main(args, prog_name="atc-py", standalone_mode=False)
        sys.stdout.flush()
    except click.Abort:  # click's word for KeyboardInterrupt
        raise
    except Exception as error:  # noqa: BLE001  (the last net: a bug must not show a traceback)
        from atc_py.cli.failures import failure_status

        named = next((each for each in args if each in _SUMMARIES), "COMMAND")
        return failure_status(error, as_json=as_json, command=named)
    return status if isinstance(status, int) else 0


def signal_status(error: BaseException) -> int:
    """The exit status of a command that a signal ended."""
    from atc_py.cli.console import print_error

    signalled = error if isinstance(error, SignalledError) else SignalledError(signal.SIGINT)
    print_error(
        spoken(
            Text(
                "{signalled}; no output file is left partially written", signalled=signalled.reason
            )
        )
    )
    return signalled.status


def _wants_json(args: Sequence[str]) -> bool:
    """True if the command line asks for JSON, in either spelling.

    Standard output of `exec` is the program's, and so may be a --json in its line; that of `atc` is
    a file's name.
    """
    if {"exec", "atc"}.intersection(args[:1]):
        return False
    pairs = pairwise(args)
    return "--json" in args or "--format=json" in args or ("--format", "json") in pairs
