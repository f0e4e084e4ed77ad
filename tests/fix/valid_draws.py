"""Valid models of one operator each on which a proof by numbers is hard, or the file's own form counts."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.random import Generator
from numpy.typing import NDArray
from onnx import helper

Draw = dict[str, Any]
KINDS: dict[str, Callable[[Generator], onnx.ModelProto]] = {}

_FLOAT = 1


def _kind(
    function: Callable[[Generator], onnx.ModelProto],
) -> Callable[[Generator], onnx.ModelProto]:
    KINDS[function.__name__.lstrip("_")] = function
    return function


def _model(
    rng: Generator,
    op: str,
    inputs: Sequence[NDArray[Any] | None],
    element: int,
    *,
    opset: int = 13,
    kept: Sequence[int] = (),
    **attributes: Any,
) -> onnx.ModelProto:
    """Return a model of one node, alone or before one that rules rewrite; inputs at `kept` are constants."""
    domain, _, name = op.rpartition("::")
    fed, constants, names = [], [], []
    if "Reduce" not in op and rng.random() < 1 / 3:
        kept = [at for at in kept if rng.random() < 1 / 2]
    for at, array in enumerate(inputs):
        names.append("" if array is None else f"i{at}")
        if array is None:
            continue
        tensor = onnx.numpy_helper.from_array(array, f"i{at}")
        if at in kept:
            constants.append(tensor)
        else:
            fed.append(helper.make_tensor_value_info(f"i{at}", tensor.data_type, array.shape))
    beside = bool(rng.integers(2))
    nodes = [helper.make_node(name, names, ["s" if beside else "y"], domain=domain, **attributes)]
    if beside:  # a node that rules rewrite
        nodes += [
            helper.make_node("Cast", ["s"], ["r"], to=_FLOAT),
            helper.make_node("IsNaN", ["r"], ["y"]),
        ]
    result = helper.make_tensor_value_info("y", 9 if beside else element, None)
    graph = helper.make_graph(nodes, "g", fed, [result], constants)
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def _codes(rng: Generator, shape: Sequence[int], dtype: Any) -> NDArray[Any]:
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, tuple(shape), endpoint=True).astype(dtype)


def _code_type(rng: Generator) -> Any:
    return (np.int8, np.uint8)[rng.integers(2)]


def _opset(rng: Generator) -> int:
    return int(rng.choice([10, 11, 13, 17, 21]))


def _floats(rng: Generator, *shape: int) -> NDArray[np.float32]:
    return rng.normal(size=shape).astype(np.float32)


def _step(rng: Generator, *shape: int) -> NDArray[np.float32]:
    return np.asarray(rng.uniform(0.01, 0.1, shape), np.float32)


@_kind
def _instance_norm_of_one_pixel(rng: Generator) -> onnx.ModelProto:
    n, c = rng.integers(1, 4, 2)
    dims = [1] * int(rng.integers(1, 4))
    inputs = [_floats(rng, n, c, *dims), _floats(rng, c), _floats(rng, c)]
    kept = [(), (1, 2)][rng.integers(2)]
    return _model(
        rng, "InstanceNormalization", inputs, 1, kept=kept, epsilon=float(rng.choice([1e-5, 1e-3]))
    )


@_kind
def _conv_integer(rng: Generator) -> onnx.ModelProto:
    one, other = _code_type(rng), _code_type(rng)
    c, out, k = (int(each) for each in rng.integers(1, 4, 3))
    x, w = _codes(rng, (1, c, 5, 5), one), _codes(rng, (out, c, k, k), other)
    zeros = [_codes(rng, (), one), _codes(rng, (), other)][: rng.integers(3)]
    pads = [int(rng.integers(2))] * 4
    kept = [at for at in (1, 2, 3) if at != 1 or rng.integers(2)]
    return _model(rng, "ConvInteger", [x, w, *zeros], 6, opset=_opset(rng), kept=kept, pads=pads)


@_kind
def _mat_mul_integer(rng: Generator) -> onnx.ModelProto:
    one, other = _code_type(rng), _code_type(rng)
    m, k, n = rng.integers(1, 6, 3)
    a, b = _codes(rng, (m, k), one), _codes(rng, (k, n), other)
    zeros = [_codes(rng, (), one), _codes(rng, (n,) if rng.integers(2) else (), other)]
    kept = [at for at in (1, 2, 3) if at != 1 or rng.integers(2)]
    return _model(
        rng, "MatMulInteger", [a, b, *zeros[: rng.integers(3)]], 6, opset=_opset(rng), kept=kept
    )


def _elementwise(rng: Generator, op: str) -> onnx.ModelProto:
    dtype = _code_type(rng)
    shape = tuple(rng.integers(1, 4, rng.integers(1, 4)))
    a, b = _codes(rng, shape, dtype), _codes(rng, shape[-1:] if rng.integers(2) else shape, dtype)
    inputs = [a, _step(rng), _codes(rng, (), dtype), b, _step(rng), _codes(rng, (), dtype)]
    inputs += [_step(rng), _codes(rng, (), dtype)]
    kept = [1, 2, 4, 5, 6, 7, *([3] if rng.integers(2) else [])]
    element = 3 if dtype is np.int8 else 2
    return _model(rng, f"com.microsoft::{op}", inputs, element, opset=_opset(rng), kept=kept)


@_kind
def _qlinear_add(rng: Generator) -> onnx.ModelProto:
    return _elementwise(rng, "QLinearAdd")


@_kind
def _qlinear_mul(rng: Generator) -> onnx.ModelProto:
    return _elementwise(rng, "QLinearMul")


@_kind
def _qlinear_mat_mul(rng: Generator) -> onnx.ModelProto:
    one, other, third = (_code_type(rng) for _ in range(3))
    third = one
    m, k, n = rng.integers(1, 6, 3)
    inputs = [_codes(rng, (m, k), one), _step(rng), _codes(rng, (), one)]
    inputs += [_codes(rng, (k, n), other), _step(rng), _codes(rng, (), other)]
    inputs += [_step(rng), _codes(rng, (), third)]
    kept = [1, 2, 4, 5, 6, 7, *([3] if rng.integers(2) else [])]
    return _model(
        rng, "QLinearMatMul", inputs, 3 if third is np.int8 else 2, opset=_opset(rng), kept=kept
    )


def _reduction(rng: Generator, op: str) -> onnx.ModelProto:
    dtype = (np.float32, np.float32, np.int32, np.float16)[rng.integers(4)]
    x = (rng.normal(size=(2, 3, 4)) * 4).astype(dtype)
    axes = np.array([[], [1]][rng.integers(2)], np.int64)
    element = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    attributes = {"noop_with_empty_axes": 1, "keepdims": int(rng.integers(2))}
    inputs: list[NDArray[Any]] = [x, axes] if axes.size or rng.integers(2) else [x]
    return _model(rng, op, inputs, element, opset=18, kept=[1], **attributes)


@_kind
def _reduce_l1(rng: Generator) -> onnx.ModelProto:
    return _reduction(rng, "ReduceL1")


@_kind
def _reduce_sum_square(rng: Generator) -> onnx.ModelProto:
    return _reduction(rng, "ReduceSumSquare")


@_kind
def _reduce_l2(rng: Generator) -> onnx.ModelProto:
    return _reduction(rng, "ReduceL2")


@_kind
def _cubic_grid_sample(rng: Generator) -> onnx.ModelProto:
    h, w = rng.integers(1, 12, 2)
    x = _floats(rng, 1, int(rng.integers(1, 3)), int(h), int(w))
    reach = rng.choice([1.0, 1.3, 3.0, 30.0])
    grid = rng.uniform(-reach, reach, (1, *rng.integers(1, 8, 2), 2))
    grid = grid.astype(rng.choice(["float32", "float16"]))
    new = rng.integers(2)
    attributes: dict[str, Any] = {
        "mode": "cubic" if new else "bicubic",
        "padding_mode": str(rng.choice(["zeros", "border", "reflection"])),
        "align_corners": int(rng.integers(2)),
    }
    return _model(rng, "GridSample", [x, grid], 1, opset=20 if new else 16, **attributes)


def _infos(*ports: tuple[str, int, list[int]]) -> list[onnx.ValueInfoProto]:
    return [helper.make_tensor_value_info(*each) for each in ports]


@_kind
def _nested_loops(rng: Generator) -> onnx.ModelProto:
    node = helper.make_node("Add", ["v", "x"], ["w"])
    for level in range(int(rng.integers(9, 14))):
        state = f"v{level}"
        node.input[2 if node.op_type == "Loop" else 0] = state
        reads = _infos((f"i{level}", 7, []), (f"c{level}", 9, []), (state, _FLOAT, [2]))
        makes = _infos((f"d{level}", 9, []), (f"w{level}", _FLOAT, [2]))
        node.output[0] = f"w{level}"
        nodes = [helper.make_node("Identity", [f"c{level}"], [f"d{level}"]), node]
        body = helper.make_graph(nodes, f"b{level}", reads, makes)
        node = helper.make_node("Loop", ["one", "yes", "x"], ["y"], body=body)
    constants = {"one": np.array(1), "yes": np.ones((), np.bool_)}
    weights = [onnx.numpy_helper.from_array(each, name) for name, each in constants.items()]
    graph = helper.make_graph(
        [node], "g", _infos(("x", _FLOAT, [2])), _infos(("y", _FLOAT, [2])), weights
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
