"""Offline models of users, opened for any reader: whole, and such that the device would load them.

The package's own verifier knows archives, digests and the graph; what operators take is known to the
rules of the simulated device's kernels. It is alone so that each reader opens models by one function.
"""

from pathlib import Path

from atc_py.device.sim.execution.loading import check_model
from atc_py.diag import AtcError, Diagnostic, Place
from atc_py.package.reader import OfflineModel, open_model
from atc_py.text import Text


def open_verified(path: Path) -> OfflineModel:
    """Open an offline model, and hold every node of it, in every gear, against its kernel's rules.

    Raises:
        AtcError: as `open_model` does; OM_CONTENT with all that the device refuses.
    """
    model = open_model(path)
    try:
        for gear in range(len(model.gears.gears) if model.gears else 1):
            check_model(model.at_gear(gear) if model.gears else model)
    except BaseException as error:
        model.close()
        if isinstance(error, AtcError):
            raise AtcError(
                *(_in_file(diagnostic, path) for diagnostic in error.diagnostics)
            ) from error
        raise
    return model


def _in_file(diagnostic: Diagnostic, path: Path) -> Diagnostic:
    place = (diagnostic.place or Place())._replace(file=str(path))
    help_ = diagnostic.help or Text(
        "convert the ONNX model again; if that does not help, report it as a bug"
    )
    return diagnostic._replace(place=place, help=help_)
