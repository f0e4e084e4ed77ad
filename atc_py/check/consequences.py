"""Findings that merely follow from a refused node: they are left out.

The results of an operator that is not listed, or of a node that contradicts ONNX, may have unknown
types. Whatever cannot be decided about later nodes then follows from that one finding.
"""

from collections.abc import Callable, Collection, Iterable

from atc_py.onnx_graph.source import SourceModel, SourceNode, SourceTensor


class Consequences:
    """Record of the types that the refused nodes of a model leave unknown.

    Args:
        model: the model.
        refused: the positions in the file of nodes that contradict ONNX.
        is_listed: whether the list has a node's operator.
        in_branches: positions and names of nodes that contradict ONNX inside of a branch.
    """

    def __init__(
        self,
        model: SourceModel,
        refused: Collection[int],
        is_listed: Callable[[SourceNode], bool],
        in_branches: Collection[tuple[int | None, str]] = (),
    ) -> None:
        self._lost: set[str] = set()
        self._returned: set[str] = set()
        holders: dict[int, list[SourceNode]] = {}
        for node in model.all_nodes:
            if not node.domain and node.op_type == "If":
                holders.setdefault(node.index, []).append(node)
            broken = node.index in refused or (
                bool(node.scope) and (node.index, node.name) in in_branches
            )
            if broken or not is_listed(node) or self.concern(node):
                self._lost.update(_uncertain_tensors(node.outputs))
                for holder in holders.get(node.index, ()) if node.scope else ():
                    self._returned.update(_uncertain_tensors(holder.outputs))
                    self._lost.update(_uncertain_tensors(holder.outputs))

    def concern(self, node: SourceNode) -> bool:
        """Tell whether a node reads, or its branch returns, a tensor that a refused node leaves unknown."""
        if not self._lost:
            return False  # nothing is returned either
        reads = {tensor.name for tensor in node.inputs if tensor is not None}
        returns = {tensor.name for tensor in node.outputs if tensor is not None}
        return not (reads.isdisjoint(self._lost) and returns.isdisjoint(self._returned))


def _uncertain_tensors(tensors: Iterable[SourceTensor | None]) -> set[str]:
    """Name the tensors whose types are not fully known, or that might be constants."""
    return {
        tensor.name
        for tensor in tensors
        if tensor is not None and (tensor.settles or not _is_certain(tensor))
    }


def _is_certain(tensor: SourceTensor) -> bool:
    """Tell whether the element type and every dim are known."""
    return bool(tensor.element) and tensor.dims is not None and None not in tensor.dims
