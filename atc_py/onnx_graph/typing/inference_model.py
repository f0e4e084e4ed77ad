"""What onnx's inference is shown of a graph: its nodes, types, and small constants by value.

Three things need care. Inference gives some results dims below zero, for windows larger than their
input for instance, and aborts the whole process where a Slice or a GatherND reads such a value. And its
data propagation takes every one-dimensional tensor that meets certain operators for a shape and
keeps an object for each element: 30 million elements take it 13 seconds and 4 GB, and a range that
claims 10^12 takes the machine.
"""

from collections.abc import Collection, Mapping, Sequence

from onnx.onnx_cpp2py_export import shape_inference
from onnx.onnx_pb import (
    GraphProto,
    ModelProto,
    OperatorSetIdProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
)

from atc_py.diag import BAD_NODE
from atc_py.ir import ConstData
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode, ValueType
from atc_py.onnx_graph.reading.tensors import element_of_dtype
from atc_py.onnx_graph.typing.type_rules import Shown
from atc_py.tensor.shapes import element_count
from atc_py.text import Text

SMALL = 256
"""Constants of at most so many elements are shown to inference by value: shapes, axes, scales."""

_IR_VERSION = 8
"""From IR version 4 on initializers need not be inputs too, whatever the file's own version."""

LONG = 1 << 16
"""Elements of a vector that is no shape any more."""

_PROPAGATING = frozenset({"Cast", "Concat", "Gather", "Size", "Slice", "Squeeze", "Unsqueeze"})
"""Operators that onnx follows shapes through without a bound on their length."""

_STEADY = frozenset(
    {
        "Abs",
        "Add",
        "And",
        "BatchNormalization",
        "Cast",
        "Ceil",
        "Clip",
        "Concat",
        "Constant",
        "Div",
        "Dropout",
        "Elu",
        "Equal",
        "Erf",
        "Exp",
        "Flatten",
        "Floor",
        "Gather",
        "Gelu",
        "Gemm",
        "GlobalAveragePool",
        "GlobalMaxPool",
        "Greater",
        "HardSigmoid",
        "HardSwish",
        "Identity",
        "InstanceNormalization",
        "LayerNormalization",
        "LeakyRelu",
        "Less",
        "Log",
        "LogSoftmax",
        "MatMul",
        "Max",
        "Mean",
        "Min",
        "Mish",
        "Mul",
        "Neg",
        "Not",
        "Or",
        "PRelu",
        "Pow",
        "Reciprocal",
        "ReduceMax",
        "ReduceMean",
        "ReduceSum",
        "Relu",
        "Reshape",
        "Round",
        "Selu",
        "Shape",
        "Sigmoid",
        "Sign",
        "Size",
        "Softmax",
        "Softplus",
        "Softsign",
        "Sqrt",
        "Squeeze",
        "Sub",
        "Sum",
        "Tanh",
        "Transpose",
        "Unsqueeze",
        "Where",
    }
)
"""Operators that make no negative dim of others; one that is missing costs an inference."""

_WINDOWS = frozenset({"AveragePool", "Conv", "MaxPool"})

BLIND_TO_FLOATS = _STEADY | _WINDOWS
"""Operators of which no float that they read, whatever its value, decides about a type."""

_SAME = frozenset({"SAME_UPPER", "SAME_LOWER"})


def inference_model(
    graph: OnnxGraph,
    pinned: Mapping[str, ValueType],
    left_out: Collection[OnnxNode],
    shown: Mapping[OnnxNode, Shown],
) -> ModelProto:
    """The graph as a model; large constants are inputs, since only their types matter.

    Nodes whose results are pinned are left out like those in `left_out`, and pinned results are
    inputs, too. The nodes in `shown` are there in that form.
    """
    model = ModelProto(ir_version=_IR_VERSION)
    model.opset_import.extend(imports(graph.opsets))
    proto = model.graph
    proto.name = "g"
    _write_given(proto, graph, pinned)
    imported, declared = set(graph.opsets), graph.declared.keys()
    left_out = {*left_out, *graph.unsound}
    for node in graph.nodes:
        # Nobody has looked at the nodes of inner graphs; onnx would infer them along.
        left = node.holds_graphs or (bool(left_out) and node in left_out)
        if left or (pinned and any(name in pinned for name in node.writes)):
            continue
        if shown and node in shown:
            proto.node.extend(shown[node].nodes)
            continue
        proto.node.append(node.proto if node.stated else node.plain)
        if node.domain not in imported:
            imported.add(node.domain)
            model.opset_import.append(OperatorSetIdProto(domain=node.domain, version=1))
        if not declared.isdisjoint(node.output_names) and node.schema is None:
            known = (name for name in node.writes if name in declared)
            proto.value_info.extend(_value_info(name, graph.declared[name]) for name in known)
    taken = {value.name for value in proto.value_info}
    given = (graph.consts, graph.inputs, pinned)
    for name in dict.fromkeys(graph.outputs):
        if name not in taken and not any(name in known for known in given):
            proto.output.append(ValueInfoProto(name=name))
    return model


