"""CANN's operators in those of the target: by name where both have it, by rules of their own else.

What a kernel computes is proven by numbers of real files for BNInferenceD; that GEMM and Pooling round
once is inferred.
"""

from collections.abc import Callable, Mapping

import numpy as np

from atc_py.ir import AttrValue, ConstData, DenseConst, TensorType, Value
from atc_py.package.ge.messages import GeAttributes
from atc_py.pipeline.huawei.building import (
    LaunchBuilder,
    LaunchOperator,
    format_name,
    stated_attributes,
    vector,
)
from atc_py.pipeline.huawei.convolutions import add_convolution
from atc_py.pipeline.huawei.pictures import add_aipp
from atc_py.pipeline.huawei.tensors import NotModeledError, same_data
from atc_py.target import TargetOp, find_operator
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_ALIASES = {
    "BatchMatMul": "BatchMatMulV2",
    "MatMul": "MatMulV2",
    "Pad": "PadV3D",
    "PadD": "PadV3D",
    "PadV3": "PadV3D",
    "Softmax": "SoftmaxV2",
    "SplitV": "SplitVD",
}
"""Operators that compute what one of another name does, in the target table."""

_LOST: Mapping[str, Mapping[str, tuple[str, float]]] = {
    "Elu": {"alpha": ("alpha", 1.0)},
    "HardSigmoid": {"alpha": ("alpha", 0.2), "beta": ("beta", 0.5)},
    "LeakyRelu": {"negative_slope": ("alpha", 0.01)},
}
"""Attributes that a kernel holds and the file does not: ONNX's name and default."""


Rule = Callable[[LaunchOperator, LaunchBuilder], Value]


def add_operation(operation: LaunchOperator, builder: LaunchBuilder) -> Value:
    """Add what an operator computes; its first result."""
    rule = _RULES.get(operation.type, _by_name)
    return rule(operation, builder)


def _by_name(operation: LaunchOperator, builder: LaunchBuilder) -> Value:
    """The operator of that name, or the one that has constant operands as attributes."""
    row = _row_of(operation)
    inputs, constants = _operands_of(row, operation, builder)
    attributes = stated_attributes(row, operation.attributes, constants)
    if not operation.is_head:
        attributes = _lost_attributes(row, operation)
    if any(value.name == "data_format" for value in row.attributes):
        attributes["data_format"] = operation.x.type.format.value
    if "dst_type" in {value.name for value in row.attributes} and operation.is_last:
        attributes["dst_type"] = operation.results[0].dtype
    return builder.add(row.name, inputs, attributes, operation.own_results)


def _row_of(operation: LaunchOperator) -> TargetOp:
    name = operation.type
    for known in (name, _ALIASES.get(name, name), f"{name}D"):
        row = find_operator(known)
        if row is not None:
            return row
    raise NotModeledError(Text("the arithmetic of {op} is not known", op=name))


def _operands_of(
    row: TargetOp, operation: LaunchOperator, builder: LaunchBuilder
) -> tuple[list[Value | None], dict[str, ConstData]]:
    """The inputs by position, and the constants that are attributes here."""
    attributes = {value.name for value in row.attributes}
    constants: dict[str, ConstData] = {}
    inputs: list[Value | None] = []
    names = [operand.name for operand in row.inputs]
    for name, value in operation.operands.items():
        if name in attributes and name not in names and value.const is not None:
            constants[name] = value.const
            continue
        at = names.index(name) if name in names else len(inputs)
        inputs += [None] * (at + 1 - len(inputs))
        if row.input_at(at) is None or inputs[at] is not None:
            raise NotModeledError(Text("{op} has no input {name}", op=row.name, name=name))
        inputs[at] = value
    for at in row.numbers_at(len(inputs)):
        held = inputs[at]
        if held is not None and held.const is not None and held.type.dtype is DType.INT32:
            data = same_data(held.const, held.type.shape, DType.INT64)
            inputs[at] = builder.constant(held.name, data)
    return inputs, constants


