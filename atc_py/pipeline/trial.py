"""The trial of a model that breaks no rule: which nodes have no kernel at the dtypes it would get.

The operator list speaks of the model's nodes. Whether the target has kernels in the dtypes that a
precision mode and its finer controls choose shows where dtypes are chosen: so that is done here,
with the passes that `convert` runs, and nothing else of a compilation.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atc_py.check.findings import Finding, Standing
from atc_py.diag import AtcError, Place, Words
from atc_py.diag.codes import NO_KERNEL
from atc_py.ir import Phase
from atc_py.lowering.lower import lower_model
from atc_py.lowering.restated import restated
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import PassContext
from atc_py.passes.manager import run_passes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from atc_py.check.restating import Placement
    from atc_py.frontend.reading.onnx_file import OnnxFile
    from atc_py.ir import Graph
    from atc_py.passes.precision.controls import Controls
    from atc_py.passes.precision.refusals import Refusal
    from atc_py.source import ModelView
    from atc_py.spec import Library
    from atc_py.target import Soc
    from atc_py.tensor.shapes import Shape

__all__ = ["LIMITED", "Trial"]

LIMITED = frozenset({"Conv", "AscendDequant", "AscendQuant"})
"""Operators of models of which the SoC or the node's attributes may leave no kernel in any mode."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What dtypes are chosen by.

    Attributes:
        soc: the SoC that the model is for.
        mode: the precision mode.
        controls: its finer controls.
        specs: the specifications.
    """

    soc: Soc
    mode: PrecisionMode
    controls: Controls
    specs: Library

    def is_needed(self, view: ModelView) -> bool:
        """Whether a node of a model that breaks no rule may be without a kernel.

        Without further controls force_fp16 leaves few: it wants float16 of every float, and each
        operator of the target that takes floats takes float16, or float32 in its place.
        """
        if self.mode is not PrecisionMode.FORCE_FP16 or self.controls.concern_nodes:
            return True
        return any(node.op_type in LIMITED for node in view.nodes)

    def missing_kernels(
        self,
        file: OnnxFile,
        view: ModelView,
        input_shapes: Mapping[str, Shape],
        placements: Sequence[Placement | None],
    ) -> list[Finding]:
        """An error for each node that nothing runs at its dtypes; none where lowering stops first.

        It takes about as long as the check, so it is left out where it is not needed.

        Args:
            file: of a model that breaks no rule.
            view: what is known of it.
            input_shapes: extents for inputs that the model leaves open, by name.
            placements: where its nodes stand, from the check.
        """
        if not self.is_needed(view):
            return []
        try:
            source = restated(file.fold(input_shapes).to_source(), placements)
            graph = lower_model(source, self.specs)
        except AtcError:
            return []  # what else keeps a model from compiling is told where it is compiled
        return self._findings(graph, str(file.path))

    def _findings(self, graph: Graph, file: str) -> list[Finding]:
        """What the passes up to the choice of dtypes refuse."""
        context = PassContext(self.soc, self.mode, file, controls=self.controls)
        with suppress(AtcError):  # refusals are on record; the rest is told where it is compiled
            run_passes(graph, context, until=Phase.TYPED)
        return [_finding(each) for each in context.decisions.refused]


def _finding(refusal: Refusal) -> Finding:
    """The finding at the source node; one may come from several target nodes."""
    place = refusal.place
    return Finding(
        code=NO_KERNEL,
        standing=Standing.ERROR,
        rule=f"{place.op_type or refusal.op}/kernel/{refusal.op}",
        source="",
        place=Place(place.file, place.node, place.node_name, place.op_type),
        scope="",
        observed=Words("", ""),
        allowed=refusal.message,
        help=refusal.help,
    )
