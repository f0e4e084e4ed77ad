"""The engines of the reference: onnx's evaluator where it is right, onnxruntime where it does not crash."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from atc_py.onnx_graph.running.engines import start_onnx_reference, start_onnxruntime
from atc_py.onnx_graph.running.evaluator_operators import Conv
from tests.end_to_end import one_node_model
from tests.sampling import rounds

Array = npt.NDArray[Any]

BFLOAT16 = helper.tensor_dtype_to_np_dtype(TensorProto.BFLOAT16)
X = np.random.default_rng(1).normal(size=(2, 3, 6, 7)).astype(np.float32)


def by_onnx(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Array:
    """Return the first output by onnx's evaluator."""
    return start_onnx_reference(model, ("y0",)).run(feeds)["y0"]


def by_onnxruntime(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Array:
    """Return the first output by onnxruntime."""
    return start_onnxruntime(model, ("y0",), threads=1).run(feeds)["y0"]


@pytest.mark.parametrize("opset", [9, 13, 14])
def test_batch_normalization_infers_at_every_opset(opset: int) -> None:
    parameters = {name: np.arange(1, 4, dtype=np.float32) for name in ("s", "b", "m", "v")}
    model = one_node_model(
        "BatchNormalization", {"x": X}, opset, constants=parameters, momentum=0.5, epsilon=0.01
    )
    np.testing.assert_allclose(by_onnx(model, {"x": X}), by_onnxruntime(model, {"x": X}), atol=1e-5)


@pytest.mark.parametrize("attributes", [{"spatial": 0}, {"outputs": 5}])
def test_batch_normalization_of_another_kind_is_refused(attributes: dict[str, Any]) -> None:
    outputs = attributes.pop("outputs", 1)
    parameters = {name: np.ones(3, np.float32) for name in ("s", "b", "m", "v")}
    model = one_node_model(
        "BatchNormalization", {"x": X}, 8, constants=parameters, outputs=outputs, **attributes
    )
    with pytest.raises(ValueError, match="trains, or has statistics for each element"):
        by_onnx(model, {"x": X})


@pytest.mark.parametrize("with_bias", [False, True])
def test_statistics_of_layer_normalization_are_float32(with_bias: bool) -> None:
    x = np.random.default_rng(2).normal(3, 1, (2, 500)).astype(BFLOAT16)
    scale = {"scale": np.ones(500, BFLOAT16)}
    bias = {"bias": np.zeros(500, BFLOAT16)} if with_bias else {}
    model = one_node_model("LayerNormalization", {"x": x}, 17, constants={**scale, **bias})
    wide = x.astype(np.float32)
    exact = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    found = by_onnx(model, {"x": x})
    assert found.dtype == BFLOAT16
    np.testing.assert_allclose(found.astype(np.float32), exact, rtol=2**-8, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, BFLOAT16])
def test_mean_variance_normalization_of_every_float(dtype: Any) -> None:
    x = X.astype(dtype)
    model = one_node_model("MeanVarianceNormalization", {"x": x}, 13, axes=[0, 2, -2])
    wide = x.astype(np.float32)
    exact = (wide - wide.mean((0, 2), keepdims=True)) / wide.std((0, 2), keepdims=True)
    found = by_onnx(model, {"x": x})
    assert found.dtype == x.dtype
    np.testing.assert_allclose(found.astype(np.float32), exact, rtol=2**-7, atol=1e-3)


def test_normalized_zeros_are_those_of_onnxruntime() -> None:
    feeds = {"x": np.zeros((1, 2, 2, 2), np.float16)}
    model = one_node_model("MeanVarianceNormalization", feeds, 16)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(by_onnx(model, feeds), by_onnxruntime(model, feeds))


