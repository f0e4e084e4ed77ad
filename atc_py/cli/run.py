"""`atc-py run`: execute an offline model on a device."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atc_py.cli.console import print_diagnostics, print_json, print_tables, progress
from atc_py.cli.gear_options import named_gear
from atc_py.cli.help_text import AliasedOption
from atc_py.cli.options import AS_JSON, LIKE, MAX_MEMORY, SUBMODEL
from atc_py.diag import BAD_OPTION
from atc_py.options.named_gear import NamedGear
from atc_py.options.output_paths import output_file, output_folder
from atc_py.system.json_text import json_values
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.pipeline.running.model import Model

_STORAGE = ("logical", "exact")

_OWN_DEVICES = ("ort", "sim")
_PERIOD = 0.5
"""Seconds between two looks at how far a run is."""

_FOREIGN_TIMEOUT = 600.0
"""Seconds that a back end of another package may take to answer, unless --timeout is given."""


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "-i", "--input", "inputs", multiple=True, metavar="[NAME=]FILE",
    help="Data for an input: .npy, .npz, .pb (ONNX tensor) or raw .bin; or a folder with a file for "
    "each input, named after it.",
)  # fmt: skip
@click.option(
    "--seed",
    "seed",
    cls=AliasedOption,
    old=["--random"],
    type=click.IntRange(min=0),
    metavar="SEED",
    help="Fill the other inputs with random data of this seed.",
)
@click.option(
    "-o", "--output", type=click.Path(), metavar="DIRECTORY",
    help="Folder for the outputs, one .npy file each.",
)  # fmt: skip
@click.option(
    "--save",
    "archive",
    type=click.Path(),
    metavar="FILE.npz",
    help="File for all outputs together.",
)
@click.option(
    "--cast",
    is_flag=True,
    help="Convert data to the dtypes of their inputs; values that do not fit are refused.",
)
@click.option(
    "--expect", multiple=True, metavar="[NAME=]FILE", help="Expected outputs to compare with."
)
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    help="Largest error that passes, as a share of the output's range; the default follows from "
    "the model's precision.",
)
@click.option(
    "--device",
    default="sim",
    show_default=True,
    help="Back end to run on: `sim`, `ort` (onnxruntime), or an installed one.",
)
@click.option(
    "--storage",
    type=click.Choice(_STORAGE),
    default=_STORAGE[0],
    show_default=True,
    help="`exact` keeps every tensor in its storage format at its offset of the memory plan, byte "
    "for byte; slower, with the same results.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Seconds that the device may take to load the model, and to run it; 0 for no limit. "
    "By default no limit for `sim` and `ort`, 600 for others. With a limit the device "
    "runs in its own process.",
)
@click.option("--profile", is_flag=True, help="Show the time of each operator.")
@click.option(
    "--aipp-settings", type=click.Path(path_type=Path), metavar="FILE",
    help="Settings of dynamic AIPP: protobuf text, an [aipp_op] section, or a parameter buffer.",
)  # fmt: skip
@LIKE
@SUBMODEL
@named_gear
@MAX_MEMORY
@AS_JSON
@click.pass_context
def run(  # noqa: PLR0913  (one parameter an option)
    context: click.Context,
    /,
    *,
    model: Path,
    inputs: tuple[str, ...],
    seed: int | None,
    output: str | None,
    archive: str | None,
    cast: bool,
    expect: tuple[str, ...],
    tolerance: float | None,
    device: str,
    timeout: float | None,
    profile: bool,
    gear: NamedGear | None,
    aipp_settings: Path | None,
    as_json: bool,
    **source: Any,
) -> None:
    """Run MODEL, an offline model, on the simulated NPU.

    A model with gears runs the chosen gear, or the one that fits the shapes of the data, or else
    the largest. For models of Huawei's own atc, docs/real-om.md says what is computed.
    """
    from atc_py.api import load
    from atc_py.pipeline.running.execute import RunOptions, execute, mismatches
    from atc_py.report.model.runs import run_tables

    if timeout is None and device not in _OWN_DEVICES:
        timeout = _FOREIGN_TIMEOUT
    folder, file = output_folder("--output", output), _archive(archive, model)
    options = RunOptions(
        inputs, seed, expect, tolerance, folder, profile, gear, aipp_settings, cast, file
    )
    with (
        progress(quiet=as_json) as on_stage,
        load(model, device=device, timeout=timeout, **source) as loaded,
        _launches_shown(loaded, on_stage),
    ):
        done = execute(loaded, options)
    findings = mismatches(done)
    if as_json:
        print_json({**done.as_json(), "diagnostics": json_values(findings)})
    else:
        print_tables(run_tables(done))
        print_diagnostics((*done.warnings, *findings), as_json=False)
    if findings:
        context.exit(findings[0].code.exit)


@contextmanager
def _launches_shown(model: Model, on_stage: Callable[[str], None]) -> Iterator[None]:
    """Tell a terminal how many launches of the run in the block have ended, where that is known."""
    if not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_PERIOD):
            found = model.progress()
            if found is not None:
                on_stage(
                    Text("{actual} of {actual_2} launches", actual=found[0], actual_2=found[1])
                )

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _archive(given: str | None, model: Path) -> Path | None:
    if given is None:
        return None

    path = output_file(given, [model], "--save")
    if path.suffix != ".npz":
        raise BAD_OPTION.error(
            Text("--save {given}: outputs are saved as .npz", given=given),
            help=Text("give a name such as outputs.npz"),
        )
    return path
