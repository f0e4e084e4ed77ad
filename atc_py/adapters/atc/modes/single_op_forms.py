"""Single operators of CANN without a row in the target, in operators that have one.

They are what Huawei's samples compile one by one and ONNX never becomes. Their operands and
attributes are those of CANN. Images in NHWC are turned: operators of the target take NCHW.
"""

from collections.abc import Callable

import numpy as np

from atc_py.ir import AttrValue, DenseConst, Graph, Node, TensorType, Value
from atc_py.target.layouts import Layout
from atc_py.target.row import Attribute, TargetOp
from atc_py.target.rows.parts import operands
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import element_count
from atc_py.text import Text

Form = Callable[[Graph, Node], "Value | Text"]
"""Writes the result of a node of another operator, or says why it cannot be written."""

IDLE_ATTRIBUTES = {"Cast": frozenset({"truncate"})}
"""Attributes of a framework that stand in samples and that the operator does not read."""

_NHWC = "NHWC"
_TO_NCHW, _FROM_NCHW = (0, 3, 1, 2), (0, 2, 3, 1)
_IMAGES = {Layout.CONV, Layout.IMAGE, Layout.SPATIAL}
_PER_AXIS = ("strides", "dilations", "ksize")
"""Attributes with a number for each axis of the images, in the order of their format."""

_RANK = 4


def takes_images(row: TargetOp) -> bool:
    """True if the operator has a meaning for each axis, and takes NCHW alone."""
    return row.takes in _IMAGES or any(each.name == "data_format" for each in row.attributes)


def as_nchw(graph: Graph, value: Value, form: str) -> Value:
    """A tensor of another order of axes as the operators take it."""
    return _turned(graph, value, _TO_NCHW) if form == _NHWC else value


def from_nchw(graph: Graph, value: Value, form: str) -> Value:
    """A result of the operators in the order of axes that a file states."""
    return _turned(graph, value, _FROM_NCHW) if form == _NHWC else value


def nchw_type(type_: TensorType, form: str) -> TensorType:
    if form != _NHWC or len(type_.dims) != _RANK:
        return type_
    return TensorType(type_.dtype, tuple(type_.dims[axis] for axis in _TO_NCHW))


def nchw_attributes(given: dict[str, AttrValue], form: str) -> dict[str, AttrValue]:
    """Attributes of an operator whose images are in `form`."""
    if form != _NHWC:
        return given
    turned = dict(given)
    for name in _PER_AXIS:
        numbers = given.get(name)
        if isinstance(numbers, tuple) and len(numbers) == _RANK:
            n, h, w, c = numbers
            turned[name] = (n, c, h, w)
    if given.get("data_format") == form:
        turned["data_format"] = "NCHW"
    return turned


def _turned(graph: Graph, value: Value, perm: tuple[int, ...]) -> Value:
    if len(value.type.dims) != _RANK:
        return value
    type_ = TensorType(value.type.dtype, tuple(value.type.dims[axis] for axis in perm))
    return graph.add_node(
        "TransposeD", [value], [(f"{value.name}.turned", type_)], {"perm": perm}
    ).output


def _gemm(graph: Graph, node: Node) -> Value:
    """Alpha * a @ b + beta * c, in float32, rounded once [inferred]."""
    a, b, c, alpha, beta = node.present_inputs
    result = node.output.type
    wide = TensorType(DType.FLOAT32, result.dims)
    turns: dict[str, AttrValue] = {
        f"transpose_x{at}": node.attributes[f"transpose_{side}"]
        for at, side in ((1, "a"), (2, "b"))
    }
    product = graph.add_node("MatMulV2", [a, b], [("product", wide)], turns).output
    scaled = graph.add_node("Mul", [product, _cast(graph, alpha)], [("scaled", wide)]).output
    addend = _cast(graph, c)
    type_ = TensorType(DType.FLOAT32, c.type.dims)
    addend = graph.add_node("Mul", [addend, _cast(graph, beta)], [("addend", type_)]).output
    total = graph.add_node("Add", [scaled, addend], [("total", wide)]).output
    return _cast(graph, total, result.dtype)


def _cast(graph: Graph, value: Value, dtype: DType = DType.FLOAT32) -> Value:
    if value.type.dtype is dtype:
        return value
    type_ = TensorType(dtype, value.type.dims)
    name = f"{value.name}.{dtype.value}"
    return graph.add_node("Cast", [value], [(name, type_)], {"dst_type": dtype}).output


