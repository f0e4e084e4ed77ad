"""Every form of every lowered operator, through the whole compiler, against onnxruntime.

The runs keep float32, so that only the order of additions may differ.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.end_to_end import one_node_model, run_with_atc_py, run_with_onnxruntime
from tests.relaxed_specs import relaxed_specs

Array = npt.NDArray[Any]

RELATIVE = 2e-5
"""Share of an output's largest magnitude; a sum of 1,000 float32 products errs by less."""

KEEP = "must_keep_origin_dtype"


def agree(model: onnx.ModelProto, feeds: dict[str, Array], **options: Any) -> None:
    """Check that both give the same outputs, shapes and dtypes, also beyond the list."""
    expected = run_with_onnxruntime(model, feeds)
    options.setdefault("precision_mode", KEEP)
    options.setdefault("op_specs", relaxed_specs(model))
    with tempfile.TemporaryDirectory() as folder:
        found = run_with_atc_py(model, feeds, Path(folder), **options)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        finite = array[np.isfinite(array)]
        scale = float(np.abs(finite).max()) if finite.size else 0.0
        np.testing.assert_allclose(found[name], array, rtol=0, atol=RELATIVE * scale)


def normal(*shape: int, seed: int = 0) -> npt.NDArray[np.float32]:
    """Return standard normal numbers."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape, dtype=np.float32)


def distinct(*shape: int) -> npt.NDArray[np.float32]:
    """Return numbers that are all different, in no order."""
    count = int(np.prod(shape))
    order = np.random.default_rng(count).permutation(count)
    return (order.reshape(shape) - count / 2).astype(np.float32)


AUTO_PADS = st.sampled_from(["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])
PAIR = st.tuples(st.integers(1, 3), st.integers(1, 3))


@st.composite
def windows(draw: st.DrawFn, *, dilations: bool) -> dict[str, Any]:
    """Return kernel_shape, strides, dilations and padding in one of ONNX's forms."""
    kernel = draw(PAIR)
    chosen: dict[str, Any] = {"kernel_shape": kernel, "strides": draw(PAIR)}
    auto_pad = draw(AUTO_PADS)
    if auto_pad.startswith("SAME"):  # onnxruntime refuses a stride beyond the kernel here
        chosen["strides"] = draw(st.tuples(*(st.integers(1, extent) for extent in kernel)))
    if auto_pad != "NOTSET" or draw(st.booleans()):
        chosen["auto_pad"] = auto_pad
    if dilations and auto_pad in {"NOTSET", "VALID"}:
        chosen["dilations"] = draw(PAIR)
    if auto_pad == "NOTSET":
        below = [st.integers(0, extent - 1) for extent in (*kernel, *kernel)]
        chosen["pads"] = draw(st.tuples(*below))
    return chosen