def _lost_attributes(row: TargetOp, operation: LaunchOperator) -> dict[str, AttrValue]:
    """Attributes of an operator inside of a launch, which the network alone has."""
    found: dict[str, AttrValue] = {}
    for name, (onnx, default) in _LOST.get(row.name, {}).items():
        if operation.node is None:
            text = Text("{name} of {op} is not in the file; give the network with --like")
            raise NotModeledError(text.with_values(name=name, op=row.name))
        found[name] = float(operation.node.number(onnx, default))
    return found


def _prelu(operation: LaunchOperator, builder: LaunchBuilder) -> Value:
    weight = vector(operation.operand("weight"), builder)
    return builder.add("PRelu", [operation.x, weight], {}, operation.own_results)


def _trans_data(operation: LaunchOperator, builder: LaunchBuilder) -> Value:
    """A change of storage; one between formats that are row by row is not one."""
    x, (result, *_) = operation.x, operation.results
    groups = max(operation.attributes.number("groups", 1), 1)
    if x.type.dims != result.dims:
        raise NotModeledError(Text("TransData gives other dims"))
    attributes: dict[str, AttrValue] = {
        "src_format": format_name(x.type), "dst_format": format_name(result), "groups": groups,
    }  # fmt: skip
    return builder.add("TransData", [x], attributes, operation.own_results)


def _normalization(operation: LaunchOperator, builder: LaunchBuilder) -> Value:
    """(x + mean) * variance, which the host has folded, each rounded; then scale and b."""
    value = operation.x
    rest = [name for name in ("mean", "variance", "scale", "b") if name in operation.operands]
    for name in rest:
        last = operation.is_last and name == rest[-1]
        op = {"mean": "Add", "variance": "Mul", "scale": "Mul", "b": "Add"}[name]
        other = _per_channel(operation.operand(name), len(value.type.dims), builder)
        value = builder.add(op, [value, other], {}, operation.results if last else None)
    return value


def _dense(operation: LaunchOperator, builder: LaunchBuilder) -> Value:
    """Rows of all but the first axis times the filters, which are rows too."""
    if operation.attributes.number("axis", 1) != 1 or operation.attributes.flag("transpose"):
        raise NotModeledError(Text("FullyConnection has an axis other than 1, or is transposed"))
    x, weights = operation.x, operation.operand("w")
    if weights.const is None or not weights.type.dims:
        raise NotModeledError(Text("weights of FullyConnection must be a constant"))
    outputs = weights.type.shape[0]
    terms = int(np.prod(weights.type.shape[1:], dtype=np.int64))
    if len(x.type.dims) != 2:  # noqa: PLR2004
        rows = builder.stored(x, x.type.with_storage(None))
        x = builder.reshape(rows, (x.type.shape[0], terms))
    matrix = builder.constant(weights.name, same_data(weights.const, (outputs, terms)))
    inputs = [x, matrix]
    if "b" in operation.operands:
        inputs.append(vector(operation.operand("b"), builder))
    result = operation.results[0]
    kind = TensorType(result.dtype, (x.type.shape[0], outputs))
    if result.dims == kind.dims:
        kind = result
    value = builder.add("MatMulV2", inputs, {"transpose_x2": True}, [kind])
    if operation.is_last and value.type.dims != result.dims:
        return builder.stored(builder.reshape(value, result.shape), result)
    return value


def _aipp(operation: LaunchOperator, builder: LaunchBuilder) -> Value:
    if operation.pictures is None:
        raise NotModeledError(Text("the settings of AIPP are not in the file"))
    _, *others = operation.operands.values()
    result = operation.results[0] if operation.is_last else None
    parameters = others[0] if others else None
    return add_aipp(builder, operation.x, parameters, operation.pictures, result)


