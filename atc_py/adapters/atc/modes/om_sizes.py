"""Figures of an offline model under the names that ATC has for them."""

from collections.abc import Callable
from dataclasses import dataclass
from zipfile import ZipFile

from atc_py.package.archive import KERNELS, MODEL, WEIGHTS
from atc_py.package.describe import weights_nbytes
from atc_py.package.reader import OfflineModel
from atc_py.package.schema import ATC_CMDLINE

_WEIGHTS, _KERNELS = WEIGHTS.rstrip("/"), KERNELS.rstrip("/")


@dataclass(frozen=True, slots=True)
class OmFigures:
    """The figures that ATC's mode 6 prints; sizes are bytes."""

    command_line: str  # of the atc that wrote the model; empty for any other program
    version: str  # the program that wrote it
    soc: str
    memory: int  # of the results of kernels, workspace included
    weights: int  # of the constants on the device, with what aligns them
    description: int  # of the description of the graph
    weight_members: int  # of the weights in the file
    kernels: int  # of the kernels in the file

    @property
    def om_info(self) -> tuple[int, int, int, int, int]:
        """Sizes of weights, kernels, kernels of custom AI CPU operators, tasks and libraries.

        The last three are parts that an offline model of this package does not have.
        """
        return self.weight_members, self.kernels, 0, 0, 0


def figures_of(model: OfflineModel) -> OmFigures:
    """The figures of an opened offline model, of all its gears."""
    description = model.description
    gears = range(0 if model.gears is None else len(model.gears.gears))
    plans = [each.description.memory for each in [model, *map(model.at_gear, gears)]]
    with ZipFile(model.path) as archive:
        sizes = {each.filename: each.file_size for each in archive.infolist()}
    return OmFigures(
        command_line=description.options.get(ATC_CMDLINE, ""),
        version=description.producer,
        soc=description.soc,
        memory=max(0 if plan is None else plan.arena + plan.workspace for plan in plans),
        weights=weights_nbytes(description),
        description=_sum_of(sizes, lambda parts: parts[-1] == MODEL),
        weight_members=_sum_of(sizes, lambda parts: _WEIGHTS in parts[:-1]),
        kernels=_sum_of(sizes, lambda parts: _KERNELS in parts[:-1]),
    )


def _sum_of(sizes: dict[str, int], wanted: Callable[[list[str]], bool]) -> int:
    """The bytes of the members whose path is wanted; gears have folders of their own."""
    return sum(size for name, size in sizes.items() if wanted(name.split("/")))
