"""Where a board is off: the difference of board and simulator, followed through the network.

Both round, and in other orders. They agree on a layer while they are as close as AGREEING_ROUNDINGS
roundings of its dtype, or AGREEING_FACTOR times the simulator's own error. Beyond that, a difference
that is more than INTRODUCED_FACTOR times the largest among what the layer reads began there, as in a
comparison with the original; values that were not dumped pass it on.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from atc_py.compare.board.beside import Distances
from atc_py.compare.board.values import BoardResult, BoardValues
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.package.ge.graph import GeOp
from atc_py.package.ge.launches import launch_nodes
from atc_py.package.ge.model import CONSTANT_OPS, INPUT_OPS
from atc_py.results.board import (
    AGREEING_FACTOR,
    AGREEING_ROUNDINGS,
    BoardLayer,
    BoardNode,
    LayerState,
    LayerVerdict,
    NodeFate,
)
from atc_py.results.comparison import GRIDS, HF32
from atc_py.results.layer import FAILING_DISTANCE, FAILING_SHARE, INTRODUCED_FACTOR
from atc_py.system.structs import replace
from atc_py.text import Text

_CONTROL = frozenset({"If", "While", "Case", "For", "StatelessIf", "PartitionedCall"})
_AGREEING_SHARE = 0.02
"""Share of integers that may differ: codes that stand at the border of two."""


def board_layers(
    values: BoardValues, distances: Mapping[int, Distances], nodes: Sequence[OnnxNode]
) -> tuple[BoardLayer, ...]:
    """The board's results with verdicts, in the order of execution."""
    layers = [_layer(each, distances.get(at)) for at, each in enumerate(values.results)]
    return tuple(_Trace(layers, values.by_value, nodes).judged())


def _layer(result: BoardResult, found: Distances | None) -> BoardLayer:
    tensor = result.tensor
    state, reason = LayerState.COMPARED, "" if found is None else found.reason
    if tensor.statistics is not None:
        state = LayerState.STATISTICS
    if found is None or reason:
        is_step = found is None and not result.inserted
        state = LayerState.STEP if is_step else LayerState.UNREAD
    if result.inserted:
        state = LayerState.CONVERSION
        reason = reason or _purpose(result)
    if state is LayerState.STEP:
        reason = Text("a step on the way to a value of the original")
    return BoardLayer(
        op=result.op,
        type=result.type,
        output=result.output,
        nodes=result.nodes,
        value=result.value,
        dtype=tensor.dtype,
        layout=tensor.layout,
        shape=tensor.origin_dims or tensor.dims,
        state=state,
        reason=reason,
        board=None if found is None else found.board,
        simulator=None if found is None else found.simulator,
        between=None if found is None else found.between,
    )


def _purpose(result: BoardResult) -> Text:
    if result.type == "Cast":
        return Text("inserted by atc: to {dtype}", dtype=result.tensor.dtype)
    if result.type == "TransData":
        return Text("inserted by atc: to {format}", format=result.tensor.layout)
    return Text("inserted by atc")


class _Reached(NamedTuple):
    """Differences that reach a value, and the layers where they began; -1 for none."""

    between: float = 0.0
    root: int = -1
    common: float = 0.0


class _Trace:
    """Differences by value, followed in the order of the network."""

    def __init__(
        self,
        layers: list[BoardLayer],
        by_value: Mapping[str, Collection[int]],
        nodes: Sequence[OnnxNode],
    ) -> None:
        self._layers, self._by_value, self._nodes = layers, by_value, nodes
        self._reached: dict[str, _Reached] = {}

    def judged(self) -> list[BoardLayer]:
        made = {name for node in self._nodes for name in node.writes}
        for name in self._by_value.keys() - made:  # conversions of inputs
            self._reached[name] = self._judge(self._by_value[name], _Reached())
        for node in self._nodes:
            before = _worst(self._reached.get(name, _Reached()) for name in node.reads)
            for name in node.writes:
                self._reached[name] = self._judge(self._by_value.get(name, ()), before)
        return self._layers

    def _judge(self, places: Collection[int], before: _Reached) -> _Reached:
        """Judge the results that stand for a value, the op's own first, then conversions of it."""
        reached = before
        for at in sorted(places, key=lambda at: (not self._layers[at].nodes, at)):
            layer = self._layers[at]
            if layer.between is None and layer.board is None:
                continue
            self._layers[at], reached = _verdict(layer, at, reached)
        return reached


