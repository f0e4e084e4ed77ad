"""Small networks that go wrong in float16, each in one known node."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = npt.NDArray[Any]


LOWEST = float(np.finfo(np.float32).min)


@dataclass(frozen=True)
class Broken:
    """A network, data for it, and the node that goes wrong.

    Attributes:
        model: the network.
        feeds: its inputs.
        node: name of the node that `compare` must name.
        fault: a word that must be among what is wrong.
        harmless: whether the outputs stay good.
    """

    model: onnx.ModelProto
    feeds: Mapping[str, Array]
    node: str
    fault: str
    harmless: bool = False


def node(op_type: str, inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
    """Return a node called after its output; `inputs` are separated by blanks."""
    return helper.make_node(op_type, inputs.split(), [output], name=f"n_{output}", **attributes)


def built(
    nodes: list[onnx.NodeProto], feeds: Mapping[str, Array], constants: Mapping[str, Array]
) -> onnx.ModelProto:
    """Return a model of opset 13 with output `y`."""
    graph = helper.make_graph(
        nodes,
        "broken",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in feeds.items()
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def sum_of_squares() -> Broken:
    """Return each square fits, 64 of them do not: 64 * 100 * 100 is beyond 65504."""
    feeds = {"x": np.full((2, 64), 100, np.float32)}
    nodes = [
        node("Mul", "x x", "squares"),
        node("ReduceSum", "squares axes", "sum", keepdims=1),
        node("Sqrt", "sum", "norm"),
        node("Div", "x norm", "y"),
    ]
    constants = {"axes": np.array([1], np.int64)}
    return Broken(built(nodes, feeds, constants), feeds, "n_sum", "overflow")


def _attention(value: float) -> tuple[dict[str, Array], list[onnx.NodeProto], dict[str, Array]]:
    """Return scores whose last columns get `value` added by (1 - mask) * value."""
    random = np.random.default_rng(0)
    mask = np.ones((1, 8), np.float32)
    mask[:, 5:] = 0
    feeds = {"scores": random.standard_normal((4, 8)).astype(np.float32), "mask": mask}
    nodes = [
        node("Sub", "one mask", "away"),
        node("Mul", "away value", "bias"),
        node("Add", "scores bias", "masked"),
        node("Softmax", "masked", "y", axis=-1),
    ]
    return feeds, nodes, {"one": np.array([1], np.float32), "value": np.array([value], np.float32)}


def billion_mask() -> Broken:
    """Return -1e9 is held as -65504, the least float16: far off, and harmless before a softmax."""
    feeds, nodes, constants = _attention(-1e9)
    model = built(nodes, feeds, constants)
    return Broken(model, feeds, "n_bias", "beyond 65504", harmless=True)


def multiplied_mask() -> Broken:
    """Return -1e9 made at run time is -inf, and 0 * -inf is NaN."""
    feeds, nodes, constants = _attention(-1e9)
    feeds["value"] = constants.pop("value")
    model = built(nodes, feeds, constants)
    return Broken(model, feeds, "value", "beyond 65504")


def lowest_mask() -> Broken:
    """Return a choice of the smallest float32; no fused operator has this softmax's axis."""
    random = np.random.default_rng(0)
    feeds = {
        "scores": random.standard_normal((4, 8)).astype(np.float32),
        "keep": np.arange(4).reshape(4, 1) < 3,
    }
    nodes = [
        node("Where", "keep zero lowest", "bias"),
        node("Add", "scores bias", "masked"),
        node("Softmax", "masked", "y", axis=0),
    ]
    constants = {"zero": np.array([0], np.float32), "lowest": np.array([LOWEST], np.float32)}
    return Broken(built(nodes, feeds, constants), feeds, "n_bias", "overflow", harmless=True)


def large_logits() -> Broken:
    """Return large logits: above 2048, float16 numbers are 2 apart, and exp magnifies roundings."""
    feeds = {"x": np.random.default_rng(1).uniform(2900, 2903, (4, 16)).astype(np.float32)}
    nodes = [node("Neg", "x", "turned"), node("Softmax", "turned", "y", axis=-1)]
    return Broken(built(nodes, feeds, {}), feeds, "n_y", "relative distance")


