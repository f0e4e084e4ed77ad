"""Models of one node, built from the example of a specification, whole or changed in places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import onnx
import onnx.defs
import onnx.shape_inference
from onnx import AttributeProto, TensorProto, helper

from atc_py.spec import AttributeSpec, AttributeType, OperandSpec, OpSpec
from atc_py.tensor.dtypes import DType

CUSTOM_DOMAIN = "custom"
"""Domain of custom operators, which ONNX's own does not have."""

_CHOSEN = {0: DType.FLOAT32, 1: DType.FLOAT16}
"""What the attribute dtype of quantization operators counts."""

OPEN_RANK: tuple[str, ...] = ("...",)
"""In place of a shape: not even the rank is known."""

Shapes: TypeAlias = "Mapping[str, Sequence[int | str | None] | None]"
Values: TypeAlias = "Mapping[str, Sequence[Any] | None]"
Attributes: TypeAlias = "Mapping[str, Any]"
Elements: TypeAlias = "Mapping[str, DType | str]"

_VARIADIC = 2
"""Tensors that a variadic operand stands for."""

_IR_VERSION = 8
_ONNX_NAMES = {"float32": "float", "float64": "double"}
_BRANCHES = ("then_branch", "else_branch")


def build(
    spec: OpSpec,
    opset: int,
    *,
    shapes: Shapes | None = None,
    values: Values | None = None,
    attributes: Attributes | None = None,
    dtypes: Elements | None = None,
) -> onnx.ModelProto:
    """Return a model of one node: the example of `spec` in the form of `opset`.

    Inputs and attributes that the operator does not have at `opset` are left out, from the example
    and from the changes alike. So is an input that the list does not support, unless ONNX demands
    it. A variadic operand stands for two tensors. Tensors are called like their operands; an output
    with the name of an input gets the suffix `_out`, the second of a variadic operand `_1`.

    Args:
        spec: the operator.
        opset: version of ONNX's domain; a custom operator imports it beside its own domain.
        shapes: inputs with other shapes, or further inputs; None leaves one out, a None or a name
            among the dims is an open one, OPEN_RANK leaves open even how many there are.
            Changing the shape of an input with values takes changing these, too. An output that is
            optional is asked for; that of a custom operator is stated with the shape, or None for
            the list's rank.
        values: inputs with other data, in row-major order; None makes one an input of the graph.
        attributes: attributes with other values, or further ones; None leaves one out. Values may
            be onnx's tensors and graphs.
        dtypes: inputs with other dtypes, by atc-py's or else ONNX's names; those that share the
            dtype follow. Also outputs of custom operators.

    Returns:
        The model; outputs have a dtype and no shape, those of custom operators open dims.
    """
    node = _Node(
        spec,
        opset,
        {**spec.example.inputs, **(shapes or {})},
        {**spec.example.values, **(values or {})},
        {**_without_literals(spec), **spec.example.attributes, **(attributes or {})},
        dict(dtypes or {}),
        frozenset(shapes or ()),
    )
    return node.model()


