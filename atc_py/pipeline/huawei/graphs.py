"""The graph of a real model in the target's operators: launches opened, operators that are known."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, partial

import msgspec

from atc_py.ir import Engine, Graph, Node, Origin, Phase, Value
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.options.gears import SHAPE_DATA
from atc_py.package.ge.graph import GeEdge, GeOp, GeOperand
from atc_py.package.ge.launches import GeLaunch, model_launches
from atc_py.package.ge.model import CONSTANT_OPS, INPUT_OPS, OUTPUT_OPS, HuaweiModel
from atc_py.package.ge.pictures import data_inputs, model_pictures
from atc_py.package.ge.tasks import GeKernel
from atc_py.pipeline.huawei.building import LaunchBuilder, LaunchOperator
from atc_py.pipeline.huawei.convolutions import filter_groups
from atc_py.pipeline.huawei.fused import (
    RESULT,
    FusedLaunch,
    OpenedOperator,
    input_names,
    is_fused,
    open_launch,
)
from atc_py.pipeline.huawei.gears import (
    FIRST_BRANCH_OPERAND,
    GraphScope,
    NeededError,
    chooses_gear,
    graph_of_gear,
    inputs_of_gear,
    plain_name,
)
from atc_py.pipeline.huawei.operators import add_operation
from atc_py.pipeline.huawei.pictures import picture_type
from atc_py.pipeline.huawei.tensors import NotModeledError, constant_data, tensor_type
from atc_py.target import is_view
from atc_py.text import Text, error_text

_CONVOLUTIONS = ("Conv", "Depthwise")
_PLACES = INPUT_OPS | CONSTANT_OPS | OUTPUT_OPS
_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
_DEEPEST = 16
"""Graphs that run graphs."""

_AICPU = "aicpu"
_SLOT = re.compile(r"__input\d+$|$")
_OUTPUT = re.compile(r"(?P<op>.+):(?P<index>\d+):(?P<name>.+)$", re.DOTALL)


class Missing(msgspec.Struct, frozen=True):
    """An op of the file that the graph lacks."""

    op: str
    type: str  # CANN's operator
    reason: Text
    is_cause: bool  # nothing here computes it; False of one that needs the result of such a one


class Imported(msgspec.Struct, frozen=True):
    """A real model as a graph."""

    graph: Graph  # in phase laid out
    launches: dict[str, GeLaunch]  # the file's launches by the name of their first node
    places: dict[Value, int]  # offsets in the file's arena of results
    missing: list[Missing]  # the ops that it lacks
    assumed: dict[str, Text]  # what was assumed of launches, by their op
    lost: list[str]  # names of outputs that nothing computes


def import_graph(
    model: HuaweiModel, network: Mapping[str, OnnxNode] | None = None, gear: int | None = None
) -> Imported:
    """The graph of a model.

    `network` are nodes of the ONNX file that it was made of, by name; `gear` is the position of the
    gear whose graph it is.
    """
    return _Importer(model, network or {}, gear).imported()


class _Importer:
    """Walks over the ops of the main graph in order, and of those that they run."""

    def __init__(
        self, model: HuaweiModel, network: Mapping[str, OnnxNode], gear: int | None
    ) -> None:
        self._model, self._network, self._gear = model, network, gear
        self._case = None if gear is None else model.gear_case
        self._graph = Graph(model.graphs[0].name, Phase.LAID_OUT)
        self._main = GraphScope(model.graphs[0])
        self._unused = {graph.name: graph for graph in reversed(model.graphs[1:])}
        self._constants: dict[tuple[GeOp, int], Value] = {}
        self._origins: dict[str, Origin] = {}
        self._launches = {launch.op: launch for launch in model_launches(model)}
        self._result = Imported(self._graph, {}, {}, [], {}, [])
        pictures = list(model_pictures(model))
        self._pictures = {each.op: each.settings for each in pictures}
        self._fed = {each.input: each.settings for each in pictures if each.input}
        self._scope = 0

    def imported(self) -> Imported:
        own = {}
        if self._case is not None and self._gear is not None:
            own = inputs_of_gear(self._model, self._case, self._gear)
        for op in data_inputs(self._model):
            if op.name != SHAPE_DATA or self._case is None:
                self._add_input(op, own.get(op.name, op))
        self._walk(self._main, 0)
        for op in self._model.ops:
            if op.type in OUTPUT_OPS:
                self._add_outputs(op)
        return self._result

    def _walk(self, scope: GraphScope, depth: int) -> None:
        for op in scope.graph.ops:
            is_of_choice = self._case not in {None, op} and chooses_gear(op)
            if op.type in _PLACES or is_of_choice:
                continue
            if not op.subgraphs:
                self._add_op(op, scope)
                continue
            try:
                self._add_call(op, scope, depth)
            except NotModeledError as error:
                self._miss(op, scope, error)

    def _add_call(self, op: GeOp, scope: GraphScope, depth: int) -> None:
        if op is self._case and self._gear is not None:
            name, first = graph_of_gear(self._model, op, self._gear).name, FIRST_BRANCH_OPERAND
        elif op.type in _CALLS and len(op.subgraphs) == 1:
            name, first = op.subgraphs[0], 0
        else:
            raise NotModeledError(
                Text("the graph that {op} runs, and how often, is decided at run time", op=op.type)
            )
        graph = self._unused.pop(name, None)
        if graph is None or depth >= _DEEPEST:
            text = Text("graph {name} does not exist, or runs in several places", name=repr(name))
            raise NotModeledError(text)
        self._walk(scope.called(op, graph, first), depth + 1)

    def _add_input(self, op: GeOp, own: GeOp) -> None:
        """Add an input, with the type that it has in the gear."""
        if not own.outputs:
            self._miss(op, self._main, NotModeledError(Text("an input has no dtype and dims")))
            return
        try:
            kind = tensor_type(own.outputs[0])
            if own.name in self._fed:
                kind = picture_type(self._fed[own.name], kind)
            value = self._graph.add_input(op.name, kind)
        except ValueError as error:
            self._miss(op, self._main, error)
            return
        value.stands_for = (op.name,)
        self._main.values[GeEdge(op.name, 0)] = value

    def _add_op(self, op: GeOp, scope: GraphScope) -> None:
        before = len(self._graph.nodes)
        try:
            made, values = self._nodes_of(op, scope)
        except (ValueError, ArithmeticError, LookupError) as error:  # of a file that is damaged
            dead = self._graph.nodes[before:]
            self._graph.remove_nodes(dead)
            self._miss(op, scope, error)
            return
        self._finish(op, made)
        for at, value in enumerate(values):
            scope.values[GeEdge(op.name, at)] = value
            if at < len(op.output_offsets):
                self._result.places[value] = op.output_offsets[at]

    def _nodes_of(self, op: GeOp, scope: GraphScope) -> tuple[list[Node], tuple[Value, ...]]:
        launch = self._launches.get(op)
        results = [tensor_type(desc) for desc in op.outputs]
        if not results:
            raise NotModeledError(Text("{op} writes nothing", op=op.type))
        steps = self._steps(op, scope, launch)
        assumptions: list[Text] = []
        name = plain_name(launch.nodes[-1] if launch is not None and launch.nodes else op.name)
        builder = LaunchBuilder(self._graph, _engine(launch), name)
        value: Value | None = None
        for at, step in enumerate(steps):
            is_last = at == len(steps) - 1
            builder.origins = self._origins_of(step, launch, is_last=is_last)
            builder.name = (*step.folded, step.node, name)[0] or name
            operands = {
                name: (value or builder.made[-1].output) if operand is RESULT else operand
                for name, operand in step.operands.items()
            }
            operation = LaunchOperator(
                step.type,
                {name: each for name, each in operands.items() if isinstance(each, Value)},
                op.attributes,
                results,
                at == 0,
                is_last,
                self._network.get(plain_name(step.node)),
                self._pictures.get(op.name),
                partial(self._kernel_of, launch),
                assumptions,
            )
            value = add_operation(operation, builder)
            if step.assumed:
                assumptions.append(
                    Text("{op} is assumed to read the previous result", op=step.type)
                )
        if value is None or value.type.dims != results[0].dims:
            raise NotModeledError(Text("its operators do not lead to the dims of its result"))
        if assumptions:
            self._result.assumed[op.name] = assumptions[0]
        last = value.producer
        return builder.made, (value,) if last is None else last.outputs

    def _kernel_of(self, launch: GeLaunch | None) -> bytes:
        """The binary of a launch's kernel; nothing where the file has none of that name."""
        kernel = self._kernels.get("" if launch is None else launch.kernel)
        return b"" if kernel is None else bytes(self._model.data(kernel.span))

    @cached_property
    def _kernels(self) -> dict[str, GeKernel]:
        return {kernel.name: kernel for kernel in self._model.kernels}

    def _steps(self, op: GeOp, scope: GraphScope, launch: GeLaunch | None) -> list[OpenedOperator]:
        """The operators of an op, with values as operands."""
        operands = op.operands()
        has_filter = op.type.startswith(_CONVOLUTIONS) and len(operands) > 1
        groups = _groups(op, operands) if has_filter else 1
        values = [
            None
            if each.edge is None or each.desc.is_absent
            else self._value(scope, each.edge, groups if has_filter and at == 1 else 1)
            for at, each in enumerate(operands)
        ]
        nodes = launch.nodes if launch is not None else ()
        kernel = launch.kernel if launch is not None else ""
        if is_fused(kernel):
            types = op.attributes.texts("_datadump_original_op_types")
            last = op.outputs[0].attributes.text("_datadump_origin_name")
            return open_launch(FusedLaunch(op.type, kernel, tuple(values), nodes, types, last))
        names = input_names(op.type)
        named: dict[str, Value | str] = {}
        for at, (each, value) in enumerate(zip(operands, values, strict=True)):
            if value is not None:
                known = names[at] if at < len(names) else f"{names[-1] if names else 'x'}.{at}"
                named[known if _SLOT.match(each.name) else each.name] = value
        return [OpenedOperator(op.type, named, nodes[-1] if nodes else "")]

    def _value(self, scope: GraphScope, edge: GeEdge, groups: int = 1) -> Value:
        """The value that an op reads; a constant is unpacked for so many groups."""
        scope, edge = scope.origin_of(edge)
        known = scope.values.get(edge)
        if known is not None:
            return known
        producer = scope.graph.by_name.get(edge.producer)
        if producer is not None and producer.type in CONSTANT_OPS:
            key = producer, groups
            if key not in self._constants:
                data, kind = constant_data(self._model, producer, groups)
                name = self._graph.fresh_name(producer.name)
                self._constants[key] = Value(name, kind, data)
            return self._constants[key]
        text = Text("it needs the result of {op}", op=edge.producer)
        raise NeededError(text) if edge.producer in scope.absent else NotModeledError(text)

    def _origins_of(
        self, step: OpenedOperator, launch: GeLaunch | None, *, is_last: bool
    ) -> tuple[Origin, ...]:
        """The network's nodes that a step computes; the head has those that no step names."""
        if launch is None:
            return ()
        nodes = (step.node, *step.folded) if step.node else launch.nodes if is_last else ()
        return tuple(self._origin(name, step.type) for name in nodes)

    def _origin(self, name: str, type_: str) -> Origin:
        name = plain_name(name)
        if name not in self._origins:
            node = self._network.get(name)
            self._origins[name] = (
                Origin(len(self._origins), name, type_)
                if node is None
                else Origin(node.index, name, node.op_type)
            )
        return self._origins[name]

    def _finish(self, op: GeOp, made: list[Node]) -> None:
        """Make the nodes of an op one launch, and note what they are of the network."""
        if len(made) > 1:
            self._scope += 1
            for node in made:
                node.scope = self._scope
        first = next((node for node in made if not is_view(node.op)), made[0])
        if op in self._launches:
            self._result.launches[first.name] = self._launches[op]
        ends = {node.origins[-1].name: node for node in made if node.origins}
        for origin, node in ends.items():
            known = self._network.get(origin)
            names = (origin,) if known is None else known.output_names
            for value, name in zip(node.outputs, names, strict=False):
                value.stands_for = (name,)

    def _add_outputs(self, op: GeOp) -> None:
        named = self._model.attributes.texts("attr_model_out_nodes_name")
        for at, operand in enumerate(op.operands()):
            known = operand.desc.attributes.text("_origin_output_tensor_name")
            match = _OUTPUT.match(named[at]) if at < len(named) else None
            name = known or (match["name"] if match else f"output_{at}")
            node = self._network.get(name)
            if node is not None and not known:
                name = node.output_names[0]
            try:
                value = None if operand.edge is None else self._value(self._main, operand.edge)
            except NotModeledError:
                value = None
            if value is None or value.const is not None:
                self._result.lost.append(name)
                continue
            taken = self._graph.output_names
            name = name if name not in taken else f"{name}.{at}"
            value.stands_for = (*value.stands_for, name)
            self._graph.add_output(value, name)

    def _miss(self, op: GeOp, scope: GraphScope, error: Exception) -> None:
        scope.absent.add(op.name)
        is_cause = not isinstance(error, NeededError)
        self._result.missing.append(Missing(op.name, op.type, error_text(error), is_cause))


def _groups(op: GeOp, operands: Sequence[GeOperand]) -> int:
    """The groups of a convolution; a fused one has lost them."""
    if "strides" in op.attributes:
        return op.attributes.number("groups", 1)
    data, result = operands[0].desc.origin_dims, op.outputs[0].origin_dims
    if min(len(data), len(result)) < 2:  # noqa: PLR2004  (batch and channels)
        return 1
    return filter_groups(op.type, data[1], result[1], operands[1].desc.origin_dims)


def _engine(launch: GeLaunch | None) -> Engine:
    name = launch.engine if launch is not None else ""
    return Engine.AICPU if _AICPU in name.lower() else Engine.AICORE
