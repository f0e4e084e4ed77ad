"""Refusals as aclruntime makes them: lines of the log, then a RuntimeError."""

from collections.abc import Iterator
from contextlib import contextmanager

from atc_py.adapters.ais_bench.log_lines import error_line
from atc_py.diag import AtcError


def refused(*lines: str) -> RuntimeError:
    """Print lines of the log and return the error to raise, which says the first of them."""
    for line in lines:
        error_line(line)
    return RuntimeError(lines[0])


@contextmanager
def as_runtime_errors(*lines: str) -> Iterator[None]:
    """Turn diagnostics into RuntimeError; print `lines` of the log before their own."""
    try:
        yield
    except AtcError as error:
        found = [f"{each.code.id}: {each.message}" for each in error.diagnostics]
        for line in (*lines, *found):
            error_line(line)
        raise RuntimeError(found[0] if found else str(error)) from error