@dataclass
class _Node:
    """The parts of the node, changes included."""

    spec: OpSpec
    opset: int
    shapes: Shapes
    values: Values
    attributes: Attributes
    changed: Elements
    asked_for: frozenset[str]
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    weights: list[onnx.TensorProto] = field(default_factory=list)

    def model(self) -> onnx.ModelProto:
        """Return the model."""
        for operand in (*self.shapes, *self.values):
            _must_exist(self.spec, operand, self.spec.operand(operand))
        node = helper.make_node(self.spec.op, self._given(), self._asked(), name="node")
        if self.spec.custom:
            node.domain = CUSTOM_DOMAIN
        for name, value in self.attributes.items():
            row = self.spec.attribute(name)
            _must_exist(self.spec, name, row)
            if row is not None and value is not None and row.exists_at(self.opset):
                node.attribute.append(_attribute(row, value))
        return self._wrapped(node)

    def _given(self) -> list[str]:
        """Return the node's inputs by position, each put into the graph."""
        elements = self._elements()
        names: list[str] = []
        for row in _present(self.spec.inputs, self.opset):
            shape = self.shapes.get(row.name)
            if shape is None or not self._is_wanted(row):
                names.append("")
                continue
            for name in _tensor_names(row, ()):
                names.append(name)
                self._put(row.name, name, elements[row.name], shape)
        while names and not names[-1]:
            names.pop()
        return names

    def _is_wanted(self, row: OperandSpec) -> bool:
        """Return True if an input with a shape is given; unsupported ones need not be."""
        if row.supported or row.name in self.asked_for:
            return True
        formal = _formal(self.spec, self.opset).get(row.name)
        return formal is not None and formal.option.name != "Optional"

    def _put(
        self, operand: str, name: str, element: int, shape: Sequence[int | str | None]
    ) -> None:
        """Add an initializer where the operand has data, an input of the graph otherwise."""
        data = self.values.get(operand)
        if data is None:
            self.inputs.append(_typed(name, element, shape))
            return
        dtype = helper.tensor_dtype_to_np_dtype(element)
        with np.errstate(over="ignore"):
            raw = np.asarray(data).astype(dtype).tobytes()
        self.weights.append(helper.make_tensor(name, element, _closed(shape), raw, raw=True))

    def _asked(self) -> list[str]:
        """Return the node's outputs: those that are not optional, or all where every one is.

        Optional ones that something is said about are asked for, too.
        """
        rows = _present(self.spec.outputs, self.opset)
        wanted = [row for row in rows if not row.optional] or rows
        taken = [row.name for row in self.spec.inputs]
        names: list[str] = []
        for row in rows:
            asked = row in wanted or row.name in self.asked_for.difference(taken)
            names += _tensor_names(row, taken) if asked else [""]
        while names and not names[-1]:
            names.pop()
        return names

    def _elements(self) -> dict[str, int]:
        """Return the element type of each input, in ONNX's numbers.

        Inputs share one where the list says same_as and where ONNX gives them one type variable;
        it is the first that all of them admit, or the one asked for.
        """
        formal = _formal(self.spec, self.opset)
        leaders: dict[str, str] = {}
        variables: dict[str, str] = {}
        for row in _present(self.spec.inputs, self.opset):
            leader = leaders.get(row.same_as or "", row.name)
            if row.name in formal:
                leader = variables.setdefault(formal[row.name].type_str, leader)
            leaders[row.name] = leader
        found = {}
        for leader in dict.fromkeys(leaders.values()):
            group = [name for name, other in leaders.items() if other == leader]
            shared = next((self.changed[name] for name in group if name in self.changed), None)
            common = self._first_common(group, formal) if shared is None else _number(shared)
            for name in group:
                found[name] = _number(self.changed[name]) if name in self.changed else common
        return found

    def _first_common(self, group: Sequence[str], formal: Mapping[str, Any]) -> int:
        """Return the first dtype that list and ONNX admit for every input of the group."""
        first, *others = [self._listed(name) for name in group]
        admitted = [set(formal[name].types) for name in group if name in formal]
        for dtype in first:
            text = f"tensor({_ONNX_NAMES.get(dtype.value, dtype.value)})"
            if all(dtype in other for other in others) and all(text in each for each in admitted):
                return _number(dtype)
        raise LookupError(f"{self.spec.op} at opset {self.opset}: no dtype is left for {group}")

    def _listed(self, name: str) -> tuple[DType, ...]:
        """Return the dtypes that the list has for an input; float32 first where it takes any."""
        row = self.spec.operand(name)
        listed = None if row is None else self.spec.dtypes_of(row)
        return listed or (DType.FLOAT32, *DType)

    def _wrapped(self, node: onnx.NodeProto) -> onnx.ModelProto:
        """Return the node in a graph whose outputs have their dtypes."""
        outputs = [self._declared(name) for name in node.output if name]
        graph = helper.make_graph([node], "one_node", self.inputs, outputs, self.weights)
        imports = [helper.make_opsetid("", self.opset)]
        if self.spec.custom:
            imports.append(helper.make_opsetid(CUSTOM_DOMAIN, 1))
        model = helper.make_model(graph, opset_imports=imports, ir_version=_IR_VERSION)
        if not self.spec.custom:
            _take_dtypes(model)
        return model

    def _declared(self, name: str) -> onnx.ValueInfoProto:
        """Return an output: by the list's rank and dtype for custom operators, else untyped."""
        if not self.spec.custom:
            return onnx.ValueInfoProto(name=name)
        row = next(row for row in self.spec.outputs if name in {row.name, f"{row.name}_out"})
        same = self._elements().get(row.same_as or "")
        element = _number(self._listed(row.name)[0]) if same is None else same
        if not is_stated(self.spec):
            chosen = self.attributes.get("dtype")
            element = _number(_CHOSEN[chosen]) if chosen in _CHOSEN else element
        elif row.name in self.changed:
            element = _number(self.changed[row.name])
        dims = self.shapes.get(row.name)
        if dims is None:
            dims = OPEN_RANK if row.rank is None else [None] * row.rank
        return _typed(name, element, dims)


def is_stated(spec: OpSpec) -> bool:
    """Return True if files can state the types of the operator's results."""
    return spec.custom and spec.group != "quant"


