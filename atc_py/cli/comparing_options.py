"""Options of comparisons, samples among them, that commands share; the file of a suggestion."""

import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from atc_py.cli.options import option_set, options_of
from atc_py.diag import BAD_OPTION
from atc_py.options.command_options import SearchOptions
from atc_py.options.option import MOST_JOBS, MOST_RANDOM
from atc_py.options.output_paths import output_file
from atc_py.report.tables import clipped, visible
from atc_py.results.layer_comparison import LayerComparison
from atc_py.system.cache_folders import exists
from atc_py.text import Text
from atc_py.text.language import spoken

JOBS = click.IntRange(1, MOST_JOBS)
"""Numbers of processes."""

_NUMBER = re.compile(r"[+-]?[0-9]+")


def _chosen(
    _context: click.Context, _option: click.Parameter, given: tuple[str, ...]
) -> int | tuple[str, ...] | None:
    """A number of random samples, or the files of samples."""
    if not given:
        return None
    numbers = [text for text in given if _NUMBER.fullmatch(text)]
    if not numbers:
        return given
    if len(given) > 1:
        raise click.UsageError("--samples is a number of random samples or files, not both")
    return number_of_samples("--samples", numbers[0])


def number_of_samples(option: str, text: str) -> int:
    digits = text.lstrip("+-0")
    plain = digits.isascii() and digits.isdigit()
    short = plain and len(digits) <= len(str(MOST_RANDOM))  # int refuses thousands of digits
    count = int(digits) if short and not text.startswith("-") else 0
    if not 1 <= count <= MOST_RANDOM:
        raise click.UsageError(
            Text(
                "{option} must be from 1 to {most_random}, found {text}",
                option=option,
                most_random=MOST_RANDOM,
                text=clipped(text),
            )
        )
    return count


def random_number(
    _context: click.Context, option: click.Parameter, given: str | None
) -> int | None:
    return None if given is None else number_of_samples(option.opts[0], given)


def one_kind(**given: Any) -> Any:
    """The one value that is given of options that exclude each other; None for none."""
    named = {name: value for name, value in given.items() if value not in {None, ()}}
    if len(named) > 1:
        first, second, *_ = named
        raise click.UsageError(
            Text(
                "{first} and {second} exclude each other: give one of them",
                first=f"--{first}",
                second=f"--{second}",
            )
        )
    return next(iter(named.values()), None)


def samples(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --data and --random, which the command takes as `samples`: files, or a number, or None."""

    @wraps(command)
    def with_samples(
        *args: Any,
        data: tuple[str, ...],
        random_samples: int | None,
        samples: int | tuple[str, ...] | None,
        **kwargs: Any,
    ) -> Any:
        chosen = one_kind(data=data, random=random_samples, samples=samples)
        return command(*args, samples=chosen, **kwargs)

    return _SAMPLES(with_samples)


_SAMPLES = option_set(
    click.option(
        "--data", multiple=True, metavar="[NAME=]PATH",
        help="Samples: a folder with a .npy, .npz, .pb or raw file for each, or an .npz or "
            ".npy file with the samples along the first axis. Open dims of the model are "
            "taken from the samples. May be repeated, for each input.",
    ),
    click.option(
        "--random", "random_samples", metavar="N", callback=random_number,
        help="Run N random samples, 1 by default. With it, open dims are those that `check` proposes.",
    ),
    click.option("--samples", multiple=True, callback=_chosen, hidden=True),
)  # fmt: skip

_FILE = click.Path(path_type=Path)

INPUTS = click.option(
    "-i", "--input", "inputs", multiple=True, metavar="[NAME=]FILE",
    help="Data for an input: .npy, .npz, .pb (ONNX tensor) or raw .bin; other inputs get "
    "random data that fit their dtype and role. Open dims of the model are taken from the "
    "data.",
)  # fmt: skip

SEED = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True,
    help="Seed of the random data.",
)  # fmt: skip

what_runs = option_set(
    INPUTS,
    samples,
    SEED,
    click.option(
        "--device", default="sim", show_default=True,
        help="Device that runs the compiled model: `sim`, or `ort` (onnxruntime), which is faster.",
    ),
    click.option(
        "--reference", type=_FILE, metavar="FILE",
        help="ONNX file that runs in place of MODEL, such as the float model of an int8 one; "
            "values of the same name are compared. For an offline model of Huawei's atc, the "
            "ONNX file that it was compiled from.",
    ),
)  # fmt: skip
"""Options on data, the device and the model to compare with."""

AIPP_SETTINGS = click.option(
    "--aipp-settings", type=_FILE, metavar="FILE",
    help="Settings of dynamic AIPP; without them, pictures are RGB or gray and used whole.",
)  # fmt: skip

comparing_targets = option_set(
    click.option(
        "--fail-under", "targets", multiple=True, metavar="FIGURE=NUMBER",
        help="Exit with 4 if an output of the model is below the figure: cosine=0.99 or snr=40 (dB).",
    ),
    click.option(
        "--suggest", type=click.Path(), metavar="FILE",
        help="Search for the fewest nodes to keep in float32 so that the outputs reach --fail-under "
        "(without it: so that no output fails), and write them as a --keep-dtype file; if keeping "
        "all is not enough, nothing is written.",
    ),
    click.option(
        "--suggest-trials", type=click.IntRange(min=4), default=60, show_default=True,
        help="Largest number of compilations for --suggest.",
    ),
    options_of(SearchOptions),
)  # fmt: skip
"""Options on targets of the outputs and the search for nodes to keep."""


def report_and_suggestion(
    model: Path, output: str | None, suggest: str | None
) -> tuple[Path | None, Path | None]:
    path = None if output is None else output_file(output, [model], "--output")
    keep = None if suggest is None else output_file(suggest, [model], "--suggest")
    if keep is not None and path is not None and keep.absolute() == path.absolute():
        raise BAD_OPTION.error(
            Text("--output and --suggest both name {keep}: they cannot be the same file", keep=keep)
        )
    return path, keep


def suggestion_line(done: LayerComparison, keep: Path | None) -> str:
    """Write the suggestion and return a line about it; empty if none was requested."""
    from atc_py.system.atomic_files import write_files

    if keep is None:
        return ""
    if done.suggestion is not None and done.suggestion.kept:
        write_files({keep: done.suggestion.text})
        text = Text("written: {keep}; convert with --keep-dtype {keep}", keep=keep)
    elif exists(keep):
        text = Text("no file written; the existing {keep} is unchanged", keep=keep)
    else:
        text = Text("no file written")
    return visible(spoken(text))
