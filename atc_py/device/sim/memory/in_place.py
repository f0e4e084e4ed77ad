"""Results that a memory plan lays over an operand: which of them the launch can bear."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from atc_py.package.schema import OmModel, OmNode
from atc_py.target import find_operator

_AI_CORE = "aicore"


class Takeovers:
    """Decides for each launch of a model whether its result may be written over an operand."""

    def __init__(self, model: OmModel, roots: Sequence[int]) -> None:
        """Index launches of `model`; `roots` has the tensor that each tensor shows, or itself."""
        self._roots = roots
        self._launch_of: dict[int, list[OmNode]] = {}
        scopes: dict[int, list[OmNode]] = defaultdict(list)
        for node in model.nodes:
            launch = scopes[node.scope] if node.scope else []
            launch.append(node)
            for tensor in node.outputs:
                self._launch_of[tensor] = launch

    def allow(self, operand: int, result: int) -> bool:
        """Return True if the launch that makes `result` may write it where `operand` is stored.

        It may where every node of the launch that touches the operand, or what follows from it,
        computes element by element: an element of the operand has been read when that of the
        result is written.
        """
        follows = {self._roots[operand]}
        for node in self._launch_of.get(result, ()):
            row = find_operator(node.op)
            if row is None or not row.launches_kernel or not self._touches(node.inputs, follows):
                continue
            if not row.in_place or node.engine != _AI_CORE:
                return False
            follows.update(node.outputs)
        return result in follows

    def _touches(self, inputs: Iterable[int], follows: set[int]) -> bool:
        """Return True if one of `inputs` is or shows one of the tensors in `follows`."""
        return any(tensor >= 0 and self._roots[tensor] in follows for tensor in inputs)
