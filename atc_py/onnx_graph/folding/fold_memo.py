"""Constants that folding made of constants, kept for graphs of one file with other shapes."""

from collections.abc import Sequence

from atc_py.ir import ConstData
from atc_py.onnx_graph.folding.graph import WorkNode


class FoldMemo:
    """Results of nodes by the constants that they read, for graphs of one file with other shapes.

    Weights that are made of weights are the same constants in each of the graphs then.
    """

    def __init__(self) -> None:
        self._known: dict[
            tuple[WorkNode, tuple[int, ...]], tuple[list[ConstData], dict[str, ConstData]]
        ] = {}

    def get(self, node: WorkNode, read: Sequence[ConstData]) -> dict[str, ConstData] | None:
        """The results of a node that read these constants before, else None."""
        found = self._known.get((node, tuple(map(id, read))))
        return None if found is None else found[1]

    def put(self, node: WorkNode, read: Sequence[ConstData], results: dict[str, ConstData]) -> None:
        """Keep the results of a node, and what it read, whose identity is the key."""
        self._known[node, tuple(map(id, read))] = [*read], results
