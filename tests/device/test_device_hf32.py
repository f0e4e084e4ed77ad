"""HF32: how numbers are rounded to it, and which products of the cube take it.

Sources: sign, 8 bits of exponent, 11 of fraction (ATC guide, `--allow_hf32`); nearest with ties to
even (interface of `SetHF32TransMode`, as convolutions of CANN's open repository call it). Inferred:
subnormal numbers are rounded like others, and what rounds up beyond the largest becomes infinite.
"""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import helper, numpy_helper

import atc_py
from atc_py.device.sim.numerics.cube_types import round_to_hf32
from atc_py.package.reader import open_model
from atc_py.report.model.records import PrecisionRecord, read_record
from atc_py.results.comparison import FLOAT32_TOLERANCE, compare, default_tolerance
from tests.onnx_graph import onnx_files

ULP = 2.0**-11
"""The distance of neighbors from 1 on."""

EXACT = "must_keep_origin_dtype"


def rounded(*values: float) -> list[float]:
    """Return the numbers in HF32."""
    return [float(each) for each in round_to_hf32(np.array(values, np.float32))]


def nearest(value: float) -> float:
    """Return the HF32 number nearest to a finite one, found with fractions."""
    if value == 0:
        return value
    exponent = max(int(np.floor(np.log2(abs(np.float64(value))))), -126)
    step = Fraction(2) ** (exponent - 11)
    return float(round(Fraction(value) / step) * step)  # Python rounds half to even


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1 + ULP / 2, 1.0),
        (1 + 3 * ULP / 2, 1 + 2 * ULP),
        (1 + ULP / 2 + 2.0**-23, 1 + ULP),
        (1 + 3 * ULP / 2 - 2.0**-23, 1 + ULP),
        (2 - ULP / 2, 2.0),
        (65504.0, 65504.0),
        (65519.0, 65520.0),
    ],
)
def test_ties_go_to_the_even_neighbor(value: float, expected: float) -> None:
    assert rounded(value, -value) == [expected, -expected]


def test_zeros_infinities_and_nan_stay() -> None:
    found = round_to_hf32(np.array([0.0, -0.0, np.inf, -np.inf], np.float32))
    assert found.tolist() == [0.0, 0.0, np.inf, -np.inf]
    assert np.signbit(found).tolist() == [False, True, False, True]
    patterns = np.array([0x7F800001, 0xFFFFFFFF, 0x7FC00000, 0xFF800FFF], np.uint32)
    assert np.isnan(round_to_hf32(patterns.view(np.float32))).all()


def test_largest_number_rounds_up_to_infinity() -> None:
    largest = (2 - ULP) * 2.0**127
    assert rounded(largest, (2 - ULP / 2 - 2.0**-23) * 2.0**127) == [largest, largest]
    assert rounded((2 - ULP / 2) * 2.0**127, -3.4028235e38) == [np.inf, -np.inf]


def test_subnormal_numbers_are_multiples_of_2_to_minus_137() -> None:
    step = 2.0**-137
    assert rounded(step, 0.5 * step, 1.5 * step, 0.75 * step) == [step, 0.0, 2 * step, step]
    assert rounded(2.0**-126 - 2.0**-149) == [2.0**-126]


def test_any_number_becomes_its_nearest() -> None:
    bits = np.random.default_rng(0).integers(0, 2**32, 20_000, dtype=np.uint32)
    values = bits.view(np.float32)
    values = values[np.isfinite(values) & (np.abs(values) < 2.0**127)]
    expected = np.array([nearest(float(each)) for each in values[:4000]], np.float32)
    np.testing.assert_array_equal(round_to_hf32(values[:4000]), expected)


def test_rounding_leaves_its_operand() -> None:
    values = np.array([1 + ULP / 4], np.float32)
    round_to_hf32(values)
    assert values[0] == np.float32(1 + ULP / 4)


# Products ---------------------------------------------------------------------------------------

X = np.random.default_rng(1).standard_normal((1, 4, 6, 6)).astype(np.float32)
WEIGHTS = np.random.default_rng(2).standard_normal((4, 4, 3, 3)).astype(np.float32)
DEPTHWISE = WEIGHTS[:, :1]
BIAS = np.random.default_rng(3).standard_normal(4).astype(np.float32)
MATRIX = np.random.default_rng(4).standard_normal((6, 5)).astype(np.float32)
FORMS: dict[str, tuple[str, dict[str, Any], NDArray[np.float32]]] = {
    "Conv2D": ("Conv", {}, WEIGHTS),
    "DepthwiseConv2D": ("Conv", {"group": 4}, DEPTHWISE),
    "Conv2DTransposeD": ("ConvTranspose", {}, WEIGHTS),
}