def _position(op: str) -> Form:
    """Of ArgMaxV2 and its like, whose axis is an operand: ArgMaxD and its like where it is constant."""

    def write(graph: Graph, node: Node) -> Value | Text:
        x, dimension = node.present_inputs
        if dimension.const is None or element_count(dimension.const.shape) != 1:
            return Text("its dimension must be a constant of one element")
        axis = int(dimension.const.numpy().reshape(-1)[0])
        dims, result = x.type.dims, node.output.type
        if not -len(dims) <= axis < len(dims):
            return Text("{axis} is not an axis of {type}", axis=axis, type=x.type)
        axis %= len(dims)
        left = TensorType(result.dtype, (*dims[:axis], *dims[axis + 1 :]))
        attributes: dict[str, AttrValue] = {"dimension": axis, "dtype": result.dtype}
        found = graph.add_node(op, [x], [("position", left)], attributes).output
        return _shaped(graph, found, result)

    return write


def _shaped(graph: Graph, value: Value, type_: TensorType) -> Value:
    """`value` with the dims that a file states where they have as many elements."""
    if value.type.dims == type_.dims or value.type.is_open or type_.is_open:
        return value
    dims = graph.constant("shape", DenseConst(np.array(type_.dims, np.int64)))
    return graph.add_node("Reshape", [value, dims], [("shaped", type_)]).output


def _slice(graph: Graph, node: Node) -> Value | Text:
    """The part of `x` that begins at `offsets` and has the dims of the result.

    Constant offsets are a strided slice. Others pick indices along each axis: the dims are known, so
    a run can only give the sizes that the file states.
    """
    x, offsets, _ = node.present_inputs
    dims = node.output.type.dims
    if node.output.type.is_open or len(dims) != len(x.type.dims):
        return Text("its result must have known dims, as many as x")
    if offsets.const is not None:
        begin = tuple(int(each) for each in offsets.const.numpy().reshape(-1))
        end = tuple(low + size for low, size in zip(begin, node.output.type.shape, strict=True))
        sides = {"begin": begin, "end": end, "strides": (1,) * len(begin)}
        return graph.add_node("StridedSliceD", [x], [("part", node.output.type)], sides).output
    for axis, size in enumerate(node.output.type.shape):
        x = _picked(graph, x, offsets, axis, size)
    return x


def _picked(graph: Graph, x: Value, offsets: Value, axis: int, size: int) -> Value:
    dtype = offsets.type.dtype
    one = TensorType(dtype, (1,))
    sides = {"begin": (axis,), "end": (axis + 1,), "strides": (1,)}
    first = graph.add_node("StridedSliceD", [offsets], [("offset", one)], sides).output
    steps = graph.constant("steps", DenseConst(np.arange(size, dtype=dtype.numpy)))
    indices = graph.add_node("Add", [first, steps], [("indices", steps.type)]).output
    dims = (*x.type.dims[:axis], size, *x.type.dims[axis + 1 :])
    type_ = TensorType(x.type.dtype, dims)
    return graph.add_node("GatherV2D", [x, indices], [("picked", type_)], {"axis": axis}).output


_DTYPE = (Attribute("dtype", "dtype", DType.INT32),)

FORMS: dict[str, tuple[TargetOp, Form]] = {
    row.name: (row, form)
    for row, form in (
        (
            TargetOp(
                "GEMM",
                *operands("a b c alpha beta > y"),
                "alpha * a @ b + beta * c",
                attributes=(
                    Attribute("transpose_a", "bool", default=False),
                    Attribute("transpose_b", "bool", default=False),
                ),
            ),
            _gemm,
        ),
        (
            TargetOp("ArgMaxV2", *operands("x dimension > y"), "ArgMaxD", attributes=_DTYPE),
            _position("ArgMaxD"),
        ),
        (
            TargetOp("ArgMin", *operands("x dimension > y"), "ArgMinD", attributes=_DTYPE),
            _position("ArgMinD"),
        ),
        (TargetOp("Slice", *operands("x offsets size > y"), "StridedSliceD"), _slice),
    )
}
"""Rows of operators that no ONNX operator becomes, and what writes each."""


def restate(graph: Graph, node: Node) -> Text | None:
    """Write a node of these operators in operators of the target; the reason where it cannot be."""
    written = FORMS[node.op][1](graph, node)
    if isinstance(written, Text):
        return written
    node.output.replace_by(written)
    graph.remove_nodes([node])
    return None
