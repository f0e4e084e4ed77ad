"""A compiled graph as the parts of an ONNX model: nodes, functions, constants, inputs, outputs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import FunctionProto, NodeProto, ValueInfoProto, helper

from atc_py.device.backend import LoadedModel
from atc_py.device.ort.body import Body, Write, find_emulation, is_rounded
from atc_py.device.ort.branches import WrittenOperator, reads_of, with_branches
from atc_py.device.ort.elements import Initializer, element_type, held_dtype
from atc_py.device.ort.functions import Functions
from atc_py.device.ort.late_rounding import without_early_roundings
from atc_py.device.ort.node import CompiledNode, NoFormError
from atc_py.diag import NO_ONNX_FORM, Place, Sink
from atc_py.package.node_view import TensorFacts, read_attributes
from atc_py.package.schema import OmNode
from atc_py.package.stored_types import TRANS_DATA
from atc_py.target import find_operator
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_CONTROL = frozenset({"Switch", "Merge"})

_HELP = Text("run the model on the device `sim`, which has every operator")


@dataclass(slots=True)
class Emulated:
    """The parts of an exported model."""

    nodes: list[NodeProto]  # of the graph, producers first
    functions: list[FunctionProto]  # what they call; none of a flat model
    inputs: list[ValueInfoProto]  # of the graph, with their types
    outputs: list[ValueInfoProto]
    values: list[ValueInfoProto]  # types of the values in between
    initializers: list[Initializer]  # constants that nodes read
    # tensors of the package that nodes make, by the name of their value
    names: dict[str, int] = field(default_factory=dict)
    # by tensor that another storage format was moved to, the one that was moved
    stands_for: dict[int, int] = field(default_factory=dict)
    # node of the package that makes each value, by the name of their value
    makers: dict[str, OmNode] = field(default_factory=dict)
    # names of 16-bit floats, and of bounds in float32 that are on their grid
    on_grid: frozenset[str] = frozenset()

    def drop_early_roundings(self) -> None:
        """Leave out roundings that change nothing, of a flat model, except of its outputs."""
        outputs = {value.name for value in self.outputs}
        shown = (*self.inputs, *self.values, *self.outputs)
        number = element_type(DType.FLOAT32)
        others = {value.name for value in shown if value.type.tensor_type.elem_type != number}
        self.nodes = without_early_roundings(self.nodes, outputs, others, self.on_grid)

    def show(self, name: str) -> None:
        if all(value.name != name for value in self.outputs):
            at = next(index for index, value in enumerate(self.values) if value.name == name)
            self.outputs.append(self.values.pop(at))

    def show_wide(self, name: str) -> str:
        """Make a value of the graph an output in float32, in place of itself; return its name."""
        wide = f"{name}/float32"
        kept = [value for value in self.outputs if value.name != name]
        if len(kept) < len(self.outputs):
            self.outputs[:] = kept
        if all(value.name != wide for value in kept):
            number = element_type(DType.FLOAT32)
            self.nodes.append(helper.make_node("Cast", [name], [wide], wide, to=number))
            self.outputs.append(helper.make_tensor_value_info(wide, number, None))
        return wide


def emulate(model: LoadedModel, *, flat: bool) -> Emulated:
    """The model that computes what the device computes for `model`.

    Args:
        model: a verified package.
        flat: write the nodes of each operator into the graph instead of functions that it calls.

    Raises:
        AtcError: NO_ONNX_FORM for each node that has no form in ONNX's operators.
    """
    return Emulator(model, flat=flat).emulated()


class Emulator:
    """One model on its way; other forms than an emulation override how parts of it are made."""

    def __init__(self, model: LoadedModel, *, flat: bool) -> None:
        self._model = model
        self._flat = flat
        self._description = model.description
        self._types = [
            TensorFacts(DType.parse(tensor.dtype), tuple(tensor.shape))
            for tensor in self._description.tensors
        ]
        self._stands_for: dict[int, int] = {}
        self._names = self._value_names()
        self._taken = frozenset(self._names)
        self._named: set[str] = set()
        self._read = {self._real(port.tensor) for port in self._description.outputs}
        for node in self._description.nodes:
            self._read.update(map(self._real, node.inputs))
        self._functions = Functions()
        self._initializers: dict[str, Initializer] = {}
        self._makers: dict[str, OmNode] = {}
        self._on_grid = {
            name
            for name, facts in zip(self._names, self._types, strict=True)
            if is_rounded(facts.dtype)
        }
        self._sink = Sink()

    def is_move(self, node: OmNode) -> bool:
        """True if a node computes nothing: its result is another name of its operand."""
        return node.op == TRANS_DATA

    def write(self, op: str) -> tuple[Write, bool] | None:
        """The writer of an operator, and whether it moves elements alone; None for unknown ones."""
        found = find_emulation(op)
        return None if found is None else (found.write, found.moves)

    def make_body(self, facts: CompiledNode, inputs: dict[int, str], writes: Sequence[str]) -> Body:
        return Body(facts, inputs, writes, f"{facts.name}/", self._taken)

    def initializer(
        self, name: str, dtype: DType, shape: Sequence[int], read: Callable[[], NDArray[Any]]
    ) -> Initializer:
        return Initializer(name, held_dtype(dtype), tuple(shape), read)

    def converted(self, made: NDArray[Any]) -> NDArray[Any]:
        return made

    def emulated(self) -> Emulated:
        """The model.

        Raises:
            AtcError: NO_ONNX_FORM for each node that has no form.
        """
        units = [unit for unit in map(self._unit, range(len(self._description.nodes))) if unit]
        self._sink.raise_errors()
        try:
            nodes = with_branches(
                units, [self._name(port.tensor) for port in self._description.outputs]
            )
        except NoFormError as error:
            raise NO_ONNX_FORM.error(
                Text("control flow has no ONNX form: {error}", error=error), help=_HELP
            ) from None
        made = {value for node in nodes for value in node.output}
        aliases = [
            helper.make_node("Identity", [name], [port.name], f"{port.name}/Identity")
            for port, name in (
                (port, self._name(port.tensor)) for port in self._description.outputs
            )
            if name != port.name
        ]
        inputs = [self._info(port.name, port.tensor) for port in self._description.inputs]
        outputs = [self._info(port.name, port.tensor) for port in self._description.outputs]
        return Emulated(
            nodes + aliases,
            list(self._functions),
            inputs,
            outputs,
            [
                self._info(name, at)
                for at, name in enumerate(self._names)
                if name in made and name not in {port.name for port in self._description.outputs}
            ],
            list(self._initializers.values()),
            {name: at for at, name in enumerate(self._names) if name in made},
            self._stands_for,
            self._makers,
            frozenset(self._on_grid),
        )

    def _value_names(self) -> list[str]:
        """A name for each tensor: that of the port which it is, else its own, all apart."""
        for node in self._description.nodes:
            if self.is_move(node):
                source = node.inputs[0]
                self._stands_for[node.outputs[0]] = self._stands_for.get(source, source)
        constants = {at for at, tensor in enumerate(self._description.tensors) if tensor.member}
        fixed: dict[int, str] = {}
        for port in self._description.inputs:
            fixed[port.tensor] = port.name
        for port in self._description.outputs:
            real = self._real(port.tensor)
            if real not in constants:
                fixed.setdefault(real, port.name)
        ports = {port.name for port in (*self._description.inputs, *self._description.outputs)}
        taken = set(ports)
        names: list[str] = []
        for at, tensor in enumerate(self._description.tensors):
            name = fixed.get(at)
            if name is None:
                name = tensor.name
                while name in taken:
                    name += "_"
                taken.add(name)
            names.append(name)
        return names

    def _real(self, tensor: int) -> int:
        return self._stands_for.get(tensor, tensor)

    def _name(self, tensor: int) -> str:
        """The name of a tensor's value; empty where absent. Constants become initializers."""
        if tensor < 0:
            return ""
        tensor = self._real(tensor)
        name = self._names[tensor]
        source = self._description.tensors[tensor]
        if source.member is not None and name not in self._initializers:
            facts = self._types[tensor]
            read = partial(self._model.array, source.member)
            self._initializers[name] = self.initializer(name, facts.dtype, facts.shape, read)
        return name

    def _unit(self, index: int) -> WrittenOperator | None:
        node = self._description.nodes[index]
        if self.is_move(node):
            return None
        writes = [self._names[tensor] for tensor in node.outputs]
        self._makers.update(dict.fromkeys(writes, node))
        origin = tuple(node_origin.index for node_origin in node.origins)
        if node.op in _CONTROL:
            reads = [self._name(tensor) for tensor in node.inputs]
            return WrittenOperator(node.op, node.name, origin, reads, writes)
        try:
            nodes, reads = self._written(node, writes)
        except NoFormError as error:
            place = Place(node=index, node_name=node.name, op_type=node.op)
            self._sink.add(
                NO_ONNX_FORM.diagnostic(
                    Text("{op} has no ONNX form: {error}", op=node.op, error=error),
                    place=place,
                    help=_HELP,
                )
            )
            return None
        return WrittenOperator(node.op, node.name, origin, reads, writes, nodes)

    def _written(self, node: OmNode, writes: Sequence[str]) -> tuple[list[NodeProto], list[str]]:
        emulation = self.write(node.op)
        facts = self._facts(node)
        if emulation is None:
            raise NoFormError(Text("it has no emulation"))
        write, moves = emulation
        body = self._body(facts, writes)
        empty = _no_elements(body)
        written = write(body) if empty is None else empty
        results = [written] if isinstance(written, str) else list(written)
        if empty is None and _is_sized_by_data(facts):
            results = _held_to_dims(body, results)
        body.finish(results, rounds=empty is None and not moves)
        made = [name for name, value in zip(writes, results, strict=True) if value]
        used = {value for proto in body.nodes for value in reads_of(proto)}
        body.inputs = {at: name for at, name in body.inputs.items() if name in used}
        operands = [self._name(node.inputs[at]) for at in body.inputs]
        operands += [self._form(node, body, at) for at in range(len(body.repacked))]
        if self._flat:
            return body.nodes, operands
        return [self._functions.call(facts, body, operands, made)], operands

    def _facts(self, node: OmNode) -> CompiledNode:
        row = find_operator(node.op)
        if row is None:
            raise NoFormError(Text("the device does not have it"))
        tensors = self._description.tensors
        constants: dict[int, Callable[[], NDArray[Any]]] = {}
        for at, tensor in enumerate(node.inputs):
            member = tensors[self._real(tensor)].member if tensor >= 0 else None
            if member is not None:
                constants[at] = partial(self._model.array, member)
        name = node.name  # runtimes want each name once, in bodies as well
        while name in self._named:
            name += "_"
        self._named.add(name)
        return CompiledNode(
            node.op,
            name,
            node.engine,
            tuple(self._types[tensor] if tensor >= 0 else None for tensor in node.inputs),
            tuple(self._types[tensor] for tensor in node.outputs),
            read_attributes(row, node.attributes, NoFormError),
            row=row,
            source=node,
            constants=constants,
            unread=frozenset(at for at, out in enumerate(node.outputs) if out not in self._read),
        )

    def _body(self, facts: CompiledNode, writes: Sequence[str]) -> Body:
        """An empty body whose operands have the names of the graph, or formal ones."""
        node = facts.source
        there = [at for at, tensor in enumerate(node.inputs) if tensor >= 0]
        if self._flat:
            inputs = {at: self._names[self._real(node.inputs[at])] for at in there}
            return self.make_body(facts, inputs, writes)
        inputs = {at: facts.input_name(at) for at in there}
        outputs = [facts.output_name(at) for at in range(len(writes))]
        return Body(
            facts,
            inputs,
            [f"{output}_" if output in inputs.values() else output for output in outputs],
            "",
        )

    def _form(self, node: OmNode, body: Body, index: int) -> str:
        """The name of a constant in another form; nodes that need the same one share it."""
        wanted = body.repacked[index]
        tensor = self._real(node.inputs[wanted.position])
        source = self._description.tensors[tensor]
        name = wanted.value if self._flat else f"{self._names[tensor]}/{wanted.form}"
        if source.member is None:
            return name
        made = self.converted(wanted.make(self._model.array(source.member)))
        while not self._is_kept(name, made):
            name += "_"
        if made.size == 1 and _is_on_grid(made, self._types[tensor].dtype):
            self._on_grid.add(name)
        return name

    def _is_kept(self, name: str, made: NDArray[Any]) -> bool:
        """Keep a constant under a name; False where another one has it, of other dims, say."""
        known = self._initializers.get(name)
        if known is None and name not in self._taken:
            self._initializers[name] = Initializer.of(name, made)
            return True
        if known is None or (known.shape, known.dtype.numpy) != (made.shape, made.dtype):
            return False
        return known.numpy().tobytes() == made.tobytes()

    def _info(self, name: str, tensor: int) -> ValueInfoProto:
        facts = self._types[tensor]
        return helper.make_tensor_value_info(name, element_type(facts.dtype), list(facts.dims))


