"""Chooses dtypes and engine of every node as the precision mode says, and inserts casts."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeAlias

from atc_py.diag import Code, Sink
from atc_py.ir import Engine, Graph, Node, Value
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.precision.columns import (
    Choice,
    broken_limit,
    cast_engine,
    choose_column,
    insert_cast,
)
from atc_py.passes.precision.decisions import Decision, refusal_of
from atc_py.passes.precision.implementations import assign_implementations, assign_products
from atc_py.passes.precision.mix_lists import MixList, has_lists
from atc_py.passes.precision.requested_dtypes import (
    SHORT,
    DtypeRequest,
    NodeTensors,
    customised,
    kept_if_possible,
    requests,
)
from atc_py.target import TargetOp, Unit, find_operator
from atc_py.tensor.dtypes import DType
from atc_py.text import Text


def tensors_of(
    node: Node, row: TargetOp, origin: Mapping[Value, DType], context: PassContext
) -> NodeTensors:
    """The facts about `node`; `origin` has the dtypes of the model."""
    controls, family = context.controls, context.soc.family
    published = has_lists(family) and not controls.moves(node.op)
    return NodeTensors(
        node.op,
        tuple(origin.get(value, value.type.dtype) if value else None for value in node.inputs),
        tuple(origin[value] for value in node.outputs),
        frozenset(row.numbers_at(len(node.inputs))),
        controls.list_of(node.op, family),
        source_of(node, context),
        family.value if published else "",
    )


def source_of(node: Node, context: PassContext) -> tuple[str, DType] | None:
    """The source of the first float input, and its dtype; None without such an input.

    Inputs of the model count like nodes. Constants come last, as CANN's fusion engine sorts them.
    """
    floats = [value for value in node.present_inputs if value.type.dtype.is_float]
    for value in sorted(floats, key=lambda each: each.const is not None):
        found = _before_cast(value, context)
        return _name(found), found.type.dtype
    return None


def _name(value: Value) -> str:
    if value.producer is not None:
        return value.producer.op
    return (
        f"constant {value.name}" if value.const is not None else Text("input {at}", at=value.name)
    )


def _before_cast(value: Value, context: PassContext) -> Value:
    """Value before a Cast off the black list from the mode's 16 bits; else the value itself."""
    cast = value.producer
    if cast is None or cast.op != "Cast":
        return value
    source = cast.present_inputs[0]
    narrow = DType.BFLOAT16 if context.precision_mode.is_bfloat16 else DType.FLOAT16
    widens = source.type.dtype is narrow and value.type.dtype in _MADE[narrow]
    black = context.controls.list_of("Cast", context.soc.family) is MixList.BLACK
    return source if widens and not black else value


_MADE = {
    DType.FLOAT16: frozenset({DType.FLOAT32, DType.BFLOAT16}),
    DType.BFLOAT16: frozenset({DType.FLOAT32, DType.FLOAT16}),
}
"""The dtype to which a Cast widens the mode's 16 bits if a gray node looks through it."""


