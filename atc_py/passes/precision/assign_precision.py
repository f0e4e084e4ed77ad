"""Chooses dtypes and engine of every node as the precision mode says, and inserts casts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.config import PrecisionMode
from atc_py.diag import Place, Sink
from atc_py.diag.codes import NO_KERNEL
from atc_py.dtypes import DType
from atc_py.ir import Phase
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.precision.casts import cast_engine, insert_cast
from atc_py.passes.precision.columns import Choice, broken_limit, choose_column, offered_columns
from atc_py.target import TargetOp, Unit, find_operator

if TYPE_CHECKING:
    from atc_py.diag import Diagnostic
    from atc_py.ir import Graph, Node, Value

__all__ = ["AssignPrecisionPass"]

_NARROWED = frozenset({DType.FLOAT32, DType.BFLOAT16, DType.FLOAT16})
"""What force_fp16 turns into float16 where the operator has it."""


class AssignPrecisionPass(Pass):
    """For each node, the column nearest to the dtypes that the mode wants; casts where they differ.

    force_fp16 wants float16 for float32, bfloat16 and float16 and the dtype itself for the rest;
    must_keep_origin_dtype wants the model's own dtypes; allow_fp32_to_fp16 wants float16 on the
    cube and the model's own dtypes elsewhere, and takes float16 where the AI Core has nothing
    better. A wider float may stand in for a narrower one, so an operator that only has float32
    stays float32. AI Core columns come before AI CPU. Integers are never cast: int8 operands take
    the operator's int8 column in every mode, or none.
    Nodes that launch no kernel take what their input has. Graph inputs and outputs keep their
    dtypes.
    """

    name = "assign-precision"
    summary = "Chooses dtypes and engine of every node and inserts casts."
    optional = False
    ensures = Phase.TYPED

    def run(self, graph: Graph, context: PassContext) -> int:
        """Type every node; returns the number of casts inserted."""
        return _Assignment(graph, context).run()


class _Assignment:
    """One run over one graph: the dtypes of the model and the casts made so far."""

    def __init__(self, graph: Graph, context: PassContext) -> None:
        self._graph = graph
        self._context = context
        self._origin = {value: value.type.dtype for value in graph.values()}
        self._casts: dict[tuple[Value, DType], Value] = {}
        self._sink = Sink()

    def run(self) -> int:
        """Type all nodes, then restore the outputs' dtypes."""
        for node in list(self._graph.nodes):
            self._assign(node)
        self._sink.raise_errors()
        self._graph.outputs = [
            self._cast(value, self._origin[value]) for value in self._graph.outputs
        ]
        return len(self._casts)

    def _assign(self, node: Node) -> None:
        """Choose for one node, or keep the reason why nothing fits."""
        row = find_operator(node.op)
        if row is None:
            return
        if node.op == "Cast":
            node.engine = cast_engine(node)
            return
        may_narrow = self._context.precision_mode is PrecisionMode.ALLOW_FP32_TO_FP16
        wanted = self._wanted(node, row)
        choice = choose_column(node, row, self._context.soc, wanted, may_narrow=may_narrow)
        if choice is None:
            self._sink.add(self._refusal(node, row))
            return
        self._apply(node, choice)

    def _wanted(self, node: Node, row: TargetOp) -> tuple[list[DType], list[DType]]:
        """The dtypes that the mode wants for inputs and outputs by position."""
        if row.unit is Unit.LOCAL:
            current = [v.type.dtype if v else DType.FLOAT32 for v in node.inputs]
            return current, [current[0]] * len(node.outputs)
        inputs = [
            self._wish(value, row) if value is not None else DType.FLOAT32 for value in node.inputs
        ]
        for position, value in enumerate(node.inputs):
            operand = row.input_at(position)
            if value is not None and operand is not None and operand.value_depend:
                inputs[position] = value.type.dtype
        return inputs, [self._wish(value, row) for value in node.outputs]

    def _wish(self, value: Value, row: TargetOp) -> DType:
        """The dtype that the mode wants for one tensor of an operator."""
        origin = self._origin.get(value, value.type.dtype)
        mode = self._context.precision_mode
        narrow = mode is PrecisionMode.FORCE_FP16 or (
            mode is PrecisionMode.ALLOW_FP32_TO_FP16 and row.unit is Unit.CUBE
        )
        return DType.FLOAT16 if narrow and origin in _NARROWED else origin

    def _apply(self, node: Node, choice: Choice) -> None:
        """Give the node its engine and dtypes, with casts before it where they are needed."""
        node.engine = choice.engine
        node.attributes.update(choice.attributes)
        for position, value in enumerate(node.inputs):
            if value is not None:
                node.set_input(position, self._cast(value, choice.inputs[position]))
        for value, dtype in zip(node.outputs, choice.outputs, strict=True):
            value.type = value.type.with_dtype(dtype)

    def _cast(self, value: Value, dtype: DType) -> Value:
        """`value` as `dtype`; one Cast serves all its users."""
        if value.type.dtype is dtype:
            return value
        key = (value, dtype)
        if key not in self._casts:
            self._casts[key] = insert_cast(self._graph, value, dtype)
        return self._casts[key]

    def _refusal(self, node: Node, row: TargetOp) -> Diagnostic:
        """Why no column fits, with what there is instead."""
        soc = self._context.soc
        values = (*node.present_inputs, *node.outputs)
        wanted = sorted({self._wish(value, row).value for value in values})
        origin = node.origins[0] if node.origins else None
        place = Place(
            self._context.file,
            origin.index if origin else None,
            origin.name if origin else None,
            origin.op_type if origin else node.op,
        )
        message = (
            f"{node.op} has no kernel for {', '.join(wanted)} on {soc.name} "
            f"with {self._context.precision_mode.value}"
        )
        return NO_KERNEL.diagnostic(
            message, place=place, help=_way_out(node, row, soc_help=soc.name)
        )


def _way_out(node: Node, row: TargetOp, *, soc_help: str) -> str:
    """What the operator takes instead, and which limit keeps it off the AI Core."""
    from atc_py.target import find_soc

    offered = offered_columns(node, row, find_soc(soc_help))
    floats = any(value.type.dtype.is_float for value in node.present_inputs)
    alike = [choice for choice in offered if choice.outputs[0].is_float is floats] or offered
    dtypes = sorted({choice.outputs[0].value for choice in alike})
    text = f"it takes {', '.join(dtypes)} here" if dtypes else "it has no kernel here"
    limit = broken_limit(node, row)
    if limit is not None:
        bound = "the product of " if limit.product else ""
        text += f"; the AI Core takes {bound}{limit.attribute} in [{limit.low}, {limit.high}] only"
    return f"{text}; try --precision-mode force_fp16 or another --soc"
