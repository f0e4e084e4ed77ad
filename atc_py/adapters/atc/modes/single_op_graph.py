"""The graph of one operator: its operands, constants and attributes against the target's row."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from atc_py.adapters.atc.modes.om_graph import GE_DTYPE_NAMES
from atc_py.adapters.atc.modes.single_op_file import SingleOp, SingleOpAttribute, SingleOpTensor
from atc_py.adapters.atc.modes.single_op_forms import (
    FORMS,
    IDLE_ATTRIBUTES,
    as_nchw,
    from_nchw,
    nchw_attributes,
    nchw_type,
    restate,
    takes_images,
)
from atc_py.diag import BAD_OPERATOR_FILE, AtcError, AtcFault, Place, nearest
from atc_py.ir import (
    ATTRIBUTE_TYPES,
    AttrValue,
    DenseConst,
    Graph,
    Node,
    Origin,
    Signature,
    TensorType,
    Value,
    integer_range,
)
from atc_py.package.ge.interface import FORMAT_NUMBERS
from atc_py.target import TargetOp, find_operator, operators
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import closed_shape
from atc_py.text import Text

_SAME_AS = {"MatMul": "MatMulV2", "Softmax": "SoftmaxV2", "Gelu": "GeluV2"}
"""Operators of earlier versions of CANN with the operands of a later one, which has the row."""

_ROWS_ALONE = frozenset(FORMAT_NUMBERS[name] for name in ("NCHW", "NHWC", "ND", "NCDHW"))
_FORMAT_NAMES = {number: name for name, number in FORMAT_NUMBERS.items()}
_GE_DTYPES: dict[object, DType] = {each.ge: each for each in DType}
_GE_DTYPES |= {name: each for each, name in GE_DTYPE_NAMES.items()}
_NEAREST = 3


def graph_of(single: SingleOp, file: str) -> Graph:
    """The graph, phase `lowered`; faults are BAD_OPERATOR_FILE with E10501, E13014 or E10030."""
    return _Builder(single, file).graph()


class _Builder:
    def __init__(self, single: SingleOp, file: str) -> None:
        self._single = single
        self._file = file
        self._graph = Graph(single.file_name.removesuffix(".om"))

    def graph(self) -> Graph:
        single = self._single
        row = find_operator(_SAME_AS.get(single.op, single.op))
        if row is None and single.op in FORMS:
            row = FORMS[single.op][0]
        if row is None:
            near = nearest(single.op, (each.name for each in operators()), _NEAREST)
            raise self._fault(
                Text("the target has no operator {op}", op=single.op),
                AtcFault("E10501", (single.file_name, single.op)),
                Text("the nearest names are {near}", near=", ".join(near)) if near else None,
            )
        if not single.outputs:
            message = Text("it has no output")
            raise self._fault(message, AtcFault("E13014", ("0", "output size", row.name, message)))
        inputs = [self._input(row, at, each) for at, each in enumerate(single.inputs)]
        while inputs and inputs[-1] is None:
            inputs.pop()
        node = self._graph.add_node(
            row.name,
            inputs,
            [self._output(row, at, each) for at, each in enumerate(single.outputs)],
            self._attributes(row),
            (Origin(single.index, single.name, single.op),),
        )
        self._check(node, row)
        for value in node.outputs:
            self._graph.add_output(value)
        if node.op in FORMS and (reason := restate(self._graph, node)):
            raise self._fault(reason, AtcFault("E10055", (reason,)))
        if takes_images(row):
            self._turn_results(node)
        for each in self._graph.nodes:
            each.origins = node.origins
        self._graph.sort()
        return self._graph

    def _turn_results(self, node: Node) -> None:
        """Return images in the order of axes that the file states."""
        outputs = zip(node.outputs, self._single.outputs, strict=True)
        values = [
            from_nchw(self._graph, value, _FORMAT_NAMES[tensor.format]) for value, tensor in outputs
        ]
        self._graph.set_outputs(values)

    def _check(self, node: Node, row: TargetOp) -> None:
        """Refuse a node with other operands or attributes than the row has."""
        known = Signature(row)
        for message in known.faults(node):
            atc = AtcFault("E10030", (message.split()[1], node.op))
            if not known.has_operands(node):
                count = f"{len(self._single.inputs)} inputs, {len(self._single.outputs)} outputs"
                atc = AtcFault("E13014", (count, "size", node.op, message))
            raise self._fault(message, atc)

    def _input(self, row: TargetOp, at: int, tensor: SingleOpTensor) -> Value | None:
        """An input of the graph or a constant; None for an absent operand."""
        if tensor.dtype is None:
            return None
        operand = row.input_at(at)
        self._check_format(row, tensor, Text("input {at}", at=at))
        name = tensor.name or (operand.name if operand is not None else "x")
        if operand is not None and operand.variadic and not tensor.name:
            name = f"{name}{at - len(row.inputs) + 1}"
        if tensor.value is None:
            value = self._graph.add_input(name, TensorType(tensor.dtype, tensor.shape))
        else:
            data = DenseConst(self._elements(at, tensor, tensor.value))
            value = self._graph.constant(name, data)
        form = _FORMAT_NAMES[tensor.format]
        return as_nchw(self._graph, value, form) if takes_images(row) else value

    def _elements(
        self, at: int, tensor: SingleOpTensor, values: Sequence[float]
    ) -> npt.NDArray[np.generic]:
        dtype, shape = tensor.dtype or DType.FLOAT32, closed_shape(tensor.shape)
        count = math.prod(shape)
        reason = ""
        if len(values) != count:
            reason = Text(
                "const_value has {count} elements, the shape has {count_2}",
                count=len(values),
                count_2=count,
            )
        elif not dtype.is_float:
            low, high = (0, 1) if dtype is DType.BOOL else integer_range(dtype)
            wrong = [
                each for each in values if not isinstance(each, int) or not low <= each <= high
            ]
            reason = (
                Text("{wrong} is not a value of {dtype}", wrong=wrong[0], dtype=dtype.value)
                if wrong
                else ""
            )
        if reason:
            raise self._fault(
                Text("input {at}: {reason}", at=at, reason=reason),
                AtcFault("E13014", (str(len(values)), "const_value", self._single.op, reason)),
            )
        with np.errstate(over="ignore"):
            return np.array(values, dtype.numpy).reshape(shape)

    def _output(self, row: TargetOp, at: int, tensor: SingleOpTensor) -> tuple[str, TensorType]:
        self._check_format(row, tensor, Text("output {at}", at=at))
        operand = row.output_at(at)
        name = tensor.name or (operand.name if operand is not None else f"y{at}")
        type_ = TensorType(tensor.dtype or DType.FLOAT32, tensor.shape)
        if takes_images(row):
            type_ = nchw_type(type_, _FORMAT_NAMES[tensor.format])
        return name, type_

    def _check_format(self, row: TargetOp, tensor: SingleOpTensor, what: str) -> None:
        """Refuse tensors that are not stored row by row, but where only single elements matter."""
        if tensor.format in _ROWS_ALONE or row.in_place or not tensor.shape:
            return
        reason = Text(
            "{name} takes tensors in ND, NCHW, NHWC or NCDHW here, found {name_2}",
            name=row.name,
            name_2=_FORMAT_NAMES[tensor.format],
        )
        raise self._fault(what + ": " + Text(reason), AtcFault("E10055", (reason,)))

    def _attributes(self, row: TargetOp) -> dict[str, AttrValue]:
        """All attributes: a node that a model has states those with a default, too."""
        known = {
            each.name: each.default
            for each in row.attributes
            if each.default is not None and not each.unsaid
        }
        idle = IDLE_ATTRIBUTES.get(row.name, ())
        stated = [each for each in self._single.attributes if each.name not in idle]
        given = (
            known
            | self._dtype_of_positions(row)
            | dict(self._attribute(row, each) for each in stated)
        )
        first = self._single.inputs[:1]
        form = _FORMAT_NAMES[first[0].format] if first and takes_images(row) else ""
        return nchw_attributes(given, form)

    def _dtype_of_positions(self, row: TargetOp) -> dict[str, AttrValue]:
        """Positions have the dtype of the result, where the file does not state one of its own."""
        if not row.name.startswith(("ArgMax", "ArgMin")) or not self._single.outputs:
            return {}
        return {"dtype": self._single.outputs[0].dtype or DType.INT32}

    def _attribute(self, row: TargetOp, given: SingleOpAttribute) -> tuple[str, AttrValue]:
        known = row.attribute(given.name)
        value = None if known is None else _converted(given.value, known.type)
        if known is None or value is None or not ATTRIBUTE_TYPES[known.type](value):
            names = ", ".join(each.name for each in row.attributes) or Text("none")
            what = Text("{name} has the attributes {names}", name=row.name, names=names)
            if known is not None:
                what = Text("it must be of type {type}", type=known.type)
            raise self._fault(
                Text(
                    "attribute {name} is {value} of type {kind}; {what}",
                    name=given.name,
                    value=repr(given.value),
                    kind=given.kind,
                    what=what,
                ),
                AtcFault("E10030", (given.name, row.name)),
            )
        return given.name, value

    def _fault(self, message: Text, atc: AtcFault, help_: Text | None = None) -> AtcError:
        single = self._single
        place = Place(self._file, single.index, single.name or None, single.op)
        return BAD_OPERATOR_FILE.error(message, place=place, help=help_, atc=atc)


def _converted(value: object, kind: str) -> AttrValue | None:
    """A value of JSON as the kind of attribute that a row declares, None where it cannot be."""
    if kind == "dtype":
        return _GE_DTYPES.get(value) if isinstance(value, int | str) else None
    if isinstance(value, list):
        if kind not in {"ints", "floats"}:
            return None
        items = tuple(_converted(each, kind[:-1]) for each in value)
        return None if None in items else items  # type: ignore[return-value]
    if kind == "float" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind == "int" and isinstance(value, bool):
        return int(value)
    return value if isinstance(value, bool | int | float | str) else None