class AssignPrecisionPass(Pass):
    """For each node, the column nearest to the dtypes that the mode wants; casts where they differ.

    What each mode wants is in `requests`. A wider float may stand in for a narrower one, so an
    operator that only has float32 stays float32. AI Core columns come before AI CPU. Integers are
    never cast: int8 operands take the operator's int8 column in every mode, or none.
    Nodes that launch no kernel take what their input has. Graph inputs and outputs keep their
    dtypes unless the user names others. Every choice and every Cast is put on record.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        return _Assignment(graph, context).run()


_Sides: TypeAlias = "tuple[tuple[DType | None, ...], tuple[DType, ...]]"
"""Dtypes of inputs and outputs by position; None where an input is absent."""

_Chosen: TypeAlias = "tuple[DtypeRequest | None, tuple[DtypeRequest, Choice] | None]"
"""The first request where no column meets it, and the one that a column meets, if any."""


class _Assignment:
    """One run over one graph: the dtypes of the model and the casts made so far."""

    def __init__(self, graph: Graph, context: PassContext) -> None:
        self._graph = graph
        self._context = context
        self._controls = context.controls
        self._origin = {value: value.type.dtype for value in graph.values()}
        self._casts: dict[tuple[Value, DType], Value] = {}
        self._chosen: dict[tuple[object, ...], _Chosen] = {}
        self._sides: dict[_Sides, _Sides] = {}
        self._sink = Sink()

    def run(self) -> int:
        for value in self._graph.inputs:
            if value.name in self._controls.fp16_inputs:
                value.type = value.type.with_dtype(DType.FLOAT16)
        for node in list(self._graph.nodes):
            self._assign(node)
        self._sink.raise_errors()
        assign_implementations(self._graph, self._context)
        assign_products(self._graph, self._context)
        outputs = zip(self._graph.outputs, self._graph.output_names, strict=True)
        self._graph.set_outputs([self._output(value, name) for value, name in outputs])
        return len(self._casts)

    def _output(self, value: Value, name: str) -> Value:
        given = self._controls.output_dtype(name)
        dtype = given or self._origin[value]
        if value.type.dtype is dtype:
            return value
        reason = "output-type" if given else Text("the model's own dtype")
        text = Text("output {name} is {dtype}: {reason}")
        return self._cast(
            value, dtype, partial(text.with_values, name=name, dtype=dtype.value, reason=reason)
        )

    def _assign(self, node: Node) -> None:
        row = find_operator(node.op)
        if row is None:
            return
        if node.op == "Cast":
            node.engine = cast_engine(node, self._context.soc)
            self._record(node, "Cast of the model: unchanged", self._origins(node))
            return
        origin = self._origins(node)
        first, met = self._met_request(node, row, origin)
        if met is not None:
            request, choice = met
            self._apply(node, choice, request.rule, origin)
            if first is not None and first.otherwise is not None:
                self._warn(node, first.otherwise, request)
        elif first is not None:
            self._refuse(node, row, first)

    def _met_request(self, node: Node, row: TargetOp, origin: _Sides) -> _Chosen:
        """The first request that is not met, and what is: from a cache, as nodes are alike.

        In one model and without controls of nodes, requests are decided by the operator, dtypes of
        the model and, in the mixed modes and of what launches no kernel, by what gives the
        inputs; the columns by those, the present inputs and the limits on attributes.
        """
        if self._controls.concern_nodes:
            return self._first_met(node, row)
        before: object = None
        if row.unit is Unit.LOCAL:
            before = tuple([value.type.dtype if value else None for value in node.inputs])
        elif self._context.precision_mode.is_mixed:
            before = source_of(node, self._context)
        key = node.op, origin, before, broken_limit(node, row) is None
        known = self._chosen.get(key)
        if known is None:
            known = self._chosen[key] = self._first_met(node, row)
        return known

    def _first_met(self, node: Node, row: TargetOp) -> _Chosen:
        """The first request, where it is not met, and the first that is, with its column."""
        first: DtypeRequest | None = None
        for request in self._requests(node, row):
            choice = self._choose(node, row, request)
            if choice is not None:
                return first, (request, choice)
            first = first or request
        return first, None

    def _requests(self, node: Node, row: TargetOp) -> Iterator[DtypeRequest]:
        if row.unit is Unit.LOCAL:
            current = [v.type.dtype if v else DType.FLOAT32 for v in node.inputs]
            results = (current[0],) * len(node.outputs)
            yield DtypeRequest(tuple(current), results, "no kernel: as its input")
            return
        tensors = tensors_of(node, row, self._origin, self._context)
        asked = self._controls.custom.of(node)
        mode = self._context.precision_mode
        if asked is not None:
            yield customised(tensors, asked, next(requests(mode, tensors)))
        elif self._controls.keeps(node) and mode is not PrecisionMode.MUST_KEEP_ORIGIN_DTYPE:
            yield from kept_if_possible(tensors)
        else:
            yield from requests(mode, tensors)

    def _choose(self, node: Node, row: TargetOp, request: DtypeRequest) -> Choice | None:
        choice = choose_column(node, row, self._context.soc, request)
        if choice is None or not request.short:
            return choice
        present = [d for v, d in zip(node.inputs, choice.inputs, strict=True) if v is not None]
        return choice if SHORT & {*present, *choice.outputs} else None

    def _apply(self, node: Node, choice: Choice, rule: str, origin: _Sides) -> None:
        """Give the node its engine and dtypes, with casts before it where they are needed."""
        node.engine = choice.engine
        node.attributes.update(choice.attributes)
        for position, value in enumerate(node.inputs):
            if value is None:
                continue
            dtype = choice.inputs[position]
            taken = value
            if value.type.dtype is not dtype:
                reason = partial(_reason, node.name, node.op, dtype, choice.engine, rule)
                taken = self._cast(value, dtype, reason)
            node.set_input(position, taken)  # also the same one: uses come in the order of nodes
        for value, dtype in zip(node.outputs, choice.outputs, strict=True):
            if value.type.dtype is not dtype:
                value.type = value.type.with_dtype(dtype)
        self._record(node, rule, origin)

    def _origins(self, node: Node) -> _Sides:
        inputs = tuple([self._origin.get(v, v.type.dtype) if v else None for v in node.inputs])
        return self._shared((inputs, tuple([self._origin[value] for value in node.outputs])))

    def _record(self, node: Node, rule: str, origin: _Sides) -> None:
        inputs = tuple([value.type.dtype if value else None for value in node.inputs])
        chosen = self._shared((inputs, tuple([value.type.dtype for value in node.outputs])))
        self._context.decisions.nodes[node.name] = Decision(origin, chosen, rule)

    def _shared(self, sides: _Sides) -> _Sides:
        """Equal dtypes as one object: all nodes are on record, and many are alike."""
        return self._sides.setdefault(sides, sides)

    def _cast(self, value: Value, dtype: DType, reason: Callable[[], Text]) -> Value:
        """`value` as `dtype`; one Cast serves all users, the first is its reason."""
        key = (value, dtype)
        if key not in self._casts:
            result = self._casts[key] = insert_cast(self._graph, value, dtype, self._context.soc)
            if result.producer is not None:
                self._context.decisions.casts[result.producer.name] = reason
        return self._casts[key]

    def _warn(self, node: Node, code: Code, request: DtypeRequest) -> None:
        message = Text(
            "{op} has no such kernel on {soc}; {rule}",
            op=node.op,
            soc=self._context.soc.name,
            rule=Text(request.rule),
        )
        self._context.sink.add(code.diagnostic(message, place=self._context.place(node)))

    def _refuse(self, node: Node, row: TargetOp, request: DtypeRequest) -> None:
        place = self._context.place(node)
        local = row.unit is Unit.LOCAL
        tensors = None if local else tensors_of(node, row, self._origin, self._context)
        refusal = refusal_of(node, row, request, self._context.soc, place, tensors)
        self._context.decisions.refused.append(refusal)
        self._sink.add(refusal.diagnostic())


def _reason(node: str, op: str, dtype: DType, engine: Engine, rule: str) -> Text:
    return Text(
        "{node} ({op}) takes {dtype} on {engine}: {rule}",
        node=node,
        op=op,
        dtype=dtype.value,
        engine=engine.value,
        rule=Text(rule),
    )
