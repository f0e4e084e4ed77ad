"""From a model's description to a program: everything that can be checked before a run is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from numpy.typing import NDArray

from atc_py.device.sim.execution.chain import chained
from atc_py.device.sim.execution.program import Program, Step, freeing, plan_memory, without_moves
from atc_py.device.sim.kernel import Kernel, find_kernel
from atc_py.diag import OM_CONTENT, Place, Sink
from atc_py.package.node_view import (
    LastingError,
    NodeError,
    NodeView,
    TensorFacts,
    UnknownNumbersError,
    read_attributes,
)
from atc_py.package.schema import OmNode, OmPort
from atc_py.target import Operand, TargetOp, find_operator
from atc_py.tensor.dtypes import DType, UnknownDTypeError
from atc_py.text import Text, error_text

if TYPE_CHECKING:
    from atc_py.device.backend import LoadedModel


_COMPARED = 1024
"""Bytes of numbers up to which nodes are compared by them."""

_INPUT, _OUTPUT = Text("input"), Text("output")

_TRIALS = (2, 3)
"""Numbers that stand for dims that only the run knows."""


def build_program(model: LoadedModel, *, merged: bool = True, moves: bool = False) -> Program:
    """Check `model` and make it ready to run.

    Args:
        model: its description and constants.
        merged: whether nodes of one scope are one step; else every node is one.
        moves: whether nodes that store a tensor in another format are steps although nodes are
            merged; they do nothing to the numbers.

    Raises:
        AtcError: OM_CONTENT, with every finding.
    """
    return _Loader(model, merged=merged, moves=moves or not merged).load()


def check_model(model: LoadedModel) -> None:
    """Check `model` as `build_program` does, without making it ready to run.

    Of its constants those alone are opened on whose numbers types depend.

    Raises:
        AtcError: OM_CONTENT, with every finding.
    """
    _Loader(model, merged=True, moves=False).check()


class _Judged(msgspec.Struct, frozen=True):
    """A node that was found sound, for all that are alike."""

    facts: NodeView
    row: TargetOp
    kernel: Kernel
    is_late: bool  # only the run knows all dims, or a number on which they depend


class _Loader:
    """Collects findings about one model, so that one load reports them all.

    `_defined` has the tensors that are there before the node that is looked at: constants,
    inputs of the model, and outputs of the nodes before it.
    """

    def __init__(self, model: LoadedModel, *, merged: bool, moves: bool) -> None:
        self._model = model
        self._merged = merged
        self._moves = moves
        self._description = model.description
        self._sink = Sink()
        self._tensors: list[TensorFacts] = []
        self._constants: dict[int, NDArray[Any]] = {}
        self._defined: set[int] = set()
        self._judged: dict[tuple[object, ...], _Judged] = {}

    def check(self) -> None:
        self._read_tensors()
        self._define_given()
        for index, node in enumerate(self._description.nodes):
            self._judge(index, node)
        self._outputs()
        self._sink.raise_errors()

    def load(self) -> Program:
        self._read_tensors()
        for position, tensor in enumerate(self._description.tensors):
            if tensor.member is not None:
                self._open(position)
        inputs = self._define_given()
        steps = [self._step(index, node) for index, node in enumerate(self._description.nodes)]
        outputs = self._outputs()
        self._sink.raise_errors()
        known = [step for step in steps if step is not None]
        if not self._moves:
            known, stands_for = without_moves(known)
            outputs = {name: stands_for.get(t, t) for name, t in outputs.items()}
        nodes = self._description.nodes
        scopes = [nodes[step.index].scope if self._merged else 0 for step in known]
        ready = freeing(chained(known, scopes, outputs.values()), outputs.values())
        memory = plan_memory(ready, self._tensors, outputs.values())
        return Program(tuple(self._tensors), inputs, outputs, self._constants, ready, memory)

    def _find(self, message: Text, place: Place | None = None) -> None:
        self._sink.add(OM_CONTENT.diagnostic(message, place=place))

    def _read_tensors(self) -> None:
        """Read types of all tensors, equal ones as one object.

        Nothing else can be checked when one makes no sense.
        """
        known: dict[TensorFacts, TensorFacts] = {}
        for tensor in self._description.tensors:
            try:
                dtype = DType.parse(tensor.dtype)
            except UnknownDTypeError as error:
                self._find(Text("tensor {tensor}: {error}", tensor=repr(tensor.name), error=error))
                continue
            facts = TensorFacts(dtype, tuple(tensor.shape))
            if facts not in known and any(dim is not None and dim < 0 for dim in tensor.shape):
                text = Text("tensor {tensor} has shape {shape}")
                self._find(text.with_values(tensor=repr(tensor.name), shape=tensor.shape))
                continue
            self._tensors.append(known.setdefault(facts, facts))
        self._sink.raise_errors()

    def _open(self, position: int) -> None:
        tensor, declared = self._description.tensors[position], self._tensors[position]
        array = self._constants[position] = self._model.array(tensor.member or "")
        if array.dtype.name != declared.dtype.value or array.shape != declared.dims:
            self._find(
                Text(
                    "constant {tensor} must be {declared}, found {dtype} of shape {shape}",
                    tensor=repr(tensor.name),
                    declared=declared,
                    dtype=array.dtype.name,
                    shape=list(array.shape),
                ),
                Place(field=tensor.member),
            )

    def _define_given(self) -> dict[str, int]:
        tensors = self._description.tensors
        self._defined.update(at for at, tensor in enumerate(tensors) if tensor.member is not None)
        inputs = self._ports("input", self._description.inputs)
        self._define(inputs.values(), None)
        return inputs

    def _outputs(self) -> dict[str, int]:
        outputs = self._ports("output", self._description.outputs)
        for name, tensor in outputs.items():
            if tensor not in self._defined:
                self._find(Text("nothing computes the tensor of output {name}", name=repr(name)))
        return outputs

    def _ports(self, kind: str, ports: Sequence[OmPort]) -> dict[str, int]:
        by_name: dict[str, int] = {}
        for port in ports:
            if not 0 <= port.tensor < len(self._tensors):
                self._find(
                    Text(
                        "{kind} {port} is tensor {tensor}, but there are {count} tensors",
                        kind=kind,
                        port=repr(port.name),
                        tensor=port.tensor,
                        count=len(self._tensors),
                    )
                )
            elif port.name in by_name:
                self._find(Text("two {kind}s are called {port}", kind=kind, port=repr(port.name)))
            else:
                by_name[port.name] = port.tensor
        return by_name

    def _define(self, tensors: Iterable[int], place: Place | None) -> None:
        """Note that `tensors` are computed or fed here, and nowhere else."""
        for tensor in tensors:
            if tensor in self._defined:
                name = self._description.tensors[tensor].name
                self._find(Text("tensor {name} is defined twice", name=repr(name)), place)
            self._defined.add(tensor)

    def _step(self, index: int, node: OmNode) -> Step | None:
        judged = self._judge(index, node)
        if judged is None:
            return None
        alike = judged.facts
        numbers = self._numbers(node, judged.row)
        facts = NodeView(
            node.op, node.name, node.engine, alike.inputs, alike.outputs, alike.attributes, numbers
        )
        inputs, outputs = tuple(node.inputs), tuple(node.outputs)
        return Step(index, facts, judged.kernel, inputs, outputs, judged.is_late)

    def _judge(self, index: int, node: OmNode) -> _Judged | None:
        try:
            row, kernel = _known(node)
            self._check_tensors(node)
            judged = self._sound(node, row, kernel)
        except NodeError as error:
            self._find(error_text(error), _place(index, node))
            judged = None
        inside = [tensor for tensor in node.outputs if 0 <= tensor < len(self._tensors)]
        if self._defined.isdisjoint(inside) and len(inside) == 1:
            self._defined.add(inside[0])
        else:
            self._define(inside, _place(index, node))
        return judged

    def _sound(self, node: OmNode, row: TargetOp, kernel: Kernel) -> _Judged:
        """Judge a node, once for all that are alike; raises NodeError.

        Nodes are alike if operator, engine, attributes, the types of all tensors and the numbers
        that are read are equal. The text of attributes tells 1 from 1.0 and True.
        """
        inputs = tuple([self._tensors[at] if at >= 0 else None for at in node.inputs])
        outputs = tuple([self._tensors[at] for at in node.outputs])
        numbers = self._numbers(node, row)
        read = [(at, array.tobytes()) for at, array in numbers.items() if array.nbytes <= _COMPARED]
        types = tuple(map(id, inputs)), tuple(map(id, outputs))
        key = node.op, node.engine, repr(node.attributes), *types, *read
        known = self._judged.get(key) if len(read) == len(numbers) else None
        if known is None:
            _check_operands(_INPUT, row.inputs, node.inputs)
            _check_operands(_OUTPUT, row.outputs, node.outputs)
            attributes = read_attributes(row, node.attributes)
            facts = NodeView(node.op, node.name, node.engine, inputs, outputs, attributes, numbers)
            known = _Judged(facts, row, kernel, is_late=not _has_static_types(facts, kernel))
            self._judged[key] = known
        return known

    def _check_tensors(self, node: OmNode) -> None:
        count = len(self._tensors)
        wrong = [t for t in node.inputs if not -1 <= t < count]
        wrong += [t for t in node.outputs if not 0 <= t < count]
        if wrong:
            text = Text("tensors {wrong} do not exist; there are {count}")
            raise NodeError(text.with_values(wrong=wrong, count=count))
        early = [t for t in node.inputs if t >= 0 and t not in self._defined]
        if early:
            names = ", ".join(repr(self._description.tensors[t].name) for t in early)
            raise NodeError(Text("{names} is read before a node computes it", names=names))

    def _numbers(self, node: OmNode, row: TargetOp) -> dict[int, NDArray[Any]]:
        if not row.reads_numbers:
            return {}
        numbers = {}
        for position in row.numbers_at(len(node.inputs)):
            tensor = node.inputs[position]
            if tensor >= 0 and self._description.tensors[tensor].member is not None:
                if tensor not in self._constants:
                    self._open(tensor)
                numbers[position] = self._constants[tensor]
        return numbers


def _place(index: int, node: OmNode) -> Place:
    return Place(node=index, node_name=node.name, op_type=node.op)


def _known(node: OmNode) -> tuple[TargetOp, Kernel]:
    row, kernel = find_operator(node.op), find_kernel(node.op)
    if row is None or kernel is None:
        raise NodeError(Text("the device has no operator {op}", op=repr(node.op)))
    return row, kernel


def _check_operands(kind: Text, operands: Sequence[Operand], tensors: Sequence[int]) -> None:
    last = operands[-1]
    if len(tensors) > len(operands) and not last.variadic:
        text = Text("at most {n} {side}s are allowed, found {found}")
        raise NodeError(text.with_values(n=len(operands), side=kind, found=len(tensors)))
    for position, operand in enumerate(operands):
        absent = position >= len(tensors) or tensors[position] < 0
        if absent and not operand.optional:
            raise NodeError(Text("{side} {name} is absent", side=kind, name=repr(operand.name)))
    if last.variadic and min(tensors) < 0:
        raise NodeError(Text("{side}s {at} must all be given", side=kind, at=list(tensors)))


def _has_static_types(node: NodeView, kernel: Kernel) -> bool:
    """Check the declared output types by those that the kernel computes.

    Returns:
        True if they can be inferred; before the run dims may be open and numbers unknown.
    """
    if any(tensor.is_open for tensor in node.present):
        _check_open_types(node, kernel)
        return False
    try:
        implied = kernel.types(node)
    except UnknownNumbersError:
        return False
    is_open = any(tensor.is_open for tensor in node.outputs)
    if is_open and all(map(TensorFacts.may_be, node.outputs, implied)):
        return False
    if implied != node.outputs:
        wanted = ", ".join(str(facts) for facts in implied)
        declared = ", ".join(str(facts) for facts in node.outputs)
        text = Text("the result is {found}, but {declared} is declared")
        raise NodeError(text.with_values(found=wanted, declared=declared))
    return True


def _check_open_types(node: NodeView, kernel: Kernel) -> None:
    """Check the declared output types of a node some of whose dims only the run knows.

    Dtypes and ranks follow whatever these dims are, and so do dims that two trials give alike.
    """
    trials = []
    for number in _TRIALS:
        inputs = tuple([facts and facts.with_open(number) for facts in node.inputs])
        outputs = tuple([facts.with_open(number) for facts in node.outputs])
        try:
            trials.append(
                kernel.types(msgspec.structs.replace(node, inputs=inputs, outputs=outputs))
            )
        except LastingError:
            raise
        except (NodeError, ValueError):
            return  # the dims that the run has may well fit
    for first, second, declared in zip(*trials, node.outputs, strict=True):
        fixed = zip(first.dims, second.dims, strict=True)
        dims = tuple([one if one == other else None for one, other in fixed])
        implied = TensorFacts(first.dtype, dims)
        if not implied.may_be(declared):
            text = Text("the result is {found}, but {declared} is declared")
            raise NodeError(text.with_values(found=implied, declared=declared))