def convolution(op: str) -> onnx.ModelProto:
    """Return a model of one convolution with a bias."""
    onnx_op, attributes, weights = FORMS[op]
    node = helper.make_node(onnx_op, ["x", "w", "b"], ["y"], "it", **attributes)
    given = {"x": (onnx_files.FLOAT, list(X.shape))}
    return onnx_files.model([node], given, ["y"], {"w": weights, "b": BIAS})


def product() -> onnx.ModelProto:
    """Return a model of one product of matrices."""
    node = helper.make_node("Gemm", ["x", "w"], ["y"], "it")
    return onnx_files.model([node], {"x": (onnx_files.FLOAT, [6, 6])}, ["y"], {"w": MATRIX})


def computed(
    proto: onnx.ModelProto, folder: Path, *, modes: str = "", **options: Any
) -> tuple[NDArray[Any], str]:
    """Return what the device computes, and the rule of the node."""
    if modes:
        file = folder / "modes.ini"
        file.write_text(modes, encoding="utf-8")
        options["op_precision_mode"] = file
    options = {"soc": "Ascend910B3", "precision_mode": EXACT, **options}
    done = atc_py.convert(onnx_files.save(proto, folder), folder / "n.om", verify=True, **options)
    with open_model(done.output) as package:
        nodes: Any = read_record(package.report, "precision", PrecisionRecord, "n.om")["nodes"]
    (rule,) = [each["rule"] for each in nodes if each["from"] == ["it"]]
    x = X[0, 0] if proto.graph.node[0].op_type == "Gemm" else X
    with atc_py.load(done.output) as model:
        return np.asarray(model.run({"x": x})["y"]), rule


def oracle(proto: onnx.ModelProto, *, hf32: bool) -> NDArray[Any]:
    """Return what onnxruntime computes in float64 of the operands, rounded to HF32 or as they are."""

    def operand(values: NDArray[np.float32]) -> NDArray[np.float64]:
        one = np.array([nearest(float(each)) for each in values.ravel()]).reshape(values.shape)
        return one if hf32 else values.astype(np.float64)

    node = proto.graph.node[0]
    if node.op_type == "Gemm":
        return operand(X[0, 0]) @ operand(MATRIX)
    weights = numpy_helper.to_array(proto.graph.initializer[0])
    data, filters = operand(X), operand(weights)
    size = 8 if node.op_type == "ConvTranspose" else 4
    result = np.zeros((1, 4, size, size))
    for out, c, i, j in np.ndindex(4, 4, 3, 3):
        if node.op_type == "ConvTranspose":
            result[0, out, i : i + 6, j : j + 6] += data[0, c] * filters[c, out, i, j]
        elif filters.shape[1] == 4:
            result[0, out] += data[0, c, i : i + 4, j : j + 4] * filters[out, c, i, j]
        elif c == out:
            result[0, out] += data[0, c, i : i + 4, j : j + 4] * filters[out, 0, i, j]
    return result + BIAS[:, None, None]


def is_of_hf32(found: NDArray[Any], proto: onnx.ModelProto) -> bool:
    """Return True if the results are of operands in HF32, False if in float32; nothing between."""
    errors = [np.abs(found - oracle(proto, hf32=flag)).max() for flag in (True, False)]
    assert min(errors) < 4e-6
    assert max(errors) > 1e-4
    return bool(errors[0] < errors[1])


@pytest.mark.parametrize(
    "soc", ["Ascend910B3", "Ascend910_9391", "Ascend310B1", "Ascend950PR_9599"]
)
@pytest.mark.parametrize("op", FORMS)
def test_convolutions_round_their_operands_to_hf32(tmp_path: Path, op: str, soc: str) -> None:
    """Source: the list that ATC of CANN 8.1 reads by default. The bias is not rounded."""
    found, rule = computed(convolution(op), tmp_path, soc=soc)
    assert is_of_hf32(found, convolution(op))
    assert rule.endswith("products of HF32: default of convolutions")


@pytest.mark.parametrize("op", FORMS)
def test_generic_device_multiplies_float32(tmp_path: Path, op: str) -> None:
    found, rule = computed(convolution(op), tmp_path, soc="sim", allow_hf32=True)
    assert not is_of_hf32(found, convolution(op))
    assert "HF32" not in rule


