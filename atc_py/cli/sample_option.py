"""The option `--samples`: a number of random samples, or files with samples."""

from __future__ import annotations

import click

__all__ = ["SAMPLES", "TRIAL_JOBS"]


def _chosen(
    _context: click.Context, _option: click.Parameter, given: tuple[str, ...]
) -> int | tuple[str, ...]:
    """Return a number of random samples, or the files of samples.

    Raises:
        click.UsageError: a number is less than 1, or not alone.
    """
    if not given:
        return 1
    numbers = [text for text in given if text.lstrip("+-").isdecimal()]
    if not numbers:
        return given
    if len(given) > 1:
        raise click.UsageError("--samples is a number of random samples or files, not both")
    if int(numbers[0]) < 1:
        raise click.UsageError(f"--samples must be 1 or more, found {numbers[0]}")
    return int(numbers[0])


SAMPLES = click.option(
    "--samples", multiple=True, callback=_chosen, metavar="N|[NAME=]PATH",
    help="Number of runs, each with different random data, 1 by default; or the samples: a folder with "
    "a .npy, .npz, .pb or raw file for each, or an .npz or .npy file with the samples along the first "
    "axis. May be repeated, for each input.",
)  # fmt: skip

TRIAL_JOBS = click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, metavar="N",
    help="Processes that make trial compilations at the same time; the result is the same.",
)  # fmt: skip
