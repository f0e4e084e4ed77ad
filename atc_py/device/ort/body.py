"""The body of an operator, ONNX nodes that an emulation writes one after the other; emulations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, defs, helper

from atc_py.device.ort.elements import bytes_of, element_type, held_dtype
from atc_py.device.ort.node import CompiledNode, NoFormError
from atc_py.onnx_graph.reading.nodes import subgraphs
from atc_py.system.register import Register, place_of
from atc_py.target import find_operator
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

OPSET = 20
"""Version of ai.onnx that bodies are written in."""


def is_rounded(dtype: DType) -> bool:
    """True if arithmetic on `dtype` is done in float32, and its results are rounded."""
    return dtype in {DType.FLOAT16, DType.BFLOAT16}


@dataclass(frozen=True, slots=True)
class Repacked:
    """A constant that an emulation holds in another form."""

    value: str
    position: int  # the input of the node that it is made of
    form: str
    # makes it of the data of that input, in the dtype that the package holds
    make: Callable[[NDArray[Any]], NDArray[Any]]


class Body:
    """Nodes of one target operator, and the names of their values.

    Emulations read `node` for facts, take operands with `x` or `own`, write nodes with `add`, and
    return the names of their results.
    """

    def __init__(
        self,
        node: CompiledNode,
        inputs: Mapping[int, str],
        outputs: Sequence[str],
        prefix: str,
        taken: Collection[str] = (),
    ) -> None:
        """Begin a body without nodes.

        `inputs` are the operands that are there, by position. Names of nodes and of values in
        between begin with `prefix`, and are none of `taken`.
        """
        self.node = node
        self.inputs = inputs
        self.outputs = outputs
        self.nodes: list[NodeProto] = []
        self.repacked: list[Repacked] = []
        self._prefix = prefix
        self._taken = {*inputs.values(), *outputs}
        self._others = taken
        self._counts: dict[str, int] = {}
        self._constants: dict[tuple[Any, ...], str] = {}
        self._casts: dict[tuple[str, DType], str] = {}

    # -- operands

    def own(self, position: int = 0) -> str:
        """The operand at `position` in its own dtype; int4 is held in int8."""
        if position not in self.inputs:
            raise NoFormError(Text("input {position} is absent", position=position))
        return self.inputs[position]

    def x(self, position: int = 0) -> str:
        """The operand at `position` as arithmetic takes it: a 16-bit float as float32."""
        value = self.own(position)
        return self.wide(value) if is_rounded(self.node.dtype(position)) else value

    def integers(self, position: int = 0) -> str:
        """The operand at `position` as int64."""
        value = self.own(position)
        known = self.node.dtype(position) is DType.INT64
        return value if known else self.cast(value, DType.INT64)

    def all(self) -> list[str]:
        """All operands that are there, as `x` does."""
        return [self.x(position) for position in sorted(self.inputs)]

    def form(self, position: int, form: str, make: Callable[[NDArray[Any]], NDArray[Any]]) -> str:
        """The constant at `position` in another form, worked out when the model is written.

        Args:
            position: the input.
            form: name of the form, such as `factor`; constants of several nodes share one.
            make: makes it of the data.
        """
        if position not in self.node.constants:
            text = Text("input {name} is computed at run time")
            raise NoFormError(text.with_values(name=repr(self.node.input_name(position))))
        for known in self.repacked:
            if (known.position, known.form) == (position, form):
                return known.value
        value = self._fresh(f"{self.node.input_name(position)}_{form}")
        self.repacked.append(Repacked(value, position, form, make))
        return value

    # -- constants

    def const(self, values: ArrayLike, dtype: DType = DType.FLOAT32) -> str:
        with np.errstate(over="ignore"):  # beyond float32 is infinite, as on the device
            array = np.array(values, dtype=held_dtype(dtype).numpy)
        key = (dtype, array.shape, array.tobytes())
        if key not in self._constants:
            tensor = TensorProto(
                data_type=element_type(dtype), dims=array.shape, raw_data=bytes_of(array)
            )
            self._constants[key] = self.add("Constant", value=tensor)
        return self._constants[key]

    def attribute(self, name: str, dtype: DType) -> str:
        """An attribute of type float, rounded to `dtype`, as a float32 scalar.

        A function refers to the attribute of the node that calls it, so that nodes which differ in
        it alone have one function. ONNX holds it in float32; one that needs more is written out.
        """
        value = self.node.number(name)
        with np.errstate(over="ignore"):
            held = np.float32(value)
        if self._prefix or float(held) != value:
            with np.errstate(over="ignore"):
                return self.const(np.float64(value).astype(dtype.numpy).astype(np.float32))
        key = ("attribute", name)
        if key not in self._constants:
            (made,) = self.several("Constant", 1)
            reference = self.nodes[-1].attribute.add(name="value_float", ref_attr_name=name)
            reference.type = AttributeProto.FLOAT
            self._constants[key] = made
        return self.rounded(self._constants[key], dtype)

    def ints(self, *values: int) -> str:
        """Int64 [n], as axes, shapes and indices are given."""
        return self.const(np.array(values, np.int64).reshape(-1), DType.INT64)

    def range(self, count: str) -> str:
        """The numbers from 0 to below `count`, an int64 without axes."""
        return self.add("Range", self.const(0, DType.INT64), count, self.const(1, DType.INT64))

    # -- nodes

    def add(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """Write a node of one result.

        Args:
            op_type: operator of ai.onnx.
            *inputs: names of values, empty where absent.
            **attributes: its attributes; a `DType` stands for ONNX's number; None is left out.

        Returns:
            The name of the result.
        """
        return self.several(op_type, 1, *inputs, **attributes)[0]

    def several(self, op_type: str, count: int, *inputs: str, **attributes: Any) -> list[str]:
        outputs = [self._fresh(op_type) for _ in range(count)]
        given = {key: _attribute(value) for key, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(op_type, inputs, outputs, outputs[0], **given))
        return outputs

    def cast(self, value: str, dtype: DType) -> str:
        """`value` in another dtype; int4 is held in int8."""
        if (value, dtype) not in self._casts:
            self._casts[value, dtype] = self.add("Cast", value, to=dtype)
        return self._casts[value, dtype]

    def wide(self, value: str) -> str:
        return self.cast(value, DType.FLOAT32)

    def rounded(self, value: str, dtype: DType) -> str:
        """Float32 `value` rounded to the grid of a 16-bit `dtype`, as float32.

        Of another dtype nothing is rounded.
        """
        return self.wide(self.cast(value, dtype)) if is_rounded(dtype) else value

    def held(self, value: str, holds: str) -> str:
        """`value`; a run ends where an element of the bools `holds` is false.

        The dims are then taken from after a list that has those of `value` alone.
        """
        wrong = self.cast(self.add("Not", holds), DType.INT64)
        broken = self.add("ReduceSum", wrong, keepdims=0)
        dims = self.add("Unsqueeze", self.add("Shape", value), self.ints(0))
        return self.add("Reshape", value, self.add("Gather", dims, broken), allowzero=1)

    def inner(self) -> Body:
        """A body for a graph inside this one; see `as_graph`. Names of both are apart."""
        inner = Body(self.node, self.inputs, (), self._prefix, self._others)
        inner._taken, inner._counts = self._taken, self._counts
        return inner

    def name(self, stem: str) -> str:
        return self._fresh(stem)

    def as_graph(
        self,
        inputs: Iterable[tuple[str, DType, Sequence[int | str | None] | None]],
        outputs: Iterable[tuple[str, DType, Sequence[int | str | None] | None]],
    ) -> GraphProto:
        """The nodes as a graph: the body of a Loop, a Scan, or a branch of an If.

        Args:
            inputs: names, dtypes and dims of its inputs; dims None where the rank is not known.
            outputs: the same of its outputs.
        """
        return helper.make_graph(
            self.nodes,
            self._fresh("graph"),
            [_info(*each) for each in inputs],
            [_info(*each) for each in outputs],
        )

    # -- results

    def finish(self, results: Sequence[str], *, rounds: bool) -> None:
        """Give the results the names and, with `rounds`, the dtypes of the node's outputs.

        A result without a name was left out, and is no output of the body then.
        """
        named: dict[str, str] = {}
        pairs = list(zip(results, self.outputs, self.node.outputs, strict=True))
        self.outputs = [name for value, name, _ in pairs if value]
        for value, name, facts in pairs:
            if not value:
                continue
            if rounds and is_rounded(facts.dtype):
                source = named.get(value, value)
                self.nodes.append(self._named("Cast", source, name, to=facts.dtype))
            elif value not in named and self._rename(value, name):
                named[value] = name
            else:
                self.nodes.append(self._named("Identity", named.get(value, value), name))

    def _named(self, op_type: str, value: str, name: str, **attributes: Any) -> NodeProto:
        given = {key: _attribute(each) for key, each in attributes.items()}
        return helper.make_node(op_type, [value], [name], self._fresh(op_type), **given)

    def _rename(self, value: str, name: str) -> bool:
        """Name the result of a node anew if nothing in the body reads it."""
        if any(value in node.input or any(subgraphs(node)) for node in self.nodes):
            return False
        for node in self.nodes:
            for index, output in enumerate(node.output):
                if output == value:
                    node.output[index] = name
                    return True
        return False

    def _fresh(self, stem: str) -> str:
        while True:
            count = self._counts[stem] = self._counts.get(stem, 0) + 1
            name = f"{self._prefix}{stem}" if count == 1 else f"{self._prefix}{stem}_{count}"
            if name not in self._taken and name not in self._others:
                self._taken.add(name)
                return name


def _attribute(value: Any) -> Any:
    if isinstance(value, DType):
        return element_type(value)
    if isinstance(value, tuple):
        return list(value)
    return int(value) if isinstance(value, bool) else value


def _info(name: str, dtype: DType, dims: Sequence[int | str | None] | None) -> Any:
    return helper.make_tensor_value_info(name, element_type(dtype), dims)


Write: TypeAlias = Callable[[Body], "str | Sequence[str]"]


@dataclass(frozen=True, slots=True)
class Emulation:
    """An emulation as it is registered."""

    # writes the nodes into a body; returns the name of the result, or of each of them, empty where
    # nothing reads it and it was left out
    write: Write
    # it moves elements without arithmetic: operands and results are in their own dtypes. Else a
    # 16-bit float is read as float32, and a result in float32 is rounded to the dtype that the
    # model declares
    moves: bool = False


EMULATIONS: Register[str, Emulation] = Register("emulation of", "atc_py.device.ort.operators")
"""By target operator."""


def find_emulation(op: str) -> Emulation | None:
    return EMULATIONS.get(op) or _same_name(op)


@cache
def _same_name(op: str) -> Emulation | None:
    """The emulation of a function of each element that ONNX has, too, and calls the same."""
    row = find_operator(op)
    if row is None or row.vector is None or row.attributes or not defs.has(op, OPSET, ""):
        return None

    def write(body: Body) -> str:
        return body.add(op, *body.all())

    write.__doc__ = f"Write {op} of ONNX: {row.summary}"
    return Emulation(write)


def emulates(*operators: str, moves: bool = False) -> Callable[[Write], Write]:
    """Register a function as the emulation of target operators."""

    def register(write: Write) -> Write:
        emulation = Emulation(write, moves)
        for op in operators:
            EMULATIONS.add(op, emulation, place_of(write))
        return write

    return register
