"""Small models with open dims, converted with gears and for single shapes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

import atc_py
from atc_py.package.reader import OfflineModel

Array = npt.NDArray[Any]


OPSET = 13


def image_model(path: Path, dims: Sequence[int | str] = ("n", 3, "h", "w")) -> Path:
    """Write a small network for images; weights are random, and one is made of another."""
    random = np.random.default_rng(0)
    weights = {
        "f": random.standard_normal((8, 3, 3, 3)).astype(np.float32),
        "g": random.standard_normal((8, 8, 1, 1)).astype(np.float32),
        "scale": random.standard_normal((8, 1, 1, 1)).astype(np.float32),
        "w": random.standard_normal((8, 5)).astype(np.float32),
        "b": random.standard_normal(5).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "f"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2], name="conv"),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("Mul", ["g", "scale"], ["h"], name="scaled"),
        helper.make_node("Conv", ["r", "h"], ["d"], name="point"),
        helper.make_node("MaxPool", ["d"], ["p"], kernel_shape=[2, 2], strides=[2, 2], name="pool"),
        helper.make_node("GlobalAveragePool", ["p"], ["a"], name="average"),
        helper.make_node("Flatten", ["a"], ["v"], name="flat"),
        helper.make_node("Gemm", ["v", "w", "b"], ["scores"], name="dense"),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)]
    outputs = [
        helper.make_tensor_value_info("scores", TensorProto.FLOAT, None),
        helper.make_tensor_value_info("p", TensorProto.FLOAT, None),
    ]
    return _written(path, nodes, inputs, outputs, weights)


def two_inputs(path: Path) -> Path:
    """Write a model of the inputs a [n, 4] and b [k, m], a scalar s, and of products of them."""
    random = np.random.default_rng(1)
    weights = {"w": random.standard_normal((4, 6)).astype(np.float32)}
    nodes = [
        helper.make_node("MatMul", ["a", "w"], ["m"], name="product"),
        helper.make_node("Mul", ["m", "s"], ["y"], name="times"),
        helper.make_node("Softmax", ["b"], ["z"], axis=-1, name="softmax"),
    ]
    inputs = [
        helper.make_tensor_value_info("a", TensorProto.FLOAT, ["n", 4]),
        helper.make_tensor_value_info("b", TensorProto.FLOAT, ["k", "m"]),
        helper.make_tensor_value_info("s", TensorProto.FLOAT, []),
    ]
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("y", "z")]
    return _written(path, nodes, inputs, outputs, weights)


def _written(
    path: Path,
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    weights: Mapping[str, Array],
) -> Path:
    """Write a model."""
    initializers = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "net", inputs, outputs, initializers)
    opsets = [helper.make_opsetid("", OPSET)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def feeds_of(model: OfflineModel, seed: int = 0) -> dict[str, Array]:
    """Return random data for the inputs of a model of known shapes."""
    random = np.random.default_rng(seed)
    found = {}
    for port in model.description.inputs:
        tensor = model.description.tensors[port.tensor]
        shape = tuple(dim or 0 for dim in tensor.shape)
        if tensor.dtype.startswith("float"):
            found[port.name] = random.standard_normal(shape).astype(tensor.dtype)
        else:
            found[port.name] = random.integers(0, 2, shape).astype(tensor.dtype)
    return found


def differences(om: Path, source: Path, folder: Path, **options: Any) -> list[str]:
    """Return what differs between each gear of an offline model and the model of its shape alone.

    Graph, kernels, report and weights are compared, and outputs on random data bit for bit.

    Args:
        om: with gears.
        source: the ONNX model.
        folder: for the models of single shapes.
        options: as both were converted with.
    """
    found = []
    with atc_py.load(om) as model:
        gears = model.gears
        assert gears is not None
        for gear in range(len(gears.gears)):
            single = folder / f"single{gear}.om"
            atc_py.convert(source, single, input_shape=gears.shapes_of(gear), **options)
            with atc_py.load(single) as alone:
                one, other = model.at_gear(gear), alone
                parts = _differing_parts(one._package, other._package)
                feeds = feeds_of(other._package, gear)
                expected = other.run(feeds)
                results = model.run(feeds)
                if any(results[name].tobytes() != expected[name].tobytes() for name in expected):
                    parts.append("results")
                if not any(array.any() for array in expected.values()):
                    parts.append("nothing but zeros")
                found += [f"gear {gear}: {part}" for part in parts]
    return found


def _differing_parts(one: OfflineModel, other: OfflineModel) -> list[str]:
    """Return the parts in which a gear and a model of one shape differ, names of members apart."""
    left, right = one.description, other.description
    parts = [
        name
        for name in left.__struct_fields__
        if name not in {"tensors", "members"} and getattr(left, name) != getattr(right, name)
    ]
    for each, twin in zip(left.tensors, right.tensors, strict=True):
        same = (each.name, each.dtype, each.shape, each.format, each.storage) == (
            *(twin.name, twin.dtype, twin.shape, twin.format, twin.storage),
        )
        if each.member is not None and twin.member is not None:
            array, expected = one.array(each.member), other.array(twin.member)
            same = same and array.tobytes() == expected.tobytes()
        if not same or (each.member is None) != (twin.member is None):
            parts.append(f"tensor {each.name}")
    kernels = [name for name in other.members if name.startswith("kernels/")]
    if {name for name in one.members if name.startswith("kernels/")} != set(kernels):
        parts.append("names of kernels")
    parts += [name for name in kernels if one.text(name) != other.text(name)]
    return parts if one.report == other.report else [*parts, "report"]
