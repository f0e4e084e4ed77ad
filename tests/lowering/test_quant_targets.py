"""AscendQuant to each dtype that dst_type names, from an ONNX node to numbers."""

import math
import os
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import atc_py
from atc_py.check.findings import Standing
from atc_py.diag import AtcError
from tests.device.rationals import HALF, SINGLE, held, step
from tests.end_to_end import run_with_atc_py
from tests.sampling import WHOLE

F16, F32 = TensorProto.FLOAT16, TensorProto.FLOAT
TARGETS: dict[str, tuple[int, str, int]] = {
    "INT8": (TensorProto.INT8, "int8", 8),
    "INT16": (TensorProto.INT16, "int16", 16),
    "INT4": (TensorProto.INT4, "int4", 4),
}
"""Values of dst_type: ONNX's number, the dtype's name, and its bits."""

ROUNDINGS: dict[str, Callable[[Fraction], int]] = {
    "Round": round,
    "Floor": math.floor,
    "Ceil": math.ceil,
    "Trunc": math.trunc,
}
VALUES = np.array(
    [
        *(0.0, -0.0, 0.25, 0.3, -0.3, 0.5, -0.5, 0.75, 1.25, -1.25, 2.5, -3.5),
        *(sign * value for sign in (1, -1) for value in (3.75, 3.8, 4.0, 4.25, 4.3, 63.75, 64.25)),
        *(16383.5, -16384.0, 20000.0, -20000.0, 65504.0, math.inf, -math.inf, math.nan),
    ],
    np.float16,
)
CONSUMERS: Mapping[str, dict[str, Any]] = {
    "AscendAntiQuant": {"scale": 1.0, "offset": 0.0},
    "Reshape": {},
    "Relu": {},
}