def test_products_of_matrices_stay_in_float32(tmp_path: Path) -> None:
    found, rule = computed(product(), tmp_path)
    assert not is_of_hf32(found, product())
    assert rule.endswith("products of float32: default of matrix products")


ON, OFF = "enable_hi_float_32_execution", "enable_float_32_execution"


@pytest.mark.parametrize(
    ("op", "option", "modes", "hf32"),
    [
        ("Conv2D", False, "", False),
        ("MatMulV2", True, "", True),
        ("Conv2D", None, f"Conv2D={OFF}", False),
        ("MatMulV2", None, f"MatMulV2={ON}", True),
        ("Conv2D", True, f"Conv2D={OFF}", True),
        ("MatMulV2", False, f"MatMulV2={ON}", False),
        ("Conv2D", True, f"[ByNodeName]\nit={OFF}", False),
        ("MatMulV2", False, f"[ByNodeName]\nit={ON}", True),
        ("Conv2D", None, f"Conv2D={ON}\n[ByNodeName]\nit={OFF}", False),
        ("Conv2D", None, "MatMulV2=high_precision", True),
        ("Conv2D", None, "Conv2D=high_precision", False),
        ("Conv2D", None, "Conv2D=high_performance", False),
        ("MatMulV2", None, "MatMulV2=high_performance", True),
        ("MatMulV2", None, "MatMulV2=high_precision", False),
    ],
)
def test_order_of_what_asks_for_hf32(
    tmp_path: Path, op: str, option: bool | None, modes: str, hf32: bool
) -> None:
    """Source: the ATC guide. The node's own mode comes first, then allow_hf32, then its operator's.

    What high_precision and high_performance do is read off the kernels of CANN 8.1 (inferred).
    """
    proto = product() if op == "MatMulV2" else convolution(op)
    found, _ = computed(proto, tmp_path, modes=modes, allow_hf32=option)
    assert is_of_hf32(found, proto) is hf32


def test_float16_products_have_no_hf32(tmp_path: Path) -> None:
    options = {"precision_mode": "force_fp16"}
    plain, rule = computed(convolution("Conv2D"), tmp_path, **options)
    allowed, _ = computed(convolution("Conv2D"), tmp_path, allow_hf32=True, **options)
    np.testing.assert_array_equal(plain, allowed)
    assert "HF32" not in rule


@pytest.mark.parametrize("op", FORMS)
def test_computed_weights_are_rounded_in_every_run(tmp_path: Path, op: str) -> None:
    """Weights that a node gives may differ from run to run; constants are rounded once."""
    proto = convolution(op)
    weights = proto.graph.initializer[0]
    proto.graph.input.append(
        helper.make_tensor_value_info("w", onnx_files.FLOAT, list(weights.dims))
    )
    kept = [each for each in proto.graph.initializer if each.name != "w"]
    del proto.graph.initializer[:]
    proto.graph.initializer.extend(kept)
    options: dict[str, Any] = {"soc": "Ascend910B3", "precision_mode": EXACT}
    path = onnx_files.save(proto, tmp_path)
    done = atc_py.convert(path, tmp_path / "n.om", **options)
    values = numpy_helper.to_array(weights)
    with atc_py.load(done.output) as model:
        for factor in (1.0, -2.0, 1.0):
            model.run({"x": X, "w": np.float32(factor) * values})
        found = np.asarray(model.run({"x": X, "w": values})["y"])
    assert is_of_hf32(found, convolution(op))


def test_bound_of_expected_results_knows_hf32(tmp_path: Path) -> None:
    """One convolution rounds two operands by 2^-12: 2 sqrt(2) 2^-12 of the range pass."""
    proto = convolution("Conv2D")
    path = onnx_files.save(proto, tmp_path)
    shares = {}
    for option in (None, False):
        om = tmp_path / "n.om"
        options: dict[str, Any] = {"soc": "Ascend910B3", "precision_mode": EXACT}
        atc_py.convert(path, om, allow_hf32=option, **options)
        with atc_py.load(om) as model:
            shares[option] = default_tolerance(model.description)
            exact = oracle(proto, hf32=False).astype(np.float32)
            found = np.asarray(model.run({"x": X})["y"])
        assert compare("y", found, exact, shares[option]).passed
    assert shares[None] == pytest.approx(2 * 2**0.5 * 2.0**-12)
    assert shares[False] == FLOAT32_TOLERANCE
