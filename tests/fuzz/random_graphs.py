"""Small graphs: chains of nodes with branches off and joints, as networks have them."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import onnx
from onnx import TensorProto, helper

from atc_py.options.compile_options import DEFAULT_LIST
from tests.fuzz.drafts import Draft

_OPSETS = (9, 11, 11, 12, 13, 13, 13, 14, 17)
_NEWER_OPSETS = (9, 11, 13, 14, 15, 16, 17, 18, 18)
_UNARY = (
    "Relu", "Sigmoid", "Tanh", "Exp", "Sqrt", "Abs", "Neg", "Erf", "Softplus", "Elu", "Identity",
    "LeakyRelu", "HardSigmoid", "Floor", "Ceil", "Reciprocal", "Sin", "Round", "Sign", "Selu",
)  # fmt: skip

Value = tuple[str, str, list[int]]
"""A value: its name, dtype and shape."""


def random_graph(rng: random.Random, operator_list: str = DEFAULT_LIST) -> onnx.ModelProto:
    """Return a model of two to ten nodes, of the opsets of a list."""
    opsets = _OPSETS if operator_list == DEFAULT_LIST else _NEWER_OPSETS
    draft = Draft(rng, rng.choice(opsets))
    shape = rng.choice(([1, 3, 8, 8], [2, 4, 5, 7], [1, 16, 6, 6], [2, 6], [1, 5, 8], [3, 4, 5]))
    dtype = rng.choice((*["float32"] * 8, "float16", "float16", "bfloat16", "float64", "int32"))
    known: list[Value] = [(draft.fed(shape, dtype), dtype, list(shape))]
    for _ in range(rng.randint(2, 10)):
        source = known[-1] if rng.random() < 0.8 else rng.choice(known)
        steps = [step for ranks, step in _STEPS if len(source[2]) in ranks]
        made = rng.choice(steps)(draft, source, known)
        if made is None:
            continue
        found = draft.type_of(made)
        if found is None or len(found[1]) > 6:
            break
        known.append((made, *found))
    if not draft.made:
        draft.node("Relu", [known[0][0]])
    return draft.model()


def _unary(draft: Draft, source: Value, _known: Sequence[Value]) -> str:
    return draft.node(draft.rng.choice(_UNARY), [source[0]])[0]


def _binary(draft: Draft, source: Value, known: Sequence[Value]) -> str:
    """Return together with a constant that broadcasts, or with another value."""
    rng = draft.rng
    op = rng.choice(("Add", "Mul", "Sub", "Div", "Max", "Min"))
    alike = [each for each in known if each[1] == source[1] and each[2] == source[2]]
    if rng.random() < 0.5:
        other = rng.choice(alike)[0]
    else:
        shape = [dim if rng.random() < 0.5 else 1 for dim in source[2]]
        other = draft.weights(shape[rng.randint(0, len(shape)) :], source[1])
    return draft.node(op, [source[0], other] if rng.random() < 0.8 else [other, source[0]])[0]


def _conv(draft: Draft, source: Value, _known: Sequence[Value]) -> str:
    rng, channels = draft.rng, source[2][1]
    group = channels if rng.random() < 0.2 and 0 < channels < 20 else 1
    out = channels if group > 1 else rng.choice((1, 2, 8))
    size = rng.choice((1, 3, 3, 5))
    filters = draft.weights([out, channels // max(group, 1), size, size], source[1])
    inputs = [source[0], filters]
    if rng.random() < 0.5:
        inputs.append(draft.weights([out], source[1]))
    pad, stride = rng.choice((0, size // 2, size // 2)), rng.choice((1, 1, 2))
    return draft.node("Conv", inputs, group=group, pads=[pad] * 4, strides=[stride] * 2)[0]


def _norm(draft: Draft, source: Value, _known: Sequence[Value]) -> str:
    parts = [draft.weights([source[2][1]], source[1]) for _ in range(3)]
    ones = draft.const([1.0] * source[2][1], source[1])
    return draft.node("BatchNormalization", [source[0], *parts, ones])[0]


def _pool(draft: Draft, source: Value, _known: Sequence[Value]) -> str:
    rng = draft.rng
    op = rng.choice(("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"))
    if op.startswith("Global"):
        return draft.node(op, [source[0]])[0]
    size = rng.choice((2, 2, 3, 4))
    ceil = 1 if draft.opset >= 10 and rng.random() < 0.3 else None
    pads = [rng.choice((0, 0, 1))] * 4
    return draft.node(
        op,
        [source[0]],
        kernel_shape=[size] * 2,
        strides=[rng.choice((1, 2))] * 2,
        pads=pads,
        ceil_mode=ceil,
    )[0]


def _resize(draft: Draft, source: Value, _known: Sequence[Value]) -> str | None:
    rng = draft.rng
    if draft.opset < 11:
        return None
    scales = draft.const([1.0, 1.0, rng.choice((2.0, 0.5)), 2.0], "float32")
    mode = rng.choice(("nearest", "linear"))
    return draft.node("Resize", [source[0], draft.const([], "float32"), scales], mode=mode)[0]


def _linear(draft: Draft, source: Value, _known: Sequence[Value]) -> str:
    rng = draft.rng
    width = source[2][-1]
    weights = draft.weights([width, rng.choice((1, 4, 16))], source[1])
    op = "Gemm" if len(source[2]) == 2 and rng.random() < 0.5 else "MatMul"
    return draft.node(op, [source[0], weights])[0]


def _attention(draft: Draft, source: Value, _known: Sequence[Value]) -> str:
    """Return scores, shares and their mixture."""
    rank = len(source[2])
    order = [*range(rank - 2), rank - 1, rank - 2]
    (turned,) = draft.node("Transpose", [source[0]], perm=order)
    (scores,) = draft.node("MatMul", [source[0], turned])
    (shares,) = draft.node("Softmax", [scores], axis=-1)
    return draft.node("MatMul", [shares, source[0]])[0]


def _moved(draft: Draft, source: Value, _known: Sequence[Value]) -> str:
    rng, rank = draft.rng, len(source[2])
    if rng.random() < 0.5:
        order = list(range(rank))
        rng.shuffle(order)
        return draft.node("Transpose", [source[0]], perm=order)[0]
    targets = ([0, -1], [-1], [source[2][0], -1], source[2][::-1], [1, *source[2]])
    return draft.node("Reshape", [source[0], draft.const(rng.choice(targets))])[0]


def _parts(draft: Draft, source: Value, _known: Sequence[Value]) -> str:
    """Split and joined again, or a slice."""
    rng = draft.rng
    axis = rng.randrange(len(source[2]))
    dim = source[2][axis]
    if rng.random() < 0.5 or draft.opset < 11:
        pair = [dim // 2, dim - dim // 2]
        given = draft.opset >= 13
        inputs = [source[0], draft.const(pair)] if given else [source[0]]
        names = draft.node("Split", inputs, 2, axis=axis, split=None if given else pair)
        return draft.node("Concat", names if rng.random() < 0.7 else names * 2, axis=axis)[0]
    ends = [draft.const([each]) for each in (rng.choice((0, 1)), rng.choice((2, -1, 99)), axis)]
    return draft.node("Slice", [source[0], *ends, draft.const([rng.choice((1, 1, 2, -1))])])[0]


def _reduced(draft: Draft, source: Value, _known: Sequence[Value]) -> str:
    rng = draft.rng
    op = rng.choice(("ReduceMean", "ReduceMax", "ReduceSum", "ReduceL2", "ArgMax", "Softmax"))
    axis = rng.randrange(-len(source[2]), len(source[2]))
    if op == "Softmax":
        return draft.node(op, [source[0]], axis=axis)[0]
    if op == "ArgMax":
        return draft.node(op, [source[0]], axis=axis, keepdims=rng.choice((0, 1)))[0]
    keep = rng.choice((0, 1))
    if op == "ReduceSum" and draft.opset >= 13:
        return draft.node(op, [source[0], draft.const([axis])], keepdims=keep)[0]
    return draft.node(op, [source[0]], axes=[axis], keepdims=keep)[0]


def _picked(draft: Draft, source: Value, _known: Sequence[Value]) -> str:
    rng = draft.rng
    axis = rng.randrange(len(source[2]))
    limit = max(1, source[2][axis])
    indices = [rng.randrange(-limit, limit) for _ in range(rng.choice((1, 2)))]
    if rng.random() < 0.05:
        indices[0] = limit
    return draft.node("Gather", [source[0], draft.const(indices)], axis=axis)[0]


def _padded(draft: Draft, source: Value, _known: Sequence[Value]) -> str:
    rng = draft.rng
    pads = [rng.choice((0, 0, 0, 1, 2)) for _ in range(2 * len(source[2]))]
    mode = rng.choice(("constant", "constant", "edge", "reflect"))
    if draft.opset < 11:
        return draft.node("Pad", [source[0]], mode=mode, pads=pads)[0]
    return draft.node("Pad", [source[0], draft.const(pads)], mode=mode)[0]


def _cast(draft: Draft, source: Value, _known: Sequence[Value]) -> str:
    to = draft.rng.choice((TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT32))
    return draft.node("Cast", [source[0]], to=to)[0]


def _by_shape(draft: Draft, source: Value, _known: Sequence[Value]) -> str:
    """Return flattened by shape arithmetic, as exporters write it."""
    (shape,) = draft.node("Shape", [source[0]])
    (first,) = draft.node("Gather", [shape, draft.const([0])], axis=0)
    (target,) = draft.node("Concat", [first, draft.const([-1])], axis=0)
    return draft.node("Reshape", [source[0], target])[0]


def _chosen(draft: Draft, source: Value, _known: Sequence[Value]) -> str:
    """Return one of two branches, of which one has a node of any kind."""
    rng = draft.rng
    branches = []
    for number in range(2):
        op = rng.choice((*_UNARY, "MaxPool", "Softmax"))
        attributes: dict[str, Any] = {"kernel_shape": [1, 1]} if op == "MaxPool" else {}
        name = f"b{len(draft.made)}_{number}"
        node = helper.make_node(op, [source[0]], [name], f"in_{name}", **attributes)
        output = helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None)
        branches.append(helper.make_graph([node], f"branch{number}", [], [output]))
    condition = draft.fed([], "bool")
    return draft.node("If", [condition], then_branch=branches[0], else_branch=branches[1])[0]


def _quantized(draft: Draft, source: Value, _known: Sequence[Value]) -> str:
    """Return quantized and back, in ONNX's form or in Ascend's."""
    rng = draft.rng
    if rng.random() < 0.5:
        (codes,) = draft.node("AscendQuant", [source[0]], domain="custom", scale=4.0, offset=1.0)
        return draft.node("AscendAntiQuant", [codes], domain="custom", scale=0.25, offset=-1.0)[0]
    step = draft.const(rng.choice((0.1, 0.25)), "float32")
    zero = draft.const(rng.choice((0, 3)), rng.choice(("int8", "uint8")))
    (codes,) = draft.node("QuantizeLinear", [source[0], step, zero])
    (back,) = draft.node("DequantizeLinear", [codes, step, zero])
    if len(source[2]) != 4 or rng.random() < 0.3:
        return back
    channels = source[2][1]
    weights = draft.const([[[[1]]] * channels] * 4, "int8")
    scales = draft.const([0.5] * 4 if draft.opset >= 13 else 0.5, "float32")
    zeros = draft.const([0] * 4 if draft.opset >= 13 else 0, "int8")
    axis = 0 if draft.opset >= 13 else None
    (filters,) = draft.node("DequantizeLinear", [weights, scales, zeros], axis=axis)
    return draft.node("Conv", [back, filters])[0]


_ANY_RANK, _MAPS = range(1, 7), range(4, 5)
_STEPS: Sequence[tuple[range, Callable[[Draft, Value, Sequence[Value]], str | None]]] = (
    (range(7), _unary),
    (range(7), _unary),
    (range(7), _binary),
    (range(7), _binary),
    (_MAPS, _conv),
    (_MAPS, _conv),
    (_MAPS, _norm),
    (_MAPS, _pool),
    (_MAPS, _resize),
    (range(2, 5), _linear),
    (range(2, 5), _attention),
    (_ANY_RANK, _moved),
    (_ANY_RANK, _parts),
    (_ANY_RANK, _reduced),
    (_ANY_RANK, _picked),
    (_ANY_RANK, _padded),
    (range(7), _cast),
    (_ANY_RANK, _by_shape),
    (range(7), _chosen),
    (_ANY_RANK, _quantized),
)
"""What can come next, by the ranks that it takes."""
