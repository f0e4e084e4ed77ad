"""Record of a run: outputs, files, comparisons and times."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from atc_py.diag import Diagnostic
from atc_py.results.cann_nodes import CannSemantics
from atc_py.results.comparison import Comparison
from atc_py.system.structs import Result


class NodeTime(Protocol):
    """Record of a device on one node of the last run."""

    @property
    def op(self) -> str:
        """The operator."""
        ...

    @property
    def engine(self) -> str:
        """Engine that executed it."""
        ...

    @property
    def seconds(self) -> float:
        """Time on this machine, in seconds."""
        ...

    @property
    def output_bytes(self) -> int:
        """Bytes of its results."""
        ...


class Run(Result, frozen=True):
    """Record of a run.

    Attributes:
        seconds: time of the run on this machine, without loading.
        outputs: the arrays by name.
        files: where outputs were saved, by name.
        comparisons: outputs compared with expected data.
        nodes: time of each node, if requested.
        warnings: what is odd about the data and the outputs.
        semantics: the nodes that compute what a generation of CANN makes of them, None without any.
        gear: the numbers of the gear that ran; None for a model of one shape.
    """

    seconds: float
    outputs: Mapping[str, npt.NDArray[np.generic]]
    files: Mapping[str, Path]
    comparisons: tuple[Comparison, ...]
    nodes: tuple[NodeTime, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    semantics: CannSemantics | None = None
    gear: tuple[int, ...] | None = None
