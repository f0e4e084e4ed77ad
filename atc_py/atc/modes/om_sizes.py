"""Figures of an offline model under the names that ATC has for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atc_py.package.names import KERNELS, MODEL, WEIGHTS
from atc_py.package.schema import ATC_CMDLINE

if TYPE_CHECKING:
    from atc_py.package.reader import OfflineModel

__all__ = ["OmFigures", "figures_of"]


@dataclass(frozen=True, slots=True)
class OmFigures:
    """The figures that ATC's mode 6 prints; sizes are bytes.

    Attributes:
        command_line: of the atc that wrote the model; empty for any other program.
        version: the program that wrote it.
        soc: the SoC that it is for.
        memory: of the results of kernels, workspace included.
        weights: of the constants' elements.
        description: of the description of the graph.
        weight_members: of the weights in the file.
        kernels: of the kernels in the file.
    """

    command_line: str
    version: str
    soc: str
    memory: int
    weights: int
    description: int
    weight_members: int
    kernels: int

    @property
    def om_info(self) -> tuple[int, int, int, int, int]:
        """Sizes of weights, kernels, kernels of custom AI CPU operators, tasks and libraries.

        The last three are parts that an offline model of this package does not have.
        """
        return self.weight_members, self.kernels, 0, 0, 0


def figures_of(model: OfflineModel) -> OmFigures:
    """Return the figures of an opened offline model."""
    description, sizes = model.description, model.members
    plan = description.memory
    return OmFigures(
        command_line=description.options.get(ATC_CMDLINE, ""),
        version=description.producer,
        soc=description.soc,
        memory=0 if plan is None else plan.arena + plan.workspace,
        weights=_weight_bytes(model),
        description=sizes[MODEL],
        weight_members=_sum_below(sizes, WEIGHTS),
        kernels=_sum_below(sizes, KERNELS),
    )


def _sum_below(sizes: dict[str, int], folder: str) -> int:
    """Return the bytes of the members in a folder."""
    return sum(size for name, size in sizes.items() if name.startswith(folder))


def _weight_bytes(model: OfflineModel) -> int:
    """Return the bytes of all constants as the device stores them."""
    from atc_py.package.stored import stored_nbytes

    return sum(stored_nbytes(row) for row in model.description.tensors if row.member is not None)
