"""Offline models as ATC's modes open them, with ATC's code of the fault."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from atc_py.device.opening import open_verified
from atc_py.diag import AtcError, AtcFault
from atc_py.package.reader import OfflineModel


@contextmanager
def opened_om(path: Path) -> Iterator[OfflineModel]:
    """Open an offline model; what `open_model` finds is E10041."""
    try:
        model = open_verified(path)
    except AtcError as error:
        raise with_fault(error, AtcFault("E10041", (str(path),))) from error
    with model:
        yield model


def with_fault(error: AtcError, fault: AtcFault) -> AtcError:
    """An error whose diagnostics have ATC's code where they do not have one already."""
    return AtcError(
        *(each if each.atc is not None else each._replace(atc=fault) for each in error.diagnostics)
    )
