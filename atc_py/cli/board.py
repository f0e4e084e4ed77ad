"""`atc-py board`: kits for a host with CANN and an NPU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atc_py.adapters.board.variants import NOT_PACKED
from atc_py.cli import comparing_options, options
from atc_py.cli.board_comparing import compare_board
from atc_py.cli.console import (
    print_diagnostics,
    print_json,
    print_line,
    print_refusal,
    progress,
    say,
    show_help_of_bare_group,
)
from atc_py.cli.help_text import SpokenGroup
from atc_py.diag import AtcError
from atc_py.options.compile_options import CompileOptions, PrecisionMode
from atc_py.options.output_paths import output_folder
from atc_py.system.memory_limit import parse_size
from atc_py.text import COMMA, Text, plural
from atc_py.text.language import spoken

if TYPE_CHECKING:
    from atc_py.adapters.board.pack import Packed


@click.group(cls=SpokenGroup, invoke_without_command=True)
@click.pass_context
def board(context: click.Context) -> None:
    """Pack a model for a host with CANN and an NPU, and compare the results that it returns."""
    show_help_of_bare_group(context)


board.add_command(compare_board)


@board.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(), metavar="DIR",
    help="Folder of the kit; DIR.zip is the same as a single file. By default NAME.kit in "
    "the current folder.",
)  # fmt: skip
@click.option(
    "--soc", "--soc-version", "--soc_version", "soc", required=True, metavar="NAME",
    help="SoC of the host, by the name that `npu-smi info` and atc use.",
)  # fmt: skip
@click.option(
    "--precision-mode", "--precision_mode", "modes", multiple=True,
    default=[PrecisionMode.FORCE_FP16.value], show_default=True, metavar="MODE,...",
    callback=options.comma_separated, help="Precision modes; each one is a variant of the kit. May be repeated.",
)  # fmt: skip
@click.option(
    "--no-unfused", is_flag=True,
    help="Leave out the variant that compiles in the first mode with all fusion switched "
    "off.",
)  # fmt: skip
@options.options_of(CompileOptions, "precision", ..., without={"soc", *NOT_PACKED})
@comparing_options.INPUTS
@comparing_options.samples
@comparing_options.SEED
@click.option(
    "--reference", type=click.Path(path_type=Path), metavar="FILE",
    help="ONNX file that runs as the original in place of MODEL, such as the float model of "
    "an int8 one.",
)  # fmt: skip
@click.option(
    "--executes", type=click.IntRange(0, 1000), default=10, show_default=True,
    help="Executions under msprof; 0 for none.",
)  # fmt: skip
@click.option(
    "--repeats", type=click.IntRange(1, 100_000), default=20, show_default=True,
    help="Timed executions.",
)  # fmt: skip
@click.option(
    "--layer-values", metavar="SIZE",
    help="Space that the values of layers may take in the kit, such as 10M; layers beyond it "
    "keep only a digest. By default a tenth of the model's size.",
)  # fmt: skip
@options.MAX_MEMORY
@options.AS_JSON
@click.pass_context
def pack(  # noqa: PLR0913  (one parameter an option)
    context: click.Context,
    /,
    *,
    model: Path,
    output: str | None,
    modes: tuple[str, ...],
    no_unfused: bool,
    inputs: tuple[str, ...],
    samples: Any,
    seed: int,
    reference: Path | None,
    executes: int,
    repeats: int,
    layer_values: str | None,
    as_json: bool,
    **compiling: Any,
) -> None:
    """Pack MODEL, an ONNX file, for a host with CANN and an NPU.

    The kit holds the model in the form that atc takes, atc's command lines, inputs, the results of
    the original and of the simulator for them, and a script that needs only CANN and Python. `board
    compare` compares the results that the script returns with the simulator's.

    Exit status: 0 done, 1 the model breaks a rule, 2 the command was called wrongly, 3 a file cannot
    be read or written, 4 a run failed.
    """
    from atc_py.adapters.board.expectations import Draws
    from atc_py.adapters.board.pack import PackRequest, pack_board

    request = PackRequest(
        modes=modes or (PrecisionMode.FORCE_FP16.value,), unfused=not no_unfused,
        draws=Draws(inputs, samples, seed),
        room=None if layer_values is None else parse_size(layer_values),
        executes=executes, repeats=repeats, reference=reference,
    )  # fmt: skip
    folder = output_folder("--output", output) or Path(f"{model.stem}.kit")
    try:
        with progress(quiet=as_json) as on_stage:
            done = pack_board(model, folder, compiling, request, on_stage)
    except AtcError as error:
        context.exit(print_refusal(error, "packed", as_json=as_json))
    if as_json:
        print_json(done.as_json())
    else:
        _print(model, done)


def _print(model: Path, done: Packed) -> None:
    print_diagnostics(done.warnings, as_json=False)
    names = COMMA.join(Text(each.name) for each in done.manifest.variants)
    runs = plural(len(done.manifest.samples), "{n} run", "{n} runs")
    head = Text("{model}: packed for {soc}: {names}; {runs}")
    soc = done.manifest.soc
    print_line(spoken(head.with_values(model=model, soc=soc, names=names, runs=runs)))
    say(
        Text("kit: {folder}", folder=done.folder),
        Text("archive: {archive}", archive=done.archive),
        Text("next: unpack it on the host and follow README.md; send back results.zip"),
    )