def _write_given(proto: GraphProto, graph: OnnxGraph, pinned: Mapping[str, ValueType]) -> None:
    """Write inputs and constants, what no node of the model makes."""
    for name, known in (*graph.inputs.items(), *graph.foreign.items(), *pinned.items()):
        proto.input.append(_value_info(name, known))
    for name, const in graph.consts.items():
        if element_count(const.shape) <= SMALL:
            fill_tensor(proto.initializer.add(), name, const)
        else:
            known = ValueType(element_of_dtype(const.dtype), const.shape)
            proto.input.append(_value_info(name, known))


def imports(opsets: Mapping[str, int]) -> list[OperatorSetIdProto]:
    return [OperatorSetIdProto(domain=d, version=v) for d, v in opsets.items()]


def _value_info(name: str, known: ValueType) -> ValueInfoProto:
    return ValueInfoProto(name=name, type=type_proto(known))


def type_proto(known: ValueType) -> TypeProto:
    """A tensor type; unknown dims get no name, so that none are taken for equal."""
    proto = TypeProto()
    proto.tensor_type.elem_type = known.element
    if known.dims is not None:
        shape = proto.tensor_type.shape
        shape.SetInParent()
        for extent in known.dims:
            dim = shape.dim.add()
            if extent is not None:
                dim.dim_value = extent
    return proto


def fill_tensor(tensor: TensorProto, name: str, const: ConstData) -> None:
    """Write a constant with its data into an empty message."""
    tensor.name = name
    tensor.data_type = element_of_dtype(const.dtype)
    tensor.dims.extend(const.shape)
    tensor.raw_data = const.numpy().tobytes()


def doubtful_values(graph: OnnxGraph) -> set[str]:
    """The names of the values that may have negative dims by onnx's inference.

    What a Slice makes is sound again, so that Slices in a row wait for the first one only.
    """
    doubtful: set[str] = set()
    for node in graph.nodes:
        if node.op_type == "Slice" and not node.domain:
            continue
        # Steady nodes make no negative dim of sound ones.
        fits = node.op_type in _WINDOWS and _always_fits(node)
        steady = not node.domain and (node.op_type in _STEADY or fits)
        if not steady or not doubtful.isdisjoint(node.reads):
            doubtful.update(node.writes)
    return doubtful


def _always_fits(node: OnnxNode) -> bool:
    """True if a window fits its padded input even where that has a single element."""
    auto_pad = node.text("auto_pad", "NOTSET")
    if auto_pad != "NOTSET":
        return auto_pad in _SAME
    kernel = node.integers("kernel_shape")
    axes = len(kernel)
    pads = node.integers("pads") or (0,) * 2 * axes
    dilations = node.integers("dilations") or (1,) * axes
    if not kernel or len(pads) != 2 * axes or len(dilations) != axes:
        return False
    return all(
        (kernel[axis] - 1) * dilations[axis] <= pads[axis] + pads[axes + axis]
        for axis in range(axes)
    )


def dims_below_zero(proto: TypeProto) -> list[int]:
    """The dims of a type if one of them is negative; else none."""
    dims = [dim.dim_value for dim in proto.tensor_type.shape.dim]
    return dims if min(dims, default=0) < 0 else []


def refuse_negative_dims(graph: OnnxGraph, negative: Mapping[str, Sequence[int]]) -> None:
    """Raise BAD_NODE for the first node with such results; what comes after it is of no use."""
    for node in graph.nodes:
        for name in node.writes:
            if name in negative:
                raise BAD_NODE.error(
                    Text(
                        "the result of {op_type} would have the dims {negative}: its window, "
                        "pads or bounds do not fit its input",
                        op_type=node.op_type,
                        negative=list(negative[name]),
                    ),
                    place=node.place,
                    help=Text("check --input-shape, the kernel and the pads"),
                )


def has_long_vectors(model: ModelProto, known: Mapping[str, ValueType]) -> bool:
    """True if data propagation would meet a vector of more than LONG elements in `model`.

    Inference without it tells, which takes few milliseconds and no memory. `known` are types that
    an earlier inference found, which are looked at in place of another one where they are those of
    all values in question. What onnx raises for models that it cannot make sense of is passed on.
    """
    nodes = (node for node in model.graph.node if node.op_type in _PROPAGATING)
    read = {name for node in nodes for name in node.input}
    if not read:
        return False
    asked = read.difference(constant.name for constant in model.graph.initializer)
    if asked <= known.keys():
        shapes = [known[name].dims or () for name in read if name in known]
    else:
        graph = infer_shapes(model.SerializeToString(), data_prop=False).graph
        shapes = [
            tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
            for value in (*graph.input, *graph.value_info)
            if value.name in read
        ]
    return any(len(dims) == 1 and (dims[0] or 0) > LONG for dims in shapes)


def infer_shapes(model: bytes, *, data_prop: bool) -> ModelProto:
    """The model with the types that onnx infers, as `onnx.shape_inference` has it."""
    inferred: ModelProto = ModelProto.FromString(
        shape_inference.infer_shapes(
            model, check_type=False, strict_mode=False, data_prop=data_prop
        )
    )
    return inferred