def _must_exist(spec: OpSpec, name: str, row: object) -> None:
    """Check that the specification has the names; others are slips."""
    if row is None:
        raise KeyError(f"{spec.op} has no {name!r}")


def _present(rows: Sequence[OperandSpec], opset: int) -> list[OperandSpec]:
    """Return the operands that the opset has."""
    return [row for row in rows if row.exists_at(opset)]


def _formal(spec: OpSpec, opset: int) -> dict[str, Any]:
    """Return ONNX's inputs by name; none where it does not define the operator."""
    if spec.custom or not onnx.defs.has(spec.op, opset):
        return {}
    return {formal.name: formal for formal in onnx.defs.get_schema(spec.op, opset).inputs}


def _tensor_names(row: OperandSpec, taken: Sequence[str]) -> list[str]:
    """Return names of the tensors of an operand."""
    name = f"{row.name}_out" if row.name in taken else row.name
    more = range(1, _VARIADIC if row.variadic else 1)
    return [name, *(f"{name}_{position}" for position in more)]


def _typed(name: str, element: int, shape: Sequence[int | str | None]) -> onnx.ValueInfoProto:
    """Return a value of that type."""
    dims = None if tuple(shape) == OPEN_RANK else shape
    return helper.make_tensor_value_info(name, element, dims)


def _number(dtype: DType | str) -> int:
    """Return ONNX's number of a dtype."""
    name = dtype.value if isinstance(dtype, DType) else dtype
    return int(TensorProto.DataType.Value(_ONNX_NAMES.get(name, name).upper()))


def _closed(shape: Sequence[int | str | None]) -> list[int]:
    """Return the dims of data, which cannot be open."""
    return [int(dim) for dim in shape if dim is not None]


def _attribute(row: AttributeSpec, value: Any) -> onnx.AttributeProto:
    """Return a value as an attribute; booleans are integers in files."""
    if isinstance(value, bool):
        value = int(value)
    if row.type.element is AttributeType.FLOAT:
        value = [float(v) for v in value] if row.type.is_list else float(value)
    if isinstance(value, list | tuple) and not value:
        kind = AttributeProto.AttributeType.Value(row.type.name)
        return AttributeProto(name=row.name, type=kind)
    return helper.make_attribute(row.name, value)


def _take_dtypes(model: onnx.ModelProto) -> None:
    """Give outputs the dtypes that ONNX infers, or else those of its signature, but no shapes."""
    try:
        inferred = onnx.shape_inference.infer_shapes(model)
    except onnx.shape_inference.InferenceError:
        inferred = model  # a node changed so far that it is none any more
    signature = _signature(model)
    for output, found in zip(model.graph.output, inferred.graph.output, strict=True):
        element = found.type.tensor_type.elem_type or signature.get(output.name, 0)
        output.type.tensor_type.elem_type = element


def _signature(model: onnx.ModelProto) -> dict[str, int]:
    """Return types of outputs that share an input's type variable, or can have one type only."""
    (node,) = model.graph.node
    opset = model.opset_import[0].version
    if not onnx.defs.has(node.op_type, opset):
        return {}
    schema = onnx.defs.get_schema(node.op_type, opset)
    elements = {tensor.name: tensor.type.tensor_type.elem_type for tensor in model.graph.input}
    elements |= {weight.name: weight.data_type for weight in model.graph.initializer}
    known = {
        "tensor(int64)": int(TensorProto.INT64),
        **{
            formal.type_str: elements[name]
            for formal, name in zip(schema.inputs, node.input, strict=False)
            if name
        },
    }
    return {
        name: known[formal.type_str]
        for formal, name in zip(schema.outputs, node.output, strict=False)
        if formal.type_str in known
    }


# Attributes without literal form ----------------------------------------------------------------


def _without_literals(spec: OpSpec) -> Attributes:
    """Return tensors and graphs that the node must have."""
    if spec.op == "Constant":
        return {"value": _ones("value")}
    if spec.op == "If":
        return {branch: _branch(spec, branch) for branch in _BRANCHES}
    return {}


def _ones(name: str) -> onnx.TensorProto:
    """Return a small constant."""
    return helper.make_tensor(name, TensorProto.FLOAT, [2, 3], [1.0] * 6)


def _branch(spec: OpSpec, name: str) -> onnx.GraphProto:
    """Return a subgraph that yields a constant for each output of the node."""
    outer = [tensor for row in spec.outputs for tensor in _tensor_names(row, ())]
    inner = [f"{name}_{tensor}" for tensor in outer]
    nodes = [helper.make_node("Constant", [], [each], value=_ones(each)) for each in inner]
    outputs = [helper.make_tensor_value_info(each, TensorProto.FLOAT, [2, 3]) for each in inner]
    return helper.make_graph(nodes, name, [], outputs)
