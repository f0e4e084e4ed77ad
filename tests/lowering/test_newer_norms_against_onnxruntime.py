"""Norms, reductions and losses that only the list of CANN 9.0 has, through the whole compiler."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import atc_py
from atc_py.tensor.dtypes import DType
from tests.device.tolerances import assert_close
from tests.end_to_end import one_node_model, run_with_atc_py, run_with_onnxruntime
from tests.failures import Failures
from tests.lowering.precise import KEEP, NARROW, agree, compiled, numbers

Array = npt.NDArray[Any]

NEWER = "cann-9.0"
ALLOW = "allow_fp32_to_fp16"
INF, NAN = np.inf, np.nan
FORMS = ((KEEP, "float16"), (KEEP, "float32"), (NARROW, "float32"))
"""Precision modes, and the dtype of the model."""


def listed(op_type: str, feeds: Mapping[str, Array], opset: int, mode: str, **options: Any) -> Any:
    """Return the first output under the rules of the newer list."""
    model = one_node_model(op_type, feeds, opset, **options)
    with tempfile.TemporaryDirectory() as folder:
        rules = {"precision_mode": mode, "operator_list": NEWER}
        return next(iter(run_with_atc_py(model, feeds, Path(folder), **rules).values()))


def channels(shape: tuple[int, ...], dtype: str) -> dict[str, Array]:
    """Return an image with a scale and a shift for each of its channels."""
    parameters = {name: numbers(at, shape[1:2], dtype) for at, name in enumerate("sb", 1)}
    return {"x": numbers(0, shape, dtype), **parameters}


def rows(shape: tuple[int, ...], axis: int, dtype: str) -> dict[str, Array]:
    """Return data with a scale and a shift for each element from `axis` on."""
    parameters = {name: numbers(at, shape[axis:], dtype) for at, name in enumerate("sb", 1)}
    return {"x": numbers(0, shape, dtype), **parameters}


@pytest.mark.parametrize(("mode", "dtype"), FORMS)
def test_instance_normalization_of_ranks_3_to_5(mode: str, dtype: str) -> None:
    shapes = (2, 3, 4), (2, 3, 4, 5), (1, 2, 3, 2, 2), (3, 2, 1, 1), (2, 1, 7, 1)
    for shape, opset in zip(shapes, (8, 11, 13, 16, 18), strict=True):
        agree("InstanceNormalization", channels(shape, dtype), opset, mode, epsilon=0.01)


def test_instance_normalization_of_constant_and_special_data() -> None:
    x = np.full((1, 3, 4), 0.25, np.float32)
    x[0, 1, 0], x[0, 2, 0] = NAN, INF
    feeds = {"x": x, "s": np.ones(3, np.float32), "b": np.arange(3, dtype=np.float32)}
    y = compiled(one_node_model("InstanceNormalization", feeds, 13), feeds)["y0"]
    assert y[0, 0].tolist() == [0] * 4
    assert np.isnan(y[0, 1:]).all()


@pytest.mark.parametrize("mode", [KEEP, NARROW, ALLOW])
def test_layer_normalization_with_all_its_outputs(mode: str) -> None:
    dtype = "float16" if mode == KEEP else "float32"  # the list has float16 alone
    shapes = ((2, 3, 4), 2), ((2, 3, 4), 1), ((2, 3, 4, 5), 2), ((5,), 0), ((3, 5, 1), 2)
    for (shape, axis), opset, outputs in zip(
        shapes, (17, 18, 17, 17, 18), (1, 3, 3, 2, 3), strict=True
    ):
        feeds, given = rows(shape, axis, dtype), axis - len(shape)
        options: dict[str, Any] = {"epsilon": 0.01, "axis": given, "outputs": outputs}
        agree("LayerNormalization", feeds, opset, mode, **options)
        assert listed("LayerNormalization", feeds, opset, mode, **options).shape == shape


def test_layer_normalization_without_shift_and_with_parameters_that_repeat() -> None:
    x = numbers(0, (2, 3, 4), "float16")
    for shapes in (
        ((4,),),
        ((1, 3, 4), (4,)),
        ((1,), (3, 1)),
        ((2, 1, 4), (2, 3, 1)),
        ((2, 3, 1),),
    ):
        feeds = {"x": x} | {
            name: numbers(at, shape, "float16")
            for at, (name, shape) in enumerate(zip("sb", shapes, strict=False))
        }
        wide = [feeds[name].astype(np.float64) for name in feeds]
        shifted = wide[0] - wide[0].mean((1, 2), keepdims=True)
        expected = shifted / np.sqrt((shifted**2).mean((1, 2), keepdims=True) + 1e-5) * wide[1]
        expected = expected + wide[2] if len(wide) > 2 else expected
        model = one_node_model("LayerNormalization", feeds, 17, axis=1)
        found = compiled(model, feeds)["y0"].astype(np.float64)
        np.testing.assert_allclose(found, expected, rtol=2**-9, atol=2**-9)


def test_layer_normalization_of_float32_needs_a_mode_that_narrows() -> None:
    feeds = rows((2, 4), 1, "float32")
    with pytest.raises(atc_py.AtcError, match="X of LayerNormalization must have dtype float16"):
        listed("LayerNormalization", feeds, 17, KEEP)
    for mode in (NARROW, ALLOW, "allow_mix_precision", "force_fp32"):
        expected = run_with_onnxruntime(one_node_model("LayerNormalization", feeds, 17), feeds)
        found = listed("LayerNormalization", feeds, 17, mode)
        np.testing.assert_allclose(found, expected["y0"], rtol=0, atol=0.005)


def logarithms() -> Iterator[tuple[tuple[int, ...], dict[str, Any]]]:
    """Yield shapes and attributes of reductions to logarithms."""
    yield (2, 3, 4), {}
    yield (2, 3, 4), {"axes": [1], "keepdims": 0}
    yield (2, 3, 4, 2), {"axes": [0, -1]}
    yield (5,), {"axes": [0], "keepdims": 0}
    yield (3, 1, 2), {"axes": [-2], "keepdims": 0}


@pytest.mark.parametrize("op_type", ["ReduceLogSum", "ReduceLogSumExp"])
@pytest.mark.parametrize(("mode", "dtype"), FORMS)
def test_reduction_to_a_logarithm(op_type: str, mode: str, dtype: str) -> None:
    for opset, (shape, attributes) in zip((11, 13, 14, 15, 16), logarithms(), strict=True):
        x = numbers(1, shape, dtype)
        if op_type == "ReduceLogSum":
            x = (np.abs(x) + 1).astype(x.dtype)
        agree(op_type, {"x": x}, opset, mode, **attributes)


def test_logarithm_of_a_sum_of_exponentials_does_not_overflow() -> None:
    x = np.array(
        [[0, 300, 600], [-60000, -60000, -60001], [INF, 0, 1], [-INF] * 3, [NAN, 0, 1]], np.float32
    )
    model = one_node_model("ReduceLogSumExp", {"x": x}, 13, axes=[1], keepdims=0)
    found = compiled(model, {"x": x})["y0"]
    pair = -60000 + np.log(2 + np.exp(-1))
    np.testing.assert_allclose(found, [600, pair, INF, -INF, NAN], rtol=2**-22)


@pytest.mark.parametrize(("mode", "dtype"), FORMS)
def test_global_norm_of_ranks_2_to_6(mode: str, dtype: str) -> None:
    shapes = (2, 3), (2, 3, 4), (2, 3, 4, 5), (1, 2, 3, 2, 2), (1, 2, 2, 2, 2, 3)
    for shape, opset, p in zip(shapes, (8, 11, 13, 16, 18), (2, 1, 3, None, 4), strict=True):
        x = numbers(2, shape, dtype)
        options: dict[str, Any] = {} if p is None else {"p": p}
        axes, power = tuple(range(2, len(shape))), p or 2
        model = one_node_model("GlobalLpPool", {"x": x}, opset, **options)
        found = compiled(model, {"x": x}, mode)["y0"]
        wide = x.astype(np.float16 if mode == NARROW else x.dtype).astype(np.float64)
        expected = (np.abs(wide) ** power).sum(axes, keepdims=True) ** (1 / power)
        narrow = dtype == "float16" or mode == NARROW
        computed = DType.FLOAT16 if narrow else DType.FLOAT32
        assert_close(found.astype(computed.numpy), expected, computed)


POOLS: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 8), {"kernel_shape": [3]}),
    ((2, 3, 9), {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}),
    ((1, 2, 7, 9), {"kernel_shape": [2, 3], "p": 1}),
    ((1, 2, 7, 9), {"kernel_shape": [2, 3], "p": 3, "strides": [2, 2], "pads": [1, 0, 0, 2]}),
    ((1, 2, 7, 9), {"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    ((1, 2, 7, 9), {"kernel_shape": [2, 2], "auto_pad": "SAME_LOWER"}),
    ((1, 2, 7, 9), {"kernel_shape": [2, 2], "auto_pad": "VALID"}),
    (
        (1, 2, 4, 5, 6),
        {"kernel_shape": [2, 3, 2], "pads": [1, 0, 1, 0, 1, 0], "strides": [2, 1, 2]},
    ),
]


@pytest.mark.parametrize(("mode", "dtype"), [(KEEP, "float16"), (NARROW, "float32")])
def test_norm_of_windows(mode: str, dtype: str) -> None:
    opsets = (11, 12, 13, 14, 16, 17, 18, 18)
    for opset, (shape, options) in zip(opsets, POOLS, strict=True):
        agree("LpPool", {"x": numbers(3, shape, dtype)}, opset, mode, **options)


def test_norms_of_windows_and_channels_refuse_what_is_no_norm() -> None:
    x = numbers(1, (1, 2, 3, 3), "float16")
    forms: dict[str, dict[str, Any]] = {"GlobalLpPool": {}, "LpPool": {"kernel_shape": [2, 2]}}
    for op_type, options in forms.items():
        with pytest.raises(atc_py.AtcError, match=rf"p of {op_type} must be at least 1"):
            listed(op_type, {"x": x}, 13, KEEP, p=0, **options)
        with pytest.raises(atc_py.AtcError, match="takes a p of 1 or more, found 0"):
            compiled(one_node_model(op_type, {"x": x}, 13, p=0, **options), {"x": x})


def losses() -> Iterator[tuple[tuple[int, ...], type, dict[str, Any], bool]]:
    """Yield shapes of scores, dtypes of labels, attributes, and whether classes have weights."""
    yield (3, 5), np.int64, {}, False
    yield (3, 5), np.int32, {"reduction": "none", "ignore_index": 2}, True
    yield (2, 4, 3), np.int64, {"reduction": "sum", "ignore_index": -5}, True
    yield (2, 3, 2, 3), np.int32, {"reduction": "mean", "ignore_index": 0}, True
    yield (2, 1, 3), np.int64, {"reduction": "none"}, False
    yield (2, 3, 1, 1), np.int64, {"reduction": "mean", "ignore_index": 1}, False


@pytest.mark.parametrize(("mode", "dtype"), [*FORMS, (KEEP, "float64")])
def test_softmax_cross_entropy_loss(mode: str, dtype: str) -> None:
    opsets = (12, 13, 14, 15, 16, 18)
    for at, (opset, form) in enumerate(zip(opsets, losses(), strict=True)):
        shape, index, options, weighted = form
        generator = np.random.default_rng(at)
        labels: Array = generator.integers(0, shape[1], (shape[0], *shape[2:])).astype(index)
        if options.get("ignore_index", 0) < 0:
            labels.reshape(-1)[0] = options["ignore_index"]
        feeds = {"x": numbers(4, shape, dtype), "labels": labels}
        if weighted and dtype != "float64":  # the list has no weights of float64
            feeds["weights"] = np.abs(numbers(5, shape[1:2], dtype))
        agree("SoftmaxCrossEntropyLoss", feeds, opset, mode, outputs=1 + at % 2, **options)


def test_loss_counts_labels_outside_the_classes_for_nothing() -> None:
    x = np.array([[0, 0, 0, 0], [1, -INF, 0, 0], [5, 6, 7, 8]], np.float32)
    feeds: dict[str, Array] = {"x": x, "labels": np.array([3, 1, 9], np.int64)}
    options: dict[str, Any] = {"outputs": 2, "reduction": "none"}
    loss, logs = compiled(
        one_node_model("SoftmaxCrossEntropyLoss", feeds, 13, **options), feeds
    ).values()
    np.testing.assert_allclose(loss, [np.log(4), INF, 0], rtol=1e-6)
    assert logs.shape == x.shape
    ignored: dict[str, Array] = {"x": x, "labels": np.full(3, 2, np.int64)}
    mean = one_node_model("SoftmaxCrossEntropyLoss", ignored, 13, ignore_index=2)
    assert np.isnan(compiled(mean, ignored)["y0"])


def test_constants_give_what_inputs_give() -> None:
    scores = numbers(4, (3, 4))
    forms: list[tuple[str, dict[str, Array], dict[str, Any]]] = [
        ("ReduceLogSumExp", {"x": np.array([[INF, 1], [-INF, -INF]], np.float32)}, {"axes": [1]}),
        ("SoftmaxCrossEntropyLoss", {"x": scores, "labels": np.array([-1, 0, 7])}, {}),
        ("GlobalLpPool", {"x": -np.ones((1, 2, 3), np.float32)}, {"p": 1}),
    ]
    for op_type, feeds, options in forms:
        fed = compiled(one_node_model(op_type, feeds, 13, **options), feeds)["y0"]
        constant = one_node_model(op_type, {}, 13, constants=feeds, **options)
        np.testing.assert_allclose(compiled(constant, {})["y0"], fed, rtol=2**-20)


REDUCTIONS: dict[str, Callable[[Array, tuple[int, ...]], Any]] = {
    "ReduceL1": lambda x, axes: np.abs(x).sum(axes, keepdims=True),
    "ReduceL2": lambda x, axes: np.sqrt((x * x).sum(axes, keepdims=True)),
    "ReduceMax": lambda x, axes: x.max(axes, keepdims=True),
    "ReduceMean": lambda x, axes: x.mean(axes, keepdims=True),
    "ReduceMin": lambda x, axes: x.min(axes, keepdims=True),
    "ReduceProd": lambda x, axes: x.prod(axes, keepdims=True),
    "ReduceSum": lambda x, axes: x.sum(axes, keepdims=True),
    "ReduceSumSquare": lambda x, axes: (x * x).sum(axes, keepdims=True),
}


def test_axes_as_an_input_at_opset_18() -> None:
    x = numbers(6, (2, 3, 4))
    with Failures() as failures:
        for op_type, formula in REDUCTIONS.items():
            for axes in ([1], [0, -1], None):
                with failures.of(op_type, axes):
                    constants = {} if axes is None else {"axes": np.array(axes, np.int64)}
                    found = listed(op_type, {"x": x}, 18, KEEP, constants=constants)
                    assert_close(found, formula(x, tuple(axes or range(3))), DType.FLOAT32)


def test_integers_of_the_newer_list_are_reduced_exactly() -> None:
    for op_type, dtypes in {
        "ReduceMax": ("int8", "int32", "int64"),
        "ReduceMin": ("uint8", "int32"),
        "ReduceProd": ("int32", "int64"),
        "ReduceSumSquare": ("uint32", "uint64", "int32", "int64"),
    }.items():
        for dtype in dtypes:
            x = (numbers(7, (2, 3, 4), dtype) % 7).astype(dtype)
            found = listed(op_type, {"x": x}, 13, KEEP, axes=[1])
            assert found.dtype == x.dtype
            np.testing.assert_array_equal(found, REDUCTIONS[op_type](x, (1,)).astype(dtype))


def test_forms_of_later_opsets_run() -> None:
    x = numbers(8, (2, 4, 3, 5))
    per_channel = {name: np.abs(numbers(at, (4,))) for at, name in enumerate("sbmv", 1)}
    for opset in (14, 15, 18):
        for op_type, options in (
            ("BatchNormalization", {"constants": per_channel}),
            ("LRN", {"size": 3}),
            ("MeanVarianceNormalization", {"axes": [0, 2, 3]}),
        ):
            model = one_node_model(op_type, {"x": x}, opset, **options)
            expected = run_with_onnxruntime(model, {"x": x})["y0"]
            found = listed(op_type, {"x": x}, opset, KEEP, **options)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_hardmax_of_float32_is_for_the_default_mode() -> None:
    x = numbers(9, (2, 3))
    assert listed("Hardmax", {"x": x}, 13, ALLOW).sum() == 2
    for mode in (NARROW, KEEP, "force_fp32", "allow_mix_precision"):
        with pytest.raises(atc_py.AtcError, match="input of Hardmax must not have dtype float32"):
            listed("Hardmax", {"x": x}, 13, mode)
