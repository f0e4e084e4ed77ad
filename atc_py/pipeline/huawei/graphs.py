"""The graph of a real model in the target's operators: launches opened, operators that are known."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, partial

import msgspec

from atc_py.ir import Engine, Graph, Node, Origin, Phase, Value
from atc_py.package.ge.graph import GeEdge, GeOp, GeOperand
from atc_py.package.ge.launches import GeLaunch, model_launches
from atc_py.package.ge.model import CONSTANT_OPS, INPUT_OPS, OUTPUT_OPS, HuaweiModel
from atc_py.package.ge.pictures import model_pictures
from atc_py.package.ge.tasks import GeKernel
from atc_py.pipeline.huawei.building import LaunchBuilder
from atc_py.pipeline.huawei.convolutions import filter_groups
from atc_py.pipeline.huawei.fused import (
    RESULT,
    FusedLaunch,
    OpenedOperator,
    input_names,
    is_fused,
    open_launch,
)
from atc_py.pipeline.huawei.launch_operator import LaunchOperator
from atc_py.pipeline.huawei.network import NetworkNode
from atc_py.pipeline.huawei.operators import add_operation
from atc_py.pipeline.huawei.tensors import NotModeledError, constant_data, tensor_type
from atc_py.target import is_view
from atc_py.text import Text, error_text

_CONVOLUTIONS = ("Conv", "Depthwise")
_AICPU = "aicpu"
_SLOT = re.compile(r"__input\d+$|$")
_OUTPUT = re.compile(r"(?P<op>.+):(?P<index>\d+):(?P<name>.+)$", re.DOTALL)


class Missing(msgspec.Struct, frozen=True):
    """An op of the file that the graph lacks.

    Attributes:
        op: its name.
        type: CANN's operator.
        reason: why.
        is_cause: nothing here computes it; False of one that needs the result of such a one.
    """

    op: str
    type: str
    reason: Text
    is_cause: bool


class Imported(msgspec.Struct, frozen=True):
    """A real model as a graph.

    Attributes:
        graph: in phase laid out.
        launches: the file's launches by the name of their first node.
        places: offsets in the file's arena of results.
        missing: the ops that it lacks.
        assumed: what was assumed of launches, by their op.
        lost: names of outputs that nothing computes.
    """

    graph: Graph
    launches: dict[str, GeLaunch]
    places: dict[Value, int]
    missing: list[Missing]
    assumed: dict[str, Text]
    lost: list[str]


def import_graph(model: HuaweiModel, network: Mapping[str, NetworkNode] | None = None) -> Imported:
    """The graph of a model.

    Args:
        model: of the file.
        network: nodes of the ONNX file that it was made of, by name.

    Raises:
        AtcError: BAD_HUAWEI_MODEL.
    """
    return _Importer(model, network or {}).imported()


class _Importer:
    """Walks over the ops of the main graph in order."""

    def __init__(self, model: HuaweiModel, network: Mapping[str, NetworkNode]) -> None:
        self._model, self._network = model, network
        name = model.graphs[0].name if model.graphs else model.header.name
        self._graph = Graph(name, Phase.LAID_OUT)
        self._ops = model.graphs[0].by_name if model.graphs else {}
        self._values: dict[GeEdge, Value] = {}
        self._constants: dict[tuple[str, int], Value] = {}
        self._origins: dict[str, Origin] = {}
        self._launches = {launch.op.name: launch for launch in model_launches(model)}
        self._result = Imported(self._graph, {}, {}, [], {}, [])
        self._pictures = {each.op: each.settings for each in model_pictures(model)}
        self._absent: set[str] = set()
        self._scope = 0

    def imported(self) -> Imported:
        inputs = [op for op in self._model.ops if op.type in INPUT_OPS]
        for op in sorted(inputs, key=lambda op: op.attributes.number("index")):
            self._add_input(op)
        for op in self._model.ops:
            if op.type not in INPUT_OPS | CONSTANT_OPS | OUTPUT_OPS:
                self._add_op(op)
        for op in self._model.ops:
            if op.type in OUTPUT_OPS:
                self._add_outputs(op)
        return self._result

    def _add_input(self, op: GeOp) -> None:
        if not op.outputs:
            self._miss(op, Text("an input has no dtype and dims"))
            return
        try:
            value = self._graph.add_input(op.name, tensor_type(op.outputs[0]))
        except ValueError as error:
            self._miss(op, error_text(error))
            return
        value.stands_for = (op.name,)
        self._values[GeEdge(op.name, 0)] = value

    def _add_op(self, op: GeOp) -> None:
        """Add the nodes of an op, or note that it is missing."""
        before = len(self._graph.nodes)
        try:
            made, values = self._nodes_of(op)
        except (ValueError, ArithmeticError, LookupError) as error:  # of a file that is damaged
            dead = self._graph.nodes[before:]
            self._graph.remove_nodes(dead)
            self._miss(op, error_text(error))
            return
        self._finish(op, made)
        for at, value in enumerate(values):
            self._values[GeEdge(op.name, at)] = value
            if at < len(op.output_offsets):
                self._result.places[value] = op.output_offsets[at]

    def _nodes_of(self, op: GeOp) -> tuple[list[Node], tuple[Value, ...]]:
        if op.subgraphs:
            raise NotModeledError(Text("{op} runs graphs of its own", op=op.type))
        launch = self._launches.get(op.name)
        results = [tensor_type(desc) for desc in op.outputs]
        if not results:
            raise NotModeledError(Text("{op} writes nothing", op=op.type))
        steps = self._steps(op, launch)
        assumptions: list[Text] = []
        name = _name_of(op, launch)
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
                self._network.get(step.node),
                self._pictures.get(op.name),
                partial(self._kernel_of, launch),
                assumptions,
            )
            value = add_operation(operation, builder)
            if step.assumed:
                assumptions.append(Text("{op} is taken to read the result before it", op=step.type))
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

    def _steps(self, op: GeOp, launch: GeLaunch | None) -> list[OpenedOperator]:
        """The operators of an op, with values as operands."""
        operands = op.operands()
        has_filter = op.type.startswith(_CONVOLUTIONS) and len(operands) > 1
        groups = _groups(op, operands) if has_filter else 1
        values = [
            None
            if each.edge is None or each.desc.is_absent
            else self._value(each.edge, groups if has_filter and at == 1 else 1)
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

    def _value(self, edge: GeEdge, groups: int) -> Value:
        """The value that an op reads; a constant is unpacked for so many groups.

        Raises:
            NotModeledError: nothing computes it.
        """
        known = self._values.get(edge)
        if known is not None:
            return known
        producer = self._ops.get(edge.producer)
        if producer is not None and producer.type in CONSTANT_OPS:
            key = edge.producer, groups
            if key not in self._constants:
                data, kind = constant_data(self._model, producer, groups)
                name = self._graph.fresh_name(producer.name)
                self._constants[key] = Value(name, kind, data)
            return self._constants[key]
        raise NotModeledError(Text("it needs the result of {op}", op=edge.producer))

    def _origins_of(
        self, step: OpenedOperator, launch: GeLaunch | None, *, is_last: bool
    ) -> tuple[Origin, ...]:
        """The network's nodes that a step computes; the head has those that no step names."""
        if launch is None:
            return ()
        nodes = (step.node, *step.folded) if step.node else launch.nodes if is_last else ()
        return tuple(self._origin(name, step.type) for name in nodes)

    def _origin(self, name: str, type_: str) -> Origin:
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
        if op.name in self._launches:
            self._result.launches[first.name] = self._launches[op.name]
        ends = {node.origins[-1].name: node for node in made if node.origins}
        for origin, node in ends.items():
            known = self._network.get(origin)
            names = (origin,) if known is None else known.outputs
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
                name = node.outputs[0]
            value = None if operand.edge is None else self._values.get(operand.edge)
            if value is None or value.const is not None:
                self._result.lost.append(name)
                continue
            taken = self._graph.output_names
            name = name if name not in taken else f"{name}.{at}"
            value.stands_for = (*value.stands_for, name)
            self._graph.add_output(value, name)

    def _miss(self, op: GeOp, reason: Text) -> None:
        self._absent.add(op.name)
        producers = {edge.producer for edge in op.edges if edge is not None}
        is_cause = not producers & self._absent
        self._result.missing.append(Missing(op.name, op.type, reason, is_cause))


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


def _name_of(op: GeOp, launch: GeLaunch | None) -> str:
    """The name of an op's result: that of the last node of the network that it computes."""
    return launch.nodes[-1] if launch is not None and launch.nodes else op.name
