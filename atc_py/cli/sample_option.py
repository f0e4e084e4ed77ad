"""The option `--samples`: a number of random samples, or files with samples."""

import re

import click

from atc_py.options.option import MOST_JOBS, MOST_RANDOM
from atc_py.report.escape import clipped
from atc_py.text import Text

JOBS = click.IntRange(1, MOST_JOBS)
"""Numbers of processes."""

_NUMBER = re.compile(r"[+-]?[0-9]+")


def _chosen(
    _context: click.Context, _option: click.Parameter, given: tuple[str, ...]
) -> int | tuple[str, ...]:
    """A number of random samples, or the files of samples."""
    if not given:
        return 1
    numbers = [text for text in given if _NUMBER.fullmatch(text)]
    if not numbers:
        return given
    if len(given) > 1:
        raise click.UsageError("--samples is a number of random samples or files, not both")
    return number_of_samples("--samples", numbers[0])


def number_of_samples(option: str, text: str) -> int:
    """A number of random samples.

    Raises:
        click.UsageError: the number is not from 1 to MOST_RANDOM.
    """
    digits = text.lstrip("+-0")
    short = digits and len(digits) <= len(str(MOST_RANDOM))  # int refuses thousands of digits
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


SAMPLES = click.option(
    "--samples", multiple=True, callback=_chosen, metavar="N|[NAME=]PATH",
    help="Number of runs, each with different random data, 1 by default; or the samples: a folder with "
    "a .npy, .npz, .pb or raw file for each, or an .npz or .npy file with the samples along the first "
    "axis. May be repeated, for each input.",
)  # fmt: skip
