"""Factors as float16, for SoCs without 64-bit words."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from atc_py.diag import AtcError
from atc_py.passes.precision.assign_precision import AssignPrecisionPass
from atc_py.passes.quant.float16_quant_scales import Float16QuantScalesPass
from atc_py.target import socs
from tests.passes.conftest import RunPass
from tests.passes.numbers import constant, literal, node_of, results, words

X = np.array([[0, 3], [1, -7], [-2047, 2047], [60000, -60000], [70000, -70000]], np.int32)


def dequant(scales: Sequence[float], relu: str = "false") -> str:
    """Return an AscendDequant with words."""
    return f"""
graph @g phase lowered {{
  input %x : int32[5,2] ND
  {literal("s", words(*scales), "uint64")}
  %d = AscendDequant(%x, %s) {{dtype=float32, relu_flag={relu}}} : float32[5,2] ND from [3 "d" D]
  output %d
}}
"""


def quant(scale: float, more: str = "") -> str:
    """Return an AscendQuant."""
    return f"""
graph @g phase lowered {{
  input %x : float32[6] ND
  %q = AscendQuant(%x) {{offset=1.0, scale={scale!r}{more}}} : int8[6] ND
  output %q
}}
"""


def scaled(factors: npt.NDArray[np.float16]) -> npt.NDArray[np.float16]:
    """Return sums times float16 factors, converted once."""
    product = X.astype(np.float32) * factors.astype(np.float32)
    return product.astype(np.float16)


@pytest.mark.parametrize("mode", ["force_fp16", "must_keep_origin_dtype"])
@pytest.mark.parametrize(
    "scales", [(0.37, 2.0**-14), (65504.0, 0.0), (-0.25, -65504.0), (-1e-6, 0.5), (0.1,)]
)
def test_factors_that_float16_holds_become_float16(
    run_pass: RunPass, mode: str, scales: tuple[float, ...]
) -> None:
    graph, changes = run_pass(Float16QuantScalesPass, dequant(scales), soc="Ascend310")
    assert changes == 1
    node = node_of(graph, "AscendDequant")
    halves = np.array(scales, np.float32).astype(np.float16)
    assert node.attributes["sqrt_mode"] is False
    assert constant(node, 1).dtype == np.float16
    np.testing.assert_array_equal(constant(node, 1), halves)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = scaled(halves)
    found = results(graph, {"x": X}, mode, "Ascend310")["d"]
    np.testing.assert_array_equal(found, expected.astype(np.float32))


@pytest.mark.parametrize("relu", ["false", "true"])
@pytest.mark.parametrize(
    "scales",
    [
        (6.1e-5, 0.37),
        (1e-6, 65505.0),
        (4e9, 1.0),
        (0.0, 1e-5),
        (1e-10, 0.5),
        (float(np.nextafter(np.float32(2.0**-14), np.float32(0))),),
    ],
)
def test_factors_beyond_become_roots_for_all_channels(
    run_pass: RunPass, scales: tuple[float, ...], relu: str
) -> None:
    text = dequant(scales, relu)
    graph, changes = run_pass(Float16QuantScalesPass, text, soc="Ascend910A")
    assert changes == 1
    node = node_of(graph, "AscendDequant")
    roots = np.sqrt(np.array(scales, np.float32)).astype(np.float16)
    assert node.attributes["sqrt_mode"] is True
    np.testing.assert_array_equal(constant(node, 1), roots)
    with np.errstate(over="ignore", invalid="ignore"):
        once = scaled(roots)
        once = np.maximum(once, np.float16(0)) if relu == "true" else once
        expected = once * roots
    found = results(graph, {"x": X}, soc="Ascend910A")["d"]
    np.testing.assert_array_equal(found, expected.astype(np.float32))


def test_roots_are_nearer_than_a_factor_below_float16() -> None:
    exact = np.float64(1e-7) * 60000
    rooted = np.float16(60000) * np.float16(np.sqrt(1e-7)) * np.float16(np.sqrt(1e-7))
    assert abs(rooted - exact) < exact * 0.01 < abs(60000 * float(np.float16(1e-7)) - exact)


@pytest.mark.parametrize(
    ("scales", "worst"),
    [
        ((1.0, -65537.0), "-65537"),
        ((1e-6, 5e9), "5e+09"),
        ((0.5, float("inf")), "inf"),
        ((float("nan"), 0.5), "nan"),
    ],
)
def test_what_no_float16_can_do_is_refused(
    run_pass: RunPass, scales: tuple[float, ...], worst: str
) -> None:
    with pytest.raises(AtcError) as caught:
        run_pass(Float16QuantScalesPass, dequant(scales), soc="Ascend310")
    (found,) = caught.value.diagnostics
    assert found.code.name == "no-kernel-for-dtype"
    assert "Ascend310" in found.message
    assert found.message.endswith(f"found {worst}")
    assert str(found.place) == 'model.onnx: node 3 "d" (D)'


VALUES = np.array([0.0, 1e-3, -1e-3, 30.0, -64.0, 65504.0], np.float32)


@pytest.mark.parametrize("scale", [6.1e-5, 65505.0, 2e-5, 1e6])
@pytest.mark.parametrize("soc", ["sim", "Ascend310", "Ascend310P3", "Ascend910B1"])
def test_a_scale_of_quantization_becomes_its_root(
    run_pass: RunPass, scale: float, soc: str
) -> None:
    graph, changes = run_pass(Float16QuantScalesPass, quant(scale), soc=soc)
    assert changes == 1
    root = np.float16(np.sqrt(scale))
    with np.errstate(over="ignore", invalid="ignore"):
        values = VALUES.astype(np.float16) * root * root + np.float16(1)
    expected = np.clip(np.rint(np.nan_to_num(values.astype(np.float32))), -128, 127)
    np.testing.assert_array_equal(results(graph, {"x": VALUES}, soc=soc)["q"], expected)
    assert len(np.unique(expected)) > 1


def test_a_scale_stays_where_quantization_computes_in_float32(run_pass: RunPass) -> None:
    assert run_pass(Float16QuantScalesPass, quant(1e6), soc="Ascend950PR_9599")[1] == 0


@pytest.mark.parametrize(
    "text",
    [
        quant(2.0**-14),
        quant(65504.0),
        quant(0.0),
        quant(-1e-6),
        quant(1e-6, ", sqrt_mode=true"),
        dequant([0.5]).replace(
            literal("s", words(0.5), "uint64"), literal("s", np.array([6e-8]), "float16")
        ),
    ],
)
def test_what_float16_holds_or_has_a_root_stays(run_pass: RunPass, text: str) -> None:
    assert run_pass(Float16QuantScalesPass, text, soc="Ascend310")[1] == 0


def test_words_that_are_fed_have_no_kernel(run_pass: RunPass) -> None:
    text = dequant([0.5]).replace(literal("s", words(0.5), "uint64"), "input %s : uint64[1] ND")
    assert run_pass(Float16QuantScalesPass, text, soc="Ascend310")[1] == 0
    with pytest.raises(AtcError, match="AscendDequant has no kernel for"):
        run_pass(AssignPrecisionPass, text, soc="Ascend310")


def test_socs_that_requantize_keep_words(run_pass: RunPass) -> None:
    for soc in socs():
        changes = run_pass(Float16QuantScalesPass, dequant([1e-6]), soc=soc.name)[1]
        assert changes == (soc.arch in {"dav-m100", "dav-c100"}), soc.name
        assert not (soc.requant and not soc.deq_words)