def quant_model(element: int, stated: int, **attributes: Any) -> onnx.ModelProto:
    """Return AscendQuant of `x`, of a float type, with `y` stated as another type."""
    node = helper.make_node("AscendQuant", ["x"], ["y"], name="quant", **attributes)
    x = helper.make_tensor_value_info("x", element, VALUES.shape)
    y = helper.make_tensor_value_info("y", stated, VALUES.shape)
    graph = helper.make_graph([node], "quant", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def formula(attributes: Mapping[str, Any], bits: int, *, single: bool) -> list[int]:
    """Return the result of CANN's kernel: every step rounded to float16, or to float32."""
    kind = SINGLE if single else HALF
    scale, offset = (kind.round(float(np.float32(attributes[key]))) for key in ("scale", "offset"))
    twice = attributes["sqrt_mode"] and scale != 1
    factors = [step(kind, lambda a, b: a * b, scale, scale)] if twice and single else [scale]
    found = []
    for value in VALUES.tolist():
        y = kind.round(value)
        for factor in factors * (2 if twice and not single else 1):
            y = step(kind, lambda a, b: a * b, y, factor)
        y = step(kind, lambda a, b: a + b, y, offset)
        rounding = ROUNDINGS[attributes["round_mode"]]
        found.append(held(y, rounding, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1))
    return found


LACKING = [
    *(("INT4", soc) for soc in ("Ascend310", "Ascend610", "Ascend910A")),
    *(("INT16", soc) for soc in ("Ascend310", "Ascend310P3", "Ascend910B1", "Ascend950PR_9599")),
]
"""Results for which a SoC has no kernel, by its operator information or definition."""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("soc", ["sim", "Ascend310", "Ascend310P3", "Ascend950PR_9599"])
@pytest.mark.parametrize(("scale", "offset"), [(2.0, 0.0), (1.0, 0.0), (0.1, -3.0), (1.0, 0.5)])
def test_quant_is_the_formula_for_every_dst_type(
    target: str, soc: str, scale: float, offset: float, tmp_path: Path
) -> None:
    element, name, bits = TARGETS[target]
    if (target, soc) in LACKING:
        pytest.skip("no such result there, which another test shows")
    # CANN's kernel of 2022 has no other rounding on Ascend310, nor for int4; that of Ascend950 has.
    to_even = soc == "Ascend310" or (target == "INT4" and soc == "Ascend310P3")
    ways = list(product((0, 1), ROUNDINGS, (F16, F32)))
    for squared, mode, taken in ways if WHOLE in os.environ else ways[::3]:
        attributes = {
            "scale": scale, "offset": offset, "sqrt_mode": squared, "round_mode": mode,
        }  # fmt: skip
        model = quant_model(taken, element, dst_type=target, **attributes)
        x = VALUES.astype(helper.tensor_dtype_to_np_dtype(taken))
        y = run_with_atc_py(model, {"x": x}, tmp_path, soc=soc)["y"]
        assert y.dtype.name == name
        heard = {**attributes, "round_mode": "Round"} if to_even else attributes
        expected = formula(heard, bits, single=soc == "Ascend950PR_9599")
        assert y.astype(np.int64).tolist() == expected, (squared, mode, taken)


@pytest.mark.parametrize("mode", ["force_fp16", "allow_fp32_to_fp16", "must_keep_origin_dtype"])
def test_int4_saturates_in_every_precision_mode(mode: str, tmp_path: Path) -> None:
    model = quant_model(F16, TensorProto.INT4, scale=1.0, offset=0.0, dst_type="INT4")
    x = np.resize(np.array([7.5, 7.4, 8.0, -8.5, -8.4, -9.0, 1e4, -1e4], np.float16), VALUES.shape)
    y = run_with_atc_py(model, {"x": x}, tmp_path, precision_mode=mode)["y"]
    assert y.dtype == np.dtype(ml_dtypes.int4)
    assert y[:8].astype(np.int8).tolist() == [7, 7, 7, -8, -8, -8, 7, -8]


@pytest.mark.parametrize(("target", "soc"), LACKING)
def test_what_the_soc_lacks_is_refused(target: str, soc: str, tmp_path: Path) -> None:
    element, name, _ = TARGETS[target]
    model = quant_model(F16, element, scale=1.0, offset=0.0, dst_type=target)
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(AtcError) as caught:
        atc_py.convert(tmp_path / "model.onnx", tmp_path / "model.om", soc=soc)
    (found,) = caught.value.diagnostics
    assert found.code.name == "no-kernel-for-dtype"
    assert name in found.message
    assert found.help
    (check,) = atc_py.check_models(tmp_path / "model.onnx", soc=soc).models
    assert check.standing is Standing.ERROR


@pytest.mark.parametrize("op", CONSUMERS)
def test_operators_that_read_int4_are_refused(op: str, tmp_path: Path) -> None:
    model = quant_model(F16, TensorProto.INT4, scale=1.0, offset=0.0, dst_type="INT4")
    names = ["y", "shape"] if op == "Reshape" else ["y"]
    model.graph.initializer.append(helper.make_tensor("shape", TensorProto.INT64, [1], [-1]))
    model.graph.node.append(helper.make_node(op, names, ["z"], name="reader", **CONSUMERS[op]))
    del model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info("z", 0, VALUES.shape))
    model.graph.output[0].type.tensor_type.elem_type = F32 if op == "AscendAntiQuant" else 22
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(AtcError) as caught:
        atc_py.convert(tmp_path / "model.onnx", tmp_path / "model.om")
    (found,) = caught.value.diagnostics
    assert "int4" in found.message
    assert found.place is not None
    assert found.place.op_type == op


def test_int4_constant_is_a_result_as_it_stands(tmp_path: Path) -> None:
    numbers = [-8, 7, 0, -1, 3]
    model = quant_model(F16, TensorProto.INT4, scale=1.0, offset=0.0, dst_type="INT4")
    model.graph.initializer.append(helper.make_tensor("w", TensorProto.INT4, [5], numbers))
    model.graph.output.append(helper.make_tensor_value_info("w", TensorProto.INT4, [5]))
    found = run_with_atc_py(model, {"x": VALUES}, tmp_path)["w"]
    assert found.dtype == np.dtype(ml_dtypes.int4)
    assert found.astype(np.int8).tolist() == numbers