@given(
    windows(dilations=True),
    st.sampled_from([(1, 3, 2), (2, 4, 6), (4, 4, 4), (4, 4, 8), (1, 1, 1), (3, 6, 3)]),
    st.booleans(),
    st.sampled_from([8, 9, 11, 13]),
)
def test_conv(
    window: dict[str, Any], channels: tuple[int, int, int], bias: bool, opset: int
) -> None:
    group, inputs, outputs = channels
    constants = {"w": normal(outputs, inputs // group, *window["kernel_shape"])}
    if bias:
        constants["b"] = normal(outputs)
    x = normal(2, inputs, 9, 8)
    model = one_node_model("Conv", {"x": x}, opset, constants=constants, group=group, **window)
    agree(model, {"x": x})


@given(windows(dilations=True), st.booleans(), st.sampled_from([8, 10, 11, 12, 13]))
def test_max_pool(window: dict[str, Any], ceil: bool, opset: int) -> None:
    if opset < 10:
        window.pop("dilations", None)
    elif ceil and window.get("auto_pad", "NOTSET") == "NOTSET":
        window["ceil_mode"] = 1
    x = normal(2, 3, 9, 8)
    agree(one_node_model("MaxPool", {"x": x}, opset, **window), {"x": x})


@given(windows(dilations=False), st.booleans(), st.booleans(), st.sampled_from([8, 10, 11, 13]))
def test_average_pool(window: dict[str, Any], ceil: bool, include: bool, opset: int) -> None:
    if opset >= 10 and ceil and window.get("auto_pad", "NOTSET") == "NOTSET":
        window["ceil_mode"] = 1
    x = normal(2, 3, 9, 8)
    model = one_node_model("AveragePool", {"x": x}, opset, count_include_pad=int(include), **window)
    agree(model, {"x": x})


@given(
    PAIR,
    PAIR,
    PAIR,
    st.sampled_from([1, 2]),
    st.tuples(*[st.integers(0, 2)] * 4),
    st.tuples(st.integers(0, 1), st.integers(0, 1)),
)
def test_conv_transpose_with_explicit_pads(
    kernel: tuple[int, int],
    strides: tuple[int, int],
    dilations: tuple[int, int],
    group: int,
    pads: tuple[int, int, int, int],
    extra: tuple[int, int],
) -> None:
    assume(all(e < s for e, s in zip(extra, strides, strict=True)))  # onnxruntime's own bound
    x, w, b = normal(2, 4, 5, 6), normal(4, 3, *kernel), normal(3 * group)
    attributes: dict[str, Any] = {"strides": strides, "dilations": dilations}
    attributes["output_padding"] = extra
    model = one_node_model(
        "ConvTranspose", {"x": x}, 11, constants={"w": w, "b": b}, group=group, pads=pads,
        **attributes,
    )  # fmt: skip
    shape = [d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim]
    assume(min(shape) > 0)
    agree(model, {"x": x})


@pytest.mark.parametrize("auto_pad", ["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("output_shape", [None, (9, 12), (10, 11)])
def test_conv_transpose_with_derived_pads(
    auto_pad: str, output_shape: tuple[int, int] | None
) -> None:
    x, w = normal(1, 2, 5, 6), normal(2, 3, 3, 3)
    attributes: dict[str, Any] = {"auto_pad": auto_pad, "strides": (2, 2)}
    if output_shape is not None:
        attributes["output_shape"] = output_shape
    agree(one_node_model("ConvTranspose", {"x": x}, 11, constants={"w": w}, **attributes), {"x": x})


@given(
    st.fixed_dictionaries(
        {
            "transA": st.sampled_from([0, 1]),
            "transB": st.sampled_from([0, 1]),
            "alpha": st.sampled_from([1.0, 0.5, -2.0]),
            "beta": st.sampled_from([1.0, 0.0, 3.0]),
        }
    ),
    st.sampled_from([None, (5,), (1, 5), (4, 1), (4, 5), (1,), ()]),
    st.booleans(),
    st.sampled_from([8, 9, 11, 13]),
)
def test_gemm(
    attributes: dict[str, Any], shape: tuple[int, ...] | None, constant: bool, opset: int
) -> None:
    assume(shape is not None or opset >= 11)
    inputs = {"a": normal(3, 4) if attributes["transA"] else normal(4, 3)}
    others = {"b": normal(5, 3) if attributes["transB"] else normal(3, 5)}
    if shape is not None:
        others["c"] = normal(*shape)
    given_, fixed = (inputs, others) if constant else ({**inputs, **others}, {})
    model = one_node_model("Gemm", given_, opset, constants=fixed, **attributes)
    agree(model, given_)


def test_gemm_whose_alpha_keeps_it_small_does_not_overflow_in_float16() -> None:
    x, w = np.full((1, 100), 100, np.float32), np.full((100, 2), 100, np.float32)
    model = one_node_model("Gemm", {"x": x}, 13, constants={"w": w}, alpha=0.01)
    with tempfile.TemporaryDirectory() as folder:
        (y,) = run_with_atc_py(model, {"x": x}, Path(folder), precision_mode="force_fp16").values()
    np.testing.assert_allclose(y, 10000, rtol=1e-3)


@pytest.mark.parametrize("opset", [8, 11, 12, 13])
@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1])
def test_softmax(axis: int | None, opset: int) -> None:
    if axis == -1 and opset < 11:
        pytest.skip("negative axes came with opset 11")
    x = normal(2, 3, 4)
    attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
    agree(one_node_model("Softmax", {"x": x}, opset, **attributes), {"x": x})


@pytest.mark.parametrize(
    "shapes",
    [[(2, 3)], [(2, 3), (2, 3)], [(2, 3)] * 5, [(2, 3), (3,), (2, 1)], [(1, 3), (2, 1), (2, 3)]],
)
def test_sum(shapes: list[tuple[int, ...]]) -> None:
    feeds = {f"x{i}": normal(*shape, seed=i) for i, shape in enumerate(shapes)}
    agree(one_node_model("Sum", feeds, 8), feeds)


@pytest.mark.parametrize("op_type", ["Add", "Mul"])
@pytest.mark.parametrize(
    "shapes", [((2, 3), (2, 3)), ((2, 3, 4), (4,)), ((3, 1), (1, 4)), ((2, 3), ())]
)
def test_broadcasting(op_type: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    feeds = {name: normal(*shape) for name, shape in zip("ab", shapes, strict=True)}
    agree(one_node_model(op_type, feeds, 13), feeds)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_arithmetic_keeps_its_dtype(dtype: type[Any]) -> None:
    values = np.array([[1, -2, 3], [2**30, 7, -(2**30)]]).astype(dtype)
    feeds = {"a": values, "b": np.flip(values, 0).copy()}
    for mode in (KEEP, "force_fp16"):
        agree(one_node_model("Add", feeds, 13), feeds, precision_mode=mode)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("count", [1, 3])
def test_concat(axis: int, count: int) -> None:
    feeds = {f"x{i}": normal(2, 2, 2, seed=i) for i in range(count)}
    agree(one_node_model("Concat", feeds, 11, axis=axis), feeds)


@pytest.mark.parametrize("perm", [None, (0, 1, 2), (2, 0, 1), (0, 2, 1)])
def test_transpose(perm: tuple[int, ...] | None) -> None:
    x = distinct(2, 3, 4)
    attributes: dict[str, Any] = {"perm": perm} if perm else {}
    agree(one_node_model("Transpose", {"x": x}, 13, **attributes), {"x": x})


@pytest.mark.parametrize("shape", [(4, 6), (-1,), (0, -1), (2, 0, 0), (1, 2, 3, 4)])
def test_reshape(shape: tuple[int, ...]) -> None:
    x = distinct(2, 3, 4)
    constants = {"shape": np.array(shape, np.int64)}
    agree(one_node_model("Reshape", {"x": x}, 13, constants=constants), {"x": x})


@pytest.mark.parametrize(("axis", "opset"), [(0, 8), (1, 8), (2, 8), (3, 8), (-1, 11), (-3, 13)])
def test_flatten(axis: int, opset: int) -> None:
    x = distinct(2, 3, 4)
    agree(one_node_model("Flatten", {"x": x}, opset, axis=axis), {"x": x})


@pytest.mark.parametrize("axes", [(0,), (0, 3), (1, 2), (-1,)])
@pytest.mark.parametrize("opset", [11, 13])
def test_unsqueeze(axes: tuple[int, ...], opset: int) -> None:
    x = distinct(2, 3)
    if opset >= 13:
        pytest.skip("the operator list has Unsqueeze up to opset 12")
    agree(one_node_model("Unsqueeze", {"x": x}, opset, axes=axes), {"x": x})


@pytest.mark.parametrize(
    ("starts", "ends", "axes", "steps"),
    [
        ((1,), (3,), None, None),
        ((0, 1), (2, 100), (0, 1), (1, 2)),
        ((-3,), (-1,), (1,), None),
        ((-1,), (-100,), (1,), (-1,)),
        ((3,), (0,), (1,), (-2,)),
        ((5,), (2,), (1,), None),
    ],
)
def test_slice(
    starts: tuple[int, ...],
    ends: tuple[int, ...],
    axes: tuple[int, ...] | None,
    steps: tuple[int, ...] | None,
) -> None:
    x = distinct(4, 5)
    given_ = {"starts": starts, "ends": ends, "axes": axes, "steps": steps}
    constants = {n: np.array(v, np.int64) for n, v in given_.items() if v is not None}
    order = ["x", "starts", "ends", *(n if n in constants else "" for n in ("axes", "steps"))]
    while not order[-1]:
        order.pop()
    agree(one_node_model("Slice", {"x": x}, 11, constants=constants, order=order), {"x": x})


def test_slice_by_attributes() -> None:
    x = distinct(4, 5)
    model = one_node_model("Slice", {"x": x}, 9, starts=(1, -2), ends=(3, 100), axes=(0, 1))
    agree(model, {"x": x})


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
@pytest.mark.parametrize("pads", [(0, 1, 0, 2), (1, 2, 2, 1), (0, 0, 0, 0), (-1, 1, 0, -2)])
@pytest.mark.parametrize("opset", [8, 11, 13])
def test_pad(mode: str, pads: tuple[int, ...], opset: int) -> None:
    x = distinct(4, 5)
    if opset < 11:
        model = one_node_model("Pad", {"x": x}, opset, pads=pads, mode=mode, value=1.5)
    else:
        value = np.array(1.5, np.float32)
        constants: dict[str, Array] = {"pads": np.array(pads, np.int64), "value": value}
        model = one_node_model("Pad", {"x": x}, opset, constants=constants, mode=mode)
    agree(model, {"x": x})


@pytest.mark.parametrize(
    "bounds", [{"min": -0.5, "max": 0.5}, {"min": 0.0}, {"max": 0.25}, {}], ids=str
)
@pytest.mark.parametrize("opset", [8, 11, 12, 13])
def test_clip(bounds: dict[str, Any], opset: int) -> None:
    x = normal(3, 4)
    if opset < 11:
        model = one_node_model("Clip", {"x": x}, opset, **bounds)
    else:
        constants = {name: np.array(value, np.float32) for name, value in bounds.items()}
        order = ["x", *(name if name in bounds else "" for name in ("min", "max"))]
        while not order[-1]:
            order.pop()
        model = one_node_model("Clip", {"x": x}, opset, constants=constants, order=order)
    agree(model, {"x": x})


@pytest.mark.parametrize("opset", [8, 9, 13])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3), (2, 3, 4)])
def test_batch_normalization(opset: int, shape: tuple[int, ...]) -> None:
    x = normal(*shape)
    constants = {n: normal(3, seed=i) for i, n in enumerate(("scale", "b", "mean"))}
    constants["var"] = np.abs(normal(3, seed=9)) + np.float32(0.1)
    model = one_node_model("BatchNormalization", {"x": x}, opset, constants=constants, epsilon=0.01)
    agree(model, {"x": x})