def _no_elements(body: Body) -> list[str] | None:
    """Write the results of a node that has no element to compute; None where it has, or may have.

    The simulator does not launch such a node. Operators of ONNX may fail: ArgMax over an empty axis.
    """
    shapes = [[dim for dim in facts.dims if dim is not None] for facts in body.node.outputs]
    whole = zip(shapes, body.node.outputs, strict=True)
    if not all(0 in shape and len(shape) == len(facts.dims) for shape, facts in whole):
        return None
    return [
        body.const(np.empty(shape), facts.dtype)
        for shape, facts in zip(shapes, body.node.outputs, strict=True)
    ]


_COUNTED = {"NonZero", "Range", "Where"}
"""Operators whose results have as many elements as their data say."""


def _is_sized_by_data(node: CompiledNode) -> bool:
    """True if numbers that only a run knows decide the dims of a node's results."""
    numbers = (at for at in node.row.numbers_at(node.count) if node.has(at))
    return node.op in _COUNTED or any(at not in node.constants for at in numbers)


def _held_to_dims(body: Body, results: Sequence[str]) -> list[str]:
    """Results with which a run ends that have other dims than the model declares."""
    held: list[str] = []
    for value, facts in zip(results, body.node.outputs, strict=True):
        known = [(axis, dim) for axis, dim in enumerate(facts.dims) if dim is not None]
        if value and known:
            axes, dims = (body.ints(*numbers) for numbers in zip(*known, strict=True))
            actual = body.add("Gather", body.add("Shape", value), axes)
            value = body.held(value, body.add("Equal", actual, dims))  # noqa: PLW2901
        held.append(value)
    return held


def _is_on_grid(made: NDArray[Any], dtype: DType) -> bool:
    """True if float32 numbers are those of a 16-bit float."""
    if made.dtype != np.float32 or not is_rounded(dtype):
        return False
    return bool((made.astype(dtype.numpy).astype(made.dtype) == made).all())
