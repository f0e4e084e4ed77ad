"""Normalization and softmax as ONNX: dtypes, implementations, no elements, NaN and infinities."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from atc_py.device.ort.model import emulate
from atc_py.tensor.dtypes import DType
from tests.device.models import Array, Attributes, ModelBuilder, random_array, run_model
from tests.device.ort.apart import model_of
from tests.device.ort.single import agree
from tests.device.ort.twin import differences, run_on_ort

F16, BF16, F32, F64 = DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64
FLOATS = [F16, BF16, F32, F64]

SPECIAL = np.array([
    [1, np.nan, 3, 4], [np.inf, 1, 0, 2], [-np.inf, 1, 2, 3], [-np.inf] * 4, [9, -300, -95, -88],
])  # fmt: skip

MODES = ["high_precision", "high_performance", "float16_difference", "float16_exponential"]


@pytest.mark.parametrize("op", ["SoftmaxV2", "LogSoftmaxV2"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("axes", [[-1], [0], [1, 2], [0, 2]])
def test_softmax_in_every_implementation(op: str, mode: str, axes: list[int]) -> None:
    for dtype in FLOATS:
        x = 4 * random_array(1, (3, 4, 5), dtype)
        attributes: Attributes = {"axes": axes, "impl_mode": mode}
        agree(op, [x.astype(dtype.numpy)], [(dtype, x.shape)], attributes, exact=False)


def test_implementations_round_their_steps() -> None:
    """Check that results differ by implementation, and that most of each are equal to the bit."""
    x = (3 * random_array(2, (64, 100))).astype(np.float16)
    found: list[Array] = []
    for mode in MODES:
        attributes: Attributes = {"axes": [-1], "impl_mode": mode}
        model, feeds = model_of("SoftmaxV2", [x], [(F16, x.shape)], attributes)
        expected, other = run_model(model, feeds), run_on_ort(model, feeds)
        assert other is not None
        assert (other["y0"] == expected["y0"]).mean() > 0.99
        found.append(other["y0"])
    assert all((first != second).any() for first, second in pairwise(found))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["SoftmaxV2", "LogSoftmaxV2"])
def test_softmax_of_numbers_that_are_not_finite(op: str, dtype: DType) -> None:
    with np.errstate(invalid="ignore"):
        for axes in ([-1], [0], [0, 1]):
            x = SPECIAL.astype(dtype.numpy)
            agree(op, [x], [(dtype, x.shape)], {"axes": axes}, exact=False)
    x = np.zeros((0, 3), dtype.numpy)
    agree(op, [x], [(dtype, x.shape)], {"axes": [1]})


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(2, 0), (0, 3), (2, 0, 4)])
def test_hardmax_of_no_elements(dtype: DType, shape: tuple[int, ...]) -> None:
    x = np.zeros(shape, dtype.numpy)
    agree("HardMax", [x], [(dtype, shape)], {"axis": 1})


def test_softmax_may_widen() -> None:
    x = random_array(3, (4, 6), F16)
    agree("SoftmaxV2", [x], [(F32, x.shape)], {"half_to_float": True}, exact=False)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mask", [(4,), (5, 1), (1, 4), (5, 4)])
def test_masked_softmax(dtype: DType, mask: tuple[int, ...]) -> None:
    hidden = np.random.default_rng(4).random(mask) < 0.5
    for scale in (1.0, 0.125):
        for x in (SPECIAL.astype(dtype.numpy), random_array(5, (5, 4), dtype)):
            types = [(dtype, x.shape)]
            with np.errstate(invalid="ignore"):
                agree("ScaledMaskedSoftmax", [x, hidden], types, {"scale": scale}, exact=False)


@pytest.mark.parametrize("op", ["BNInfer", "BatchNorm"])
@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 3, 4, 5), (0, 3, 4), (2, 3, 0)])
@pytest.mark.parametrize("constants", [(), (1, 2, 3, 4)])
def test_batch_norm(op: str, shape: tuple[int, ...], constants: Sequence[int]) -> None:
    for dtype, parameters in [(F16, F32), (F16, F16), (BF16, F32), (F32, F32), (F64, F64)]:
        x = random_array(6, shape, dtype)
        rows = [random_array(seed, (3,), parameters) for seed in (7, 8, 9)]
        rows.append(np.abs(random_array(10, (3,), parameters)))
        types = [(dtype, shape)]
        attributes: Attributes = {"epsilon": 1e-3}
        agree(op, [x, *rows], types, attributes, constants=constants, exact=False)


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 3, 4, 5), (0, 3, 4), (2, 3, 0)])
@pytest.mark.parametrize("constants", [(), (1, 2)])
def test_folded_batch_norm(shape: tuple[int, ...], constants: Sequence[int]) -> None:
    for dtype in (F16, BF16, F32, F64):
        x = random_array(6, shape, dtype)
        numbers = (1, 3, *(1,) * (len(shape) - 2))
        rows = [random_array(seed, numbers, dtype) for seed in (7, 8)]
        agree("BNInferenceD", [x, *rows], [(dtype, shape)], {}, constants=constants)


@pytest.mark.parametrize("axis", [-1, 1, 0])
@pytest.mark.parametrize("statistics", [False, True])
@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 0, 5), (0, 4, 5)])
def test_layer_norm(axis: int, statistics: bool, shape: tuple[int, ...]) -> None:
    for dtype, parameters in [(F16, F16), (F16, F32), (BF16, BF16), (F32, F32), (F64, F64)]:
        x = random_array(11, shape, dtype) + dtype.numpy.type(3)
        first = axis % 3
        gamma, beta = (random_array(seed, shape[first:], parameters) for seed in (12, 13))
        row = (*shape[:first], *[1] * (3 - first))
        types = [(dtype, shape), *[(parameters, row)] * (2 * statistics)]
        attributes: Attributes = {
            "begin_norm_axis": axis, "begin_params_axis": axis, "epsilon": 1e-5,
        }  # fmt: skip
        if statistics and 0 in shape:
            continue
        agree("LayerNorm", [x, gamma, beta], types, attributes, exact=False)


@pytest.mark.parametrize("offset", [0.0, 10.0, 1000.0])
def test_variances_of_numbers_far_from_zero(offset: float) -> None:
    x = (random_array(14, (4, 8, 32)) + offset).astype(np.float32)
    ones, zeros = np.ones(32, np.float32), np.zeros(32, np.float32)
    attributes: Attributes = {"begin_norm_axis": 2, "begin_params_axis": 2, "epsilon": 1e-12}
    agree("LayerNorm", [x, ones, zeros], [(F32, x.shape)], attributes, exact=False)
    x[1] = 0.1 * offset
    ones, zeros = np.ones(8, np.float32), np.zeros(8, np.float32)
    attributes = {"data_format": "NCHW", "epsilon": 1e-5}
    agree("InstanceNorm", [x, ones, zeros], [(F32, x.shape)], attributes, exact=False)


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 7), (2, 3, 4, 5), (2, 3, 0), (0, 3, 4)])
def test_instance_norm(shape: tuple[int, ...]) -> None:
    for dtype in FLOATS:
        x, gamma, beta = (
            random_array(seed, dims, dtype) for seed, dims in ((15, shape), (16, (3,)), (17, (3,)))
        )
        attributes: Attributes = {"data_format": "NCHW", "epsilon": 1e-3}
        agree("InstanceNorm", [x, gamma, beta], [(dtype, shape)], attributes, exact=False)


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("shape", [(2, 6), (2, 6, 3, 5), (0, 6, 4)])
def test_group_norm(shape: tuple[int, ...], groups: int) -> None:
    for dtype in FLOATS:
        x, gamma, beta = (
            random_array(seed, dims, dtype) for seed, dims in ((21, shape), (22, (6,)), (23, (6,)))
        )
        attributes: Attributes = {"num_groups": groups, "eps": 1e-3}
        agree("GroupNorm", [x, gamma, beta], [(dtype, shape)], attributes, exact=False)


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("shape", [(3, 4, 5), (0, 4, 5)])
def test_rms_norm(rank: int, shape: tuple[int, ...]) -> None:
    for dtype, parameter in [(F16, F16), (BF16, BF16), (F32, F32), (F64, F64)]:
        x, gamma = random_array(18, shape, dtype), random_array(19, shape[-rank:], parameter)
        agree("RmsNorm", [x, gamma], [(dtype, shape)], {"epsilon": 1e-6}, exact=False)


@pytest.mark.parametrize("dtype", FLOATS)
def test_hardmax_marks_the_first(dtype: DType) -> None:
    x = random_array(20, (3, 4, 5), dtype)
    x[:, 2] = x[:, 1]
    for axis in (-1, 0, 1):
        agree("HardMax", [x], [(dtype, x.shape)], {"axis": axis})
    special = SPECIAL.astype(dtype.numpy)
    agree("HardMax", [special], [(dtype, special.shape)], {"axis": -1})
    agree("HardMax", [special], [(dtype, special.shape)], {"axis": 0})


@pytest.mark.parametrize("radius", [0, 1, 2, 9])
@pytest.mark.parametrize("shape", [(2, 5), (2, 6, 3, 3), (1, 1, 4), (2, 4, 0)])
def test_local_response_normalization(radius: int, shape: tuple[int, ...]) -> None:
    attributes: Attributes = {"depth_radius": radius, "alpha": 0.3, "beta": 0.75, "bias": 2.0}
    for dtype in FLOATS:
        agree("LRN", [random_array(21, shape, dtype)], [(dtype, shape)], attributes, exact=False)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p", [1, 2])
def test_lp_normalize(dtype: DType, p: int) -> None:
    x = random_array(22, (3, 4, 5), dtype)
    x[1, 2] = 0
    for axis in (-1, 1):
        types = [(dtype, x.shape)]
        agree("LpNormalize", [x], types, {"p": p, "axis": axis}, exact=False)
    with np.errstate(invalid="ignore"):
        special = SPECIAL.astype(dtype.numpy)
        types = [(dtype, special.shape)]
        agree("LpNormalize", [special], types, {"p": p}, exact=False)


@pytest.mark.parametrize("axes", [[0, 2, 3], [2, 3], [-1]])
def test_mean_variance_normalization(axes: list[int]) -> None:
    for dtype in FLOATS:
        x = random_array(23, (2, 3, 4, 5), dtype)
        types = [(dtype, x.shape)]
        agree("MVNV2", [x], types, {"axes": axes, "eps": 1e-9}, exact=False)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("label", [DType.INT32, DType.INT64])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy(reduction: str, label: DType, weighted: bool) -> None:
    for dtype in FLOATS:
        for shape in ((6, 5), (2, 5, 3)):
            scores = 3 * random_array(24, shape, dtype)
            dims = (shape[0], *shape[2:])
            labels = np.random.default_rng(25).integers(-2, 7, dims).astype(label.numpy)
            weights = np.abs(random_array(26, (5,), dtype)) if weighted else None
            types = [(dtype, dims if reduction == "none" else ()), (dtype, shape)]
            agree(
                "SoftmaxCrossEntropyLoss",
                [scores.astype(dtype.numpy), labels, weights],
                types,
                {"reduction": reduction, "ignore_index": 2},
                exact=False,
            )


FORMS: dict[str, tuple[Sequence[Array], Attributes]] = {
    "Softmax": ([random_array(1, (3, 4))], {}),
    "LayerNormalization": (
        [random_array(1, (3, 4)), np.ones(4, "f4"), np.zeros(4, "f4")],
        {"begin_norm_axis": 1, "begin_params_axis": 1},
    ),
    "BatchNormalization": (
        [random_array(1, (2, 4, 3)), *[np.ones(4, "f4")] * 4],
        {"epsilon": 1e-5},
    ),
}


@pytest.mark.parametrize("name", sorted(FORMS))
def test_operators_of_networks_are_one_node(name: str) -> None:
    inputs, attributes = FORMS[name]
    op = {"Softmax": "SoftmaxV2", "LayerNormalization": "LayerNorm"}.get(name, "BNInfer")
    model, _ = model_of(op, inputs, [(F32, inputs[0].shape)], attributes)
    assert [node.op_type for node in emulate(model, flat=True).nodes] == [name]


PARAMETERS = [np.ones(4, np.float16), np.zeros(4, np.float16)]

LATE: dict[str, tuple[list[Array], Attributes]] = {
    "BNInferenceD": ([np.full((1, 4, 1), number, np.float16) for number in (0.3, 1.7)], {}),
    "BNInfer": ([*PARAMETERS, *PARAMETERS], {"epsilon": 1e-3}),
    "GroupNorm": (PARAMETERS, {"num_groups": 2}),
    "HardMax": ([], {"axis": 1}),
    "InstanceNorm": (PARAMETERS, {"data_format": "NCHW"}),
    "LRN": ([], {"depth_radius": 1}),
    "LayerNorm": (PARAMETERS, {"begin_norm_axis": 2, "begin_params_axis": 2}),
    "LogSoftmaxV2": ([], {"axes": [1, 2]}),
    "LpNormalize": ([], {}),
    "MVNV2": ([], {"axes": [0, 2]}),
    "RmsNorm": (PARAMETERS[:1], {}),
    "ScaledMaskedSoftmax": ([np.array([True, False, False, True])], {"scale": 2.0}),
    "SoftmaxV2": ([], {"axes": [0, 2]}),
}


@pytest.mark.parametrize("op", sorted(LATE))
def test_dims_that_only_the_run_knows(op: str) -> None:
    """Check operators on what a node gives whose dims are not declared."""
    parameters, attributes = LATE[op]
    builder, x = ModelBuilder(), random_array(27, (3, 4, 4), F16)
    at = builder.input("x", "float16", x.shape)
    (late,) = builder.node("Abs", [at], [("float16", [None] * 3)])
    more = [builder.constant(each) for each in parameters]
    (y,) = builder.node(op, [late, *more], [("float16", [None] * 3)], attributes)
    builder.output("y", y)
    model = builder.build()
    found = run_on_ort(model, {"x": x})
    assert found is not None
    assert differences(model, found, run_model(model, {"x": x})) == []
