"""Matrix products in every mode, v1 and v2 names, against rounded operands in ONNX's evaluator.

The oracle takes the operands rounded to what the mode says, multiplies them in float64 and rounds
the product to what the mode says of results. Products of two 16-bit floats are exact in float32;
what the device may differ in is the order of additions, so its results are at most one unit in the
last place away, or, where they stay float32, within the bound on sums in any order.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import atc_py
from atc_py.diag import AtcError
from atc_py.diag.codes import DTYPE_NOT_LISTED
from atc_py.options.compile_options import PrecisionMode

Array = npt.NDArray[Any]

F16, BF16, F32 = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32)
BITS = {F16: 10, BF16: 7}
"""Bits after the point of a number in [1, 2)."""

LEAST = {F16: -14, BF16: -126}
"""Exponents of the smallest normal numbers."""

TERMS = 48
"""Products of one sum. Summed up in float32 in any order they are off by at most TERMS * 2^-24 of
the sum of their magnitudes (Higham 2002, section 4.2)."""

SOC = "Ascend910B3"
KINDS = {F32: TensorProto.FLOAT, F16: TensorProto.FLOAT16}


@dataclass(frozen=True)
class Case:
    """A mode, and what it makes of a product.

    Attributes:
        given: dtype of the model.
        taken: of the operands on the cube.
        left: of the result.
    """

    option: str
    name: str
    given: np.dtype[Any]
    taken: np.dtype[Any]
    left: np.dtype[Any]

    def __str__(self) -> str:
        return f"{self.option} {self.name} {self.given}"


V1, V2 = "precision_mode", "precision_mode_v2"
RUN = (
    Case(V1, "force_fp16", F32, F16, F16),
    Case(V1, "force_fp32", F32, F16, F32),
    Case(V1, "cube_fp16in_fp32out", F32, F16, F32),
    Case(V1, "allow_fp32_to_fp16", F32, F16, F16),
    Case(V1, "allow_mix_precision", F32, F16, F16),
    Case(V1, "allow_mix_precision_fp16", F32, F16, F16),
    Case(V2, "fp16", F32, F16, F16),
    Case(V2, "cube_fp16in_fp32out", F32, F16, F32),
    Case(V2, "mixed_float16", F32, F16, F16),
    Case(V1, "force_fp16", F16, F16, F16),
    Case(V1, "force_fp32", F16, F16, F32),
    Case(V1, "must_keep_origin_dtype", F16, F16, F16),
    Case(V1, "allow_fp32_to_fp16", F16, F16, F16),
    Case(V1, "allow_fp32_to_bf16", F16, F16, F16),
    Case(V1, "allow_mix_precision_bf16", F16, BF16, BF16),
    Case(V2, "origin", F16, F16, F16),
    Case(V2, "mixed_bfloat16", F16, BF16, BF16),
)
REFUSED = (
    (V1, "must_keep_origin_dtype"),
    (V1, "allow_mix_precision_bf16"),
    (V1, "allow_fp32_to_bf16"),
    (V2, "origin"),
    (V2, "mixed_bfloat16"),
)
"""Modes that leave a float32 product no dtype that the list has for MatMul: float16 or int8."""

SHAPES = {"MatMulV2": ([24, TERMS], [TERMS, 20]), "BatchMatMulV2": ([3, 24, TERMS], [3, TERMS, 20])}


def product(op: str, weights: Array, kind: int) -> onnx.ModelProto:
    """Return a product with constant weights, and a Relu after it; both are returned."""
    x, _ = SHAPES[op]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["s"], name="product"),
        helper.make_node("Relu", ["s"], ["y"], name="positive"),
    ]
    inputs = [helper.make_tensor_value_info("x", kind, x)]
    outputs = [helper.make_tensor_value_info(name, kind, [*x[:-1], 20]) for name in "sy"]
    held = [numpy_helper.from_array(weights, "w")]
    graph = helper.make_graph(nodes, "product", inputs, outputs, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def on_grid(array: Array, dtype: np.dtype[Any]) -> Array:
    """Return float64 values on the grid of `dtype`; from float32, as the device has them."""
    return array.astype(np.float32).astype(dtype).astype(np.float64)


def operands(op: str, given: np.dtype[Any]) -> tuple[Array, Array]:
    """Return data and weights."""
    random = np.random.default_rng(11)
    x, w = (random.standard_normal(shape).astype(given) for shape in SHAPES[op])
    return x, w


def convert_product(case: Case, op: str, folder: Path, *, strict_list: bool = False) -> Path:
    """Return the product compiled in the case's mode."""
    _, w = operands(op, case.given)
    onnx.save(product(op, w, KINDS[case.given]), folder / "net.onnx")
    modes: dict[str, Any] = {case.option: case.name, "strict_list": strict_list}
    done = atc_py.convert(folder / "net.onnx", folder / "net.om", soc=SOC, verify=True, **modes)
    assert done.facts.target_operators[op] == 1
    return folder / "net.om"


