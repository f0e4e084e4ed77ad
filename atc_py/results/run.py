"""Record of a run: outputs, files, comparisons and times."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from atc_py.diag import Diagnostic
from atc_py.results.cann_nodes import CannSemantics, semantics_json
from atc_py.results.comparison import Comparison
from atc_py.system.json_text import json_values
from atc_py.system.structs import Result


class NodeTime(Protocol):
    """Record of a device on one node of the last run."""

    @property
    def op(self) -> str:
        """The operator."""

    @property
    def engine(self) -> str:
        """Engine that executed it."""

    @property
    def seconds(self) -> float:
        """Time on this machine, in seconds."""

    @property
    def output_bytes(self) -> int:
        """Bytes of its results."""


class Run(Result, frozen=True):
    """Record of a run.

    Attributes:
        seconds: time of the run on this machine, without loading.
        outputs: the arrays by name.
        files: where outputs were saved, by name.
        comparisons: outputs compared with expected data.
        nodes: time of each node, if requested.
        warnings: what is odd about the data and the outputs.
        semantics: the nodes that compute what a release of CANN makes of them, None without any.
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

    def as_json(self) -> dict[str, object]:
        """The run as JSON values; the arrays themselves are left out."""
        return {
            "seconds": self.seconds,
            "gear": json_values(self.gear),
            **semantics_json(self.semantics),
            "outputs": {
                name: {
                    "dtype": array.dtype.name,
                    "shape": list(array.shape),
                    "file": json_values(self.files.get(name)),
                }
                for name, array in self.outputs.items()
            },
            "comparisons": json_values(self.comparisons),
            "nodes": [
                {"op": node.op, "engine": node.engine, "seconds": node.seconds}
                for node in self.nodes
            ],
            "warnings": json_values(self.warnings),
        }