@pytest.mark.parametrize("size", [1, 3, 5, 7])
def test_lrn(size: int) -> None:
    x = normal(2, 4, 3, 3)
    model = one_node_model("LRN", {"x": x}, 13, size=size, alpha=0.5, beta=0.6, bias=2.0)
    agree(model, {"x": x})


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3, 7)])
def test_global_average_pool(shape: tuple[int, ...]) -> None:
    x = normal(*shape)
    agree(one_node_model("GlobalAveragePool", {"x": x}, 8), {"x": x})


@pytest.mark.parametrize("opset", [8, 10, 12, 13])
@pytest.mark.parametrize("outputs", [1, 2])
def test_dropout_hands_its_input_on(opset: int, outputs: int) -> None:
    if opset < 12 and outputs == 2:
        pytest.skip("onnxruntime's mask is all zeros before opset 12, that of ONNX all ones")
    x = normal(3, 4)
    attributes: dict[str, Any] = {"ratio": 0.5} if opset < 12 else {}
    agree(one_node_model("Dropout", {"x": x}, opset, outputs=outputs, **attributes), {"x": x})


@pytest.mark.parametrize("target", ["INT32", "FLOAT16", "BOOL", "DOUBLE", "INT64", "UINT8"])
def test_cast(target: str) -> None:
    x = np.array([[0.0, 1.5, 2.7], [100.2, 3.0, 0.4]], np.float32)
    agree(
        one_node_model("Cast", {"x": x}, 13, to=onnx.TensorProto.DataType.Value(target)), {"x": x}
    )


def test_relu_of_infinity() -> None:
    x = np.array([-np.inf, -1, -0.0, 0, 1, np.inf], np.float32)
    agree(one_node_model("Relu", {"x": x}, 13), {"x": x})


def test_identity_and_output_twice() -> None:
    x = normal(2, 3)
    agree(one_node_model("Identity", {"x": x}, 13), {"x": x})