def emulated(op: str, x: Array, w: Array) -> Array:
    """Return the product in float64, by ONNX's evaluator."""
    model = product(op, w, TensorProto.DOUBLE)
    (found,) = ReferenceEvaluator(model).run(["s"], {"x": x})
    return np.asarray(found)


def unit(values: Array, dtype: np.dtype[Any]) -> Array:
    """Return one unit in the last place of `dtype` at each of `values`."""
    exponents = np.floor(np.log2(np.maximum(np.abs(values), 2.0 ** LEAST[dtype])))
    found: Array = np.exp2(exponents - BITS[dtype])
    return found


@pytest.mark.parametrize("op", SHAPES)
@pytest.mark.parametrize("case", RUN, ids=str)
def test_product_is_that_of_the_rounded_operands(case: Case, op: str, tmp_path: Path) -> None:
    x, w = operands(op, case.given)
    with atc_py.load(convert_product(case, op, tmp_path)) as model:
        found = {name: array.astype(np.float64) for name, array in model.run({"x": x}).items()}
    x, w = on_grid(x, case.taken), on_grid(w, case.taken)
    exact = emulated(op, x, w)
    bound = TERMS * 2.0**-24 * emulated(op, np.abs(x), np.abs(w))
    # What the model returns is of its own dtype, whatever the result was.
    for name, sums in (("s", exact), ("y", np.maximum(exact, 0))):
        if case.left is F32 and case.given is F32:
            assert (np.abs(found[name] - sums) <= bound).all()
            continue
        narrow = F16 if case.left is F32 else case.left
        expected = on_grid(on_grid(sums, case.left), case.given)
        assert np.array_equal(on_grid(found[name], narrow), found[name])
        assert (np.abs(found[name] - expected) <= unit(expected, narrow)).all()
        assert np.mean(found[name] == expected) > 0.99


@pytest.mark.parametrize(("option", "name"), REFUSED)
def test_product_that_would_stay_float32_is_refused_by_the_letter_of_the_list(
    option: str, name: str, tmp_path: Path
) -> None:
    with pytest.raises(AtcError) as caught:
        convert_product(Case(option, name, F32, F32, F32), "MatMulV2", tmp_path, strict_list=True)
    assert {each.code for each in caught.value.diagnostics} == {DTYPE_NOT_LISTED}
    assert all("A of MatMul" in m or "B of MatMul" in m for m in messages(caught.value))


def messages(error: AtcError) -> list[str]:
    """Return the messages of the findings."""
    return [each.message for each in error.diagnostics if "Y of MatMul" not in each.message]


def test_every_name_of_a_mode_runs_or_is_refused() -> None:
    names = {(case.option, case.name) for case in RUN} | set(REFUSED)
    assert names == {(V1, mode.value) for mode in PrecisionMode} | {
        (V2, name) for name in PrecisionMode.second_names()
    }


@pytest.mark.parametrize("share", [2.0**-9, 2.0**-5])
def test_oracle_tells_wrong_roundings_apart(share: float) -> None:
    x, w = operands("MatMulV2", F32)
    exact = emulated("MatMulV2", on_grid(x, F16), on_grid(w, F16))
    expected = on_grid(exact, F16)
    wrong = on_grid(exact * (1 + share), F16)
    assert (np.abs(wrong - expected) > unit(expected, F16)).mean() > 0.3