def _gemm(operation: LaunchOperator, builder: LaunchBuilder) -> Value:
    """Alpha * a @ b + beta * c, in float32, rounded once [inferred]."""
    names = ("a", "b", "c", "alpha", "beta")
    a, b, c, alpha, beta = (operation.operand(name) for name in names)
    turned = {
        f"transpose_x{at}": operation.attributes.flag(f"transpose_{name}")
        for at, name in ((1, "a"), (2, "b"))
    }
    shape = operation.results[0].shape
    product = builder.add("MatMulV2", [a, b], turned, [TensorType(DType.FLOAT32, shape)])
    scaled = builder.add("Mul", [product, _wide(alpha, builder)])
    more = builder.add("Mul", [_wide(c, builder), _wide(beta, builder)])
    total = builder.add("Add", [scaled, more])
    dtype = operation.results[0].dtype
    if dtype is DType.FLOAT32:
        return total
    return builder.add("Cast", [total], {"dst_type": dtype}, operation.own_results)


def _wide(value: Value, builder: LaunchBuilder) -> Value:
    if value.type.dtype is DType.FLOAT32:
        return value
    return builder.add("Cast", [value], {"dst_type": DType.FLOAT32})


def _pooling(operation: LaunchOperator, builder: LaunchBuilder) -> Value:
    """Caffe's pool: mode 0 is the largest element, 1 the mean; ceil_mode 0 rounds up."""
    stated = operation.attributes
    if not operation.is_head or "window" not in stated:
        raise NotModeledError(Text("the window of Pooling is not in the file"))
    (height, width), (down, right) = _pair(stated, "window"), _pair(stated, "stride")
    pads = stated.numbers("pad") or (0, 0, 0, 0)
    mode = stated.number("mode")
    if mode not in {0, 1} or len(pads) != 4 or (mode and any(pads)):  # noqa: PLR2004
        raise NotModeledError(Text("Pooling of mode {mode} with pads {pads}", mode=mode, pads=pads))
    attributes: dict[str, AttrValue] = {
        "ksize": (1, 1, height, width), "strides": (1, 1, down, right), "pads": tuple(pads),
        "global_pooling": stated.flag("global_pooling"), "ceil_mode": not stated.number("ceil_mode"),
    }  # fmt: skip
    op = "AvgPoolV2" if mode else "MaxPoolV3"
    return builder.add(op, [operation.x], attributes, operation.own_results)


def _pair(attributes: GeAttributes, name: str) -> tuple[int, int]:
    numbers = attributes.numbers(name) or (1, 1)
    return numbers[0], numbers[-1]


def _resize(operation: LaunchOperator, builder: LaunchBuilder) -> Value:
    """Resize to the dims of the result; without a flag the first pixels fall on each other."""
    stated, result = operation.attributes, operation.results[0]
    corners, centers = stated.flag("align_corners"), stated.flag("half_pixel_centers")
    size = builder.constant("size", DenseConst(np.array(result.shape[-2:], np.int32)))
    attributes = {"align_corners": corners, "half_pixel_centers": centers}
    op = operation.type.removesuffix("D")
    return builder.add(op, [operation.x, size], attributes, operation.own_results)


def _per_channel(value: Value, rank: int, builder: LaunchBuilder) -> Value:
    """A constant of a number for each channel, with an axis for each of the data's."""
    dims = value.type.dims
    if value.const is None or len(dims) == rank:
        return value
    shape = (1, -1, *(1,) * (rank - 2))
    count = int(np.prod(value.type.shape, dtype=np.int64))
    known = tuple(count if dim < 0 else dim for dim in shape)
    return builder.constant(value.name, same_data(value.const, known))


_RULES: dict[str, Rule] = {
    **dict.fromkeys(("Conv2D", "DepthwiseConv2D", "Conv2DTransposeD"), add_convolution),
    "PRelu": _prelu,
    "TransData": _trans_data,
    "BNInferenceD": _normalization,
    "FullyConnection": _dense,
    "Aipp": _aipp,
    "GEMM": _gemm,
    "Pooling": _pooling,
    **dict.fromkeys(
        (
            "ResizeBilinearV2D",
            "ResizeNearestNeighborV2D",
        ),
        _resize,
    ),
}
"""Operators that the target has not, or has in another form."""
