"""Options -v and -q: how much a command prints."""

from collections.abc import Callable
from enum import Enum
from functools import wraps
from typing import Any

import click


class Amount(Enum):
    """Amount of text that a command prints to standard output.

    Errors are printed in any case, and so is a JSON document that is asked for.
    """

    NOTHING = "nothing"
    SUMMARY = "summary"
    TABLES = "tables"


_VERBOSE = click.option(
    "-v", "--verbose", is_flag=True, help="Print every finding and the tables, not a summary."
)
_QUIET = click.option(
    "-q", "--quiet", is_flag=True, help="Print nothing but errors, and JSON if asked for."
)


def amount(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add -v and -q; the command gets both as `amount`."""

    @wraps(command)
    def with_amount(*args: object, verbose: bool, quiet: bool, **kwargs: object) -> object:
        if verbose and quiet:
            raise click.UsageError("-v and -q exclude each other: give one of them")
        chosen = Amount.TABLES if verbose else Amount.NOTHING if quiet else Amount.SUMMARY
        return command(*args, amount=chosen, **kwargs)

    return _VERBOSE(_QUIET(with_amount))