def _worst(reached: Iterable[_Reached]) -> _Reached:
    found = [*reached] or [_Reached()]
    worst = max(found, key=lambda each: each.between)
    return worst._replace(common=max(each.common for each in found))


def _verdict(layer: BoardLayer, at: int, before: _Reached) -> tuple[BoardLayer, _Reached]:
    between, own = layer.error(layer.between), layer.error(layer.simulator)
    board = layer.error(layer.board)
    common = min(own, board) if layer.between is not None else board
    if layer.between is None:
        verdict = LayerVerdict.UNKNOWN
    elif between > agreeing_error(layer):
        has_original = layer.board is not None
        is_ours = has_original and INTRODUCED_FACTOR * board < own
        verdict = LayerVerdict.SIMULATOR if is_ours else LayerVerdict.BOARD
    else:
        failing = FAILING_DISTANCE if layer.is_float else FAILING_SHARE
        verdict = LayerVerdict.BOTH if min(own, board) > failing else LayerVerdict.GOOD
    is_off = verdict in {LayerVerdict.BOARD, LayerVerdict.SIMULATOR}
    begins = is_off and (before.root < 0 or between > INTRODUCED_FACTOR * before.between)
    root = (at if begins else before.root) if is_off else -1
    is_common = verdict is LayerVerdict.BOTH and common > INTRODUCED_FACTOR * before.common
    judged = replace(
        layer,
        verdict=verdict,
        introduced=begins or is_common,
        root=root if root >= 0 else None,
    )
    return judged, _Reached(between, root, common)


def agreeing_error(layer: BoardLayer) -> float:
    if not layer.is_float:
        return max(_AGREEING_SHARE, AGREEING_FACTOR * layer.error(layer.simulator))
    unit = GRIDS.get(layer.dtype, HF32).unit
    return max(AGREEING_ROUNDINGS * unit, AGREEING_FACTOR * layer.error(layer.simulator))


class Fates:
    """The outcome of each node of the network: compared, fused, removed, not dumped."""

    def __init__(self, layers: Sequence[BoardLayer], values: BoardValues) -> None:
        self._layers = {each.value: each for each in reversed(layers) if each.value}
        self._dumped, self._damaged = values.dumped_ops(), values.damaged
        self._ops, self._has_model = values.ops, values.has_model
        self._within: dict[str, GeOp] = {}
        for op in values.ops.values():
            for name in launch_nodes(op):
                self._within.setdefault(name, op)

    def of(self, node: OnnxNode) -> BoardNode:
        layers = [self._layers[name] for name in node.writes if name in self._layers]
        compared = next((each for each in layers if each.board is not None), None)
        if compared is not None:
            return self._fated(node, NodeFate.COMPARED, compared.op)
        if layers:
            return self._fated(node, NodeFate.UNREAD, layers[0].op, layers[0].reason)
        op = self._within.get(node.name)
        if op is not None:
            return self._of_op(node, op)
        if not self._has_model:
            text = Text("no dump names it: fused, folded, without a task, or not dumped")
            return self._fated(node, NodeFate.NOT_DUMPED, "", text)
        return self._fated(node, NodeFate.REMOVED, "", Text("folded, or not needed"))

    def _of_op(self, node: OnnxNode, op: GeOp) -> BoardNode:
        names = launch_nodes(op)
        if op.type in CONSTANT_OPS:
            return self._fated(node, NodeFate.REMOVED, op.name, Text("it became a constant"))
        if op.attributes.flag("_no_task"):
            return self._fated(node, NodeFate.NO_TASK, op.name, Text("it moves no data"))
        if len(names) > 1 and names[-1] != node.name:
            return self._fated(node, NodeFate.FUSED, op.name)
        return self._fated(node, NodeFate.NOT_DUMPED, op.name, self._why_not_dumped(op))

    def _why_not_dumped(self, op: GeOp) -> Text:
        if op.name in self._damaged:
            return Text("its dump is damaged")
        if op.name in self._dumped:
            return Text("its dump has no result that corresponds to it")
        if op.type in _CONTROL:
            return Text("boards do not dump control flow")
        if op.type in INPUT_OPS:
            return Text("boards do not dump inputs")
        return Text("it has no dump: not run, or left out of the list")

    def _fated(self, node: OnnxNode, fate: NodeFate, where: str, reason: str = "") -> BoardNode:
        return BoardNode(
            node.name or next(iter(node.writes), ""), node.op_type, fate, where, reason
        )