def tiny_variance() -> Broken:
    """Return squares of 1e-4, below half of the smallest float16, on an axis not fused."""
    random = np.random.default_rng(2)
    feeds = {"x": (1e-4 * random.standard_normal((64, 4))).astype(np.float32)}
    nodes = [
        node("ReduceMean", "x", "mean", axes=[0]),
        node("Sub", "x mean", "centered"),
        node("Mul", "centered centered", "squares"),
        node("ReduceMean", "squares", "variance", axes=[0]),
        node("Add", "variance epsilon", "safe"),
        node("Sqrt", "safe", "deviation"),
        node("Div", "centered deviation", "y"),
    ]
    constants = {"epsilon": np.array([1e-9], np.float32)}
    return Broken(built(nodes, feeds, constants), feeds, "n_squares", "underflow")


def tiny_layer_norm() -> Broken:
    """Return over the last axis it is a LayerNorm, one kernel in float32 inside: harmless."""
    random = np.random.default_rng(2)
    feeds = {"x": (1e-4 * random.standard_normal((4, 64))).astype(np.float32)}
    nodes = [
        node("ReduceMean", "x", "mean", axes=[-1]),
        node("Sub", "x mean", "centered"),
        node("Pow", "centered two", "squares"),
        node("ReduceMean", "squares", "variance", axes=[-1]),
        node("Add", "variance epsilon", "safe"),
        node("Sqrt", "safe", "deviation"),
        node("Div", "centered deviation", "scaled"),
        node("Mul", "scaled gamma", "weighted"),
        node("Add", "weighted beta", "y"),
    ]
    constants = {
        "two": np.array(2, np.float32),
        "epsilon": np.array([1e-9], np.float32),
        "gamma": random.uniform(0.5, 1.5, 64).astype(np.float32),
        "beta": random.standard_normal(64).astype(np.float32),
    }
    return Broken(built(nodes, feeds, constants), feeds, "", "", harmless=True)


def growing_state() -> Broken:
    """Return a recurrent state that doubles: 3 * 2^15 at step 15 is the first beyond 65504."""
    feeds = {"x": np.full((1, 4), 3, np.float32)}
    nodes = [node("MatMul", "x w", "h1")]
    nodes += [node("MatMul", f"h{step - 1} w", f"h{step}") for step in range(2, 20)]
    nodes.append(node("Mul", "h19 scale", "y"))
    constants: dict[str, Array] = {
        "w": 2 * np.eye(4, dtype=np.float32),
        "scale": np.array([2.0**-19], np.float32),
    }
    return Broken(built(nodes, feeds, constants), feeds, "n_h15", "overflow")


def accumulating_mean() -> Broken:
    """Return a sum of ten steps that is then divided: at 70000 the last one overflows."""
    feeds = {"x": np.full((10, 4), 7000, np.float32)}
    nodes = [
        helper.make_node("Split", ["x"], [f"x{at}" for at in range(10)], name="n_steps", axis=0)
    ]
    nodes.append(node("Add", "x0 x1", "h1"))
    nodes += [node("Add", f"h{at - 1} x{at}", f"h{at}") for at in range(2, 10)]
    nodes.append(node("Mul", "h9 tenth", "y"))
    constants = {"tenth": np.array([0.1], np.float32)}
    return Broken(built(nodes, feeds, constants), feeds, "n_h9", "overflow")


def slow_drift() -> Broken:
    """Return 160 residual steps of less than half a unit of float16: each is lost, none is much."""
    feeds = {"x": np.ones((2, 8), np.float32)}
    nodes = [node("Add", "x step", "h1")]
    nodes += [node("Add", f"h{at - 1} step", f"h{at}") for at in range(2, 160)]
    nodes.append(node("Add", "h159 step", "y"))
    constants = {"step": np.array([0.00045], np.float32)}
    return Broken(built(nodes, feeds, constants), feeds, "n_h117", "relative distance")


def large_indices() -> Broken:
    """Return row numbers on their way through floats: 70000 is infinite in float16."""
    feeds = {"ids": np.array([3, 66000, 70000], np.int64)}
    nodes = [
        node("Cast", "ids", "floats", to=TensorProto.FLOAT),
        node("Add", "floats one", "next"),
        node("Cast", "next", "rows", to=TensorProto.INT64),
        node("Gather", "table rows", "y"),
    ]
    table = np.arange(80000, dtype=np.float32).reshape(-1, 1) / 80000
    constants: dict[str, Array] = {"one": np.array([1], np.float32), "table": table}
    return Broken(built(nodes, feeds, constants), feeds, "n_floats", "overflow")


BROKEN = {
    each.__name__: each
    for each in (
        sum_of_squares,
        billion_mask,
        multiplied_mask,
        lowest_mask,
        large_logits,
        tiny_variance,
        growing_state,
        accumulating_mean,
        large_indices,
    )
}
