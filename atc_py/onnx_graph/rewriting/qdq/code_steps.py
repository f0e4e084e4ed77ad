"""The steps of int8 values while a graph in the deploy form becomes one of QuantizeLinear."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from atc_py.onnx_graph.folding.graph import WorkNode
from atc_py.onnx_graph.rewriting.qdq.ascend import Steps, no_form
from atc_py.onnx_graph.rewriting.qdq.movement import MOVING
from atc_py.options.compile_options import QuantBias
from atc_py.text import Text

NO_STEPS = Steps(np.float32(1), 0)
"""Steps of codes that come from no AscendQuant; the weights' scale makes up for any scale here."""

_CHOOSES = MOVING | {"Where"}
"""ONNX's operators on int8 whose results are elements of their data."""


@dataclass(slots=True)
class CodeSteps:
    """Steps by the names of values.

    Where biases are unfolded, the zero point of a layer's data must be the one that the compiler
    folds in. The compiler follows it through movement alone, and so does this class. Where biases
    are folded, any zero point gives the same numbers, so a node with one zero point keeps it.

    Attributes:
        quant_bias: the convention of the graph's biases.
    """

    quant_bias: QuantBias
    _known: dict[str, Steps] = field(default_factory=dict)
    _unclear: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def note(self, name: str, steps: Steps) -> None:
        """Note the steps of a value that AscendQuant or AscendRequant gives."""
        self._known[name] = steps

    def of(self, layer: WorkNode, name: str) -> Steps:
        """The steps of a layer's input; NO_STEPS where they are not known.

        Raises:
            AtcError: NO_QDQ_FORM where codes of several offsets meet there.
        """
        if name in self._unclear:
            found = " and ".join(map(str, self._unclear[name]))
            raise no_form(layer, Text("must have data of one offset, found {actual}", actual=found))
        return self._known.get(name, NO_STEPS)

    def follow(self, node: WorkNode, computed: Iterable[str], results: Iterable[str]) -> None:
        """Carry the steps of int8 values on to the int8 results of a node that stays as it is.

        Args:
            node: the node.
            computed: names of the int8 values that it reads and that are not constants.
            results: names of its int8 results.
        """
        if self.quant_bias is QuantBias.FOLDED:
            steps = {found for name in node.reads if (found := self._known.get(name))}
            if len(steps) == 1:
                self._known.update(dict.fromkeys(results, next(iter(steps))))
            return
        sources = list(computed)
        known = [self._known.get(name, NO_STEPS) for name in sources]
        zeros = {steps.zero for steps in known}
        zeros.update(zero for name in sources for zero in self._unclear.get(name, ()))
        moves = not node.domain and node.op_type in _CHOOSES
        if len(zeros) > 1 or (node.holds_graphs and zeros - {0}):
            self._unclear.update(dict.fromkeys(results, tuple(sorted(zeros))))
        elif moves and known:
            one = known[0] if len(set(known)) == 1 else Steps(np.float32(1), known[0].zero)
            self._known.update(dict.fromkeys(results, one))