@pytest.mark.parametrize("operator", ["Hardmax", "LogSoftmax", "Softmax"])
@pytest.mark.parametrize("axis", [None, 0, 1, 2, 3, -1])
def test_classes_before_opset_13_are_those_of_flattened_axes(
    operator: str, axis: int | None
) -> None:
    stated: dict[str, Any] = {} if axis is None else {"axis": axis}
    model = one_node_model(operator, {"x": X}, 11, **stated)
    np.testing.assert_allclose(by_onnx(model, {"x": X}), by_onnxruntime(model, {"x": X}), atol=1e-6)


FAULTS: dict[str, onnx.ModelProto] = {
    "steps of pads": one_node_model("MaxPool", {"x": X}, 12, kernel_shape=[2, 2], pads=[1, 1, 0, 0]),
    "pads by name": one_node_model(
        "MaxPool", {"x": X}, 12, kernel_shape=[2, 2], auto_pad="VALID", ceil_mode=1
    ),
    "window that overhangs": one_node_model(
        "AveragePool", {"x": X}, 11, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1
    ),
    "dilated by name": one_node_model(
        "AveragePool", {"x": X}, 19, kernel_shape=[2, 2], auto_pad="VALID", dilations=[2, 2]
    ),
    "norm that overhangs": one_node_model(
        "LpPool", {"x": X}, 18, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1
    ),
    "first norm": one_node_model("LpNormalization", {"x": X}, 13, p=1),
    "channels": one_node_model("LRN", {"x": X}, 13, size=3),
    "stated shape": one_node_model(
        "ConvTranspose", {"x": X}, 11, constants={"w": X[:1, :, :2, :2].transpose(1, 0, 2, 3)},
        output_shape=[7, 8],
    ),
    "fraction of a length": one_node_model(
        "Resize", {"x": X}, 13, constants={"s": np.array([1, 1, 1.2, 1.5], np.float32)},
        order=["x", "", "s"], coordinate_transformation_mode="align_corners",
    ),
    "single place": one_node_model(
        "Resize", {"x": X}, 13, constants={"s": np.array([1, 1, 0.3, 1], np.float32)},
        order=["x", "", "s"], coordinate_transformation_mode="pytorch_half_pixel", mode="linear",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_evaluator_does_not_run_what_it_gets_wrong(case: str) -> None:
    with pytest.raises(ValueError, match="onnx's evaluator"):
        start_onnx_reference(FAULTS[case], ("y0",))


def test_node_in_a_branch_is_looked_at() -> None:
    (inner,) = FAULTS["channels"].graph.node
    branch = helper.make_graph([inner], "branch", [], [onnx.ValueInfoProto(name="y0")])
    node = helper.make_node("If", ["c"], ["y0"], then_branch=branch, else_branch=branch)
    model = one_node_model("Relu", {"x": X}, 13)
    del model.graph.node[:]
    model.graph.node.append(node)
    with pytest.raises(ValueError, match="LRN: onnx's evaluator"):
        start_onnx_reference(model, ("y0",))


def drawn_pool(rng: np.random.Generator) -> tuple[onnx.ModelProto, Array]:
    """Return a pool of images whose windows fit, and its input."""
    op_type = str(rng.choice(["AveragePool", "LpPool", "MaxPool"]))
    window = rng.integers(1, 4, 2)
    attributes: dict[str, Any] = {"kernel_shape": window.tolist()}
    if rng.random() < 0.6:
        attributes["strides"] = rng.integers(1, 4, 2).tolist()
    if rng.random() < 0.5:
        attributes["pads"] = [int(rng.integers(0, each)) for each in (*window, *window)]
    elif rng.random() < 0.5:
        attributes["auto_pad"] = str(rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
    if rng.random() < 0.4:
        attributes["ceil_mode"] = 1
    if rng.random() < 0.3:
        attributes["dilations"] = rng.integers(1, 3, 2).tolist()
    x = rng.normal(size=(1, 2, *rng.integers(5, 9, 2))).astype(np.float32)
    opset = {"AveragePool": 19, "LpPool": 18, "MaxPool": 12}[op_type]
    return one_node_model(op_type, {"x": x}, opset, **attributes), x


def test_pool_that_the_evaluator_runs_is_right() -> None:
    ran = 0
    for seed in rounds(30, 3000):
        model, x = drawn_pool(np.random.default_rng([seed, 11]))
        try:
            engine = start_onnx_reference(model, ("y0",))
        except ValueError:
            continue
        ran += 1
        wanted = by_onnxruntime(model, {"x": x})
        np.testing.assert_allclose(engine.run({"x": x})["y0"], wanted, atol=1e-4, err_msg=str(seed))
    assert ran > 10


def test_infinities_do_not_spread() -> None:
    scales = {"s": np.array([1, 1, 2, 2], np.float32)}
    model = one_node_model("Resize", {"x": X}, 13, constants=scales, order=["x", "", "s"])
    assert by_onnx(model, {"x": X}).shape == (2, 3, 12, 14)
    odd = X.copy()
    odd[0, 0, 0, 0] = np.inf
    with pytest.raises(ValueError, match="Resize of onnx's evaluator spreads"):
        by_onnx(model, {"x": odd})


def test_inputs_whose_absence_ends_onnxruntime_are_refused() -> None:
    for op_type in ("Max", "Mean", "Min", "Sum", "Einsum"):
        equation: Any = {"equation": "i"} if op_type == "Einsum" else {}
        model = one_node_model(op_type, {"x": X[0, 0, 0]}, 13, **equation)
        model.graph.node[0].input.append("")
        with pytest.raises(ValueError, match=f"{op_type} lacks the input at 1"):
            start_onnxruntime(model, ("y0",))


@pytest.mark.parametrize(
    ("op_type", "attributes"),
    [
        ("RandomUniform", {"low": 2.0, "high": 1.0}),
        ("RandomUniform", {"low": float("nan")}),
        ("RandomUniformLike", {"low": 2.0}),
        ("RandomNormal", {"scale": -1.0}),
        ("RandomNormalLike", {"scale": 0.0}),
    ],
)
def test_random_numbers_that_end_onnxruntime_are_refused(
    op_type: str, attributes: dict[str, Any]
) -> None:
    like = op_type.endswith("Like")
    shape: dict[str, Any] = {} if like else {"shape": [3]}
    model = one_node_model(op_type, {"x": X} if like else {}, 13, **shape, **attributes)
    with pytest.raises(ValueError, match=op_type):
        start_onnxruntime(model, ("y0",))


@pytest.mark.parametrize("dims", [(9,), (7, 8), (5, 6, 7)])
@pytest.mark.parametrize(("group", "filters"), [(1, 3), (2, 4), (4, 4), (4, 8)])
@pytest.mark.parametrize("window", ["plain", "strided", "dilated", "padded"])
def test_convolution_in_float64_is_the_evaluators(
    dims: tuple[int, ...], group: int, filters: int, window: str
) -> None:
    axes = len(dims)
    stated: dict[str, dict[str, Any]] = {
        "plain": {},
        "strided": {"strides": [2] * axes},
        "dilated": {"dilations": [2] * axes, "kernel_shape": [2] * axes},
        "padded": {"pads": [*range(axes), *[1] * axes], "strides": [2, *[1] * (axes - 1)]},
    }
    draw = np.random.default_rng(3)
    x = draw.standard_normal((2, 4, *dims))
    w, b = draw.standard_normal((filters, 4 // group, *[2] * axes)), draw.standard_normal(filters)
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["y"], group=group, **stated[window])]
    ports = [helper.make_tensor_value_info(name, 11, None) for name in ("x", "w", "b")]
    graph = helper.make_graph(nodes, "g", ports, [helper.make_tensor_value_info("y", 11, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)])
    feeds = {"x": x, "w": w, "b": b}
    sides: tuple[list[type[OpRun]], ...] = [Conv], []
    own, plain = (list(ReferenceEvaluator(model, new_ops=ops).run(None, feeds)) for ops in sides)
    np.testing.assert_allclose(own[0], plain[0], rtol=1e-12, atol=1e-12)
