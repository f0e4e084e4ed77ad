"""Every dtype that a list has compiles, unless a rule of the list refuses it; some by their results.

What a kernel of the SoC lacks is a finding without a line of the list, and so a failure here.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx.defs
import pytest
from numpy.typing import NDArray

import atc_py
from atc_py.check.findings import Standing
from atc_py.lowering.lower import can_lower
from atc_py.spec import OperandSpec, OpSpec, library
from tests.end_to_end import one_node_model, run_with_atc_py, run_with_onnxruntime
from tests.failures import Failures
from tests.sampling import sampled
from tests.spec.every_list import LISTS
from tests.spec.one_node import CUSTOM_DOMAIN, build

Array = NDArray[Any]

NEWEST = LISTS[-1]
MODES = ("allow_fp32_to_fp16", "must_keep_origin_dtype", "force_fp16")
NOT_OF_ONNX = {("Pad", "pads"), ("Split", "split")}
"""Inputs with listed dtypes that ONNX's own inference refuses, so that no such model is read."""
_LENGTHS = "sequence_lens"
FLOATS_ALONE = {"GRU"}
"""Operators of which a list has integers, but neither ONNX nor any kernel of the target."""


def opsets_of(spec: OpSpec, row: OperandSpec) -> list[int]:
    """Return the newest listed opset of each version that has the input, newest first."""
    if spec.custom:
        return [13]
    versions = {
        onnx.defs.get_schema(spec.op, opset).since_version: opset
        for opset in sorted(spec.opsets)
        if onnx.defs.has(spec.op, opset) and row.exists_at(opset)
    }
    return sorted(versions.values(), reverse=True)


def listed_inputs(operator_list: str) -> Iterator[tuple[OpSpec, OperandSpec]]:
    """Yield the inputs, with their operators, that an example has of what compiles."""
    specs = library(operator_list)
    for spec in specs.all():
        if can_lower(spec.op, CUSTOM_DOMAIN if spec.custom else "", specs):
            given = [row for row in spec.inputs if spec.example.inputs.get(row.name) is not None]
            yield from ((spec, row) for row in given if (spec.op, row.name) not in NOT_OF_ONNX)


def refusals(path: Path, mode: str, operator_list: str) -> list[str]:
    """Return what is refused by something else than a line of the list."""
    (check,) = atc_py.check_models(path, precision_mode=mode, operator_list=operator_list).models
    errors = [each for each in check.findings if each.standing is Standing.ERROR]
    return [each.message.en for each in errors if not each.source] + [
        each.message for each in check.faults
    ]


@pytest.mark.parametrize(
    ("operator_list", "mode"),
    sampled([(NEWEST, MODES[0])], [(name, mode) for name in LISTS for mode in MODES][:-1]),
)
def test_listed_dtype_compiles_unless_a_rule_refuses_it(
    operator_list: str, mode: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    whole = (operator_list, mode) != (NEWEST, MODES[0])
    with Failures() as failures:
        for spec, row in listed_inputs(operator_list):
            for opset in opsets_of(spec, row)[: None if whole else 1]:
                for dtype in spec.dtypes_of(row) or ():
                    model = build(spec, opset, dtypes={row.name: dtype})
                    path.write_bytes(model.SerializeToString())
                    with failures.of(spec.op, row.name, dtype, opset):
                        found = refusals(path, mode, operator_list)
                        if spec.op in FLOATS_ALONE and dtype.is_integer and row.name != _LENGTHS:
                            assert ["has no kernel for int" in each for each in found] == [True]
                        else:
                            assert found == []


# By their results -------------------------------------------------------------------------------


def outputs(model: onnx.ModelProto, feeds: Mapping[str, Array], folder: Path) -> list[Array]:
    """Return the results of a model that the newest list takes."""
    return [
        *run_with_atc_py(
            model, feeds, folder, operator_list=NEWEST, precision_mode=MODES[1]
        ).values()
    ]


def numbers(dtype: str, *shape: int, least: int | None = None) -> Array:
    """Return integers of all sizes, the ends of the dtype among them."""
    info = np.iinfo(dtype)
    low = info.min if least is None else max(info.min, least)
    rng = np.random.default_rng(7)
    found = rng.integers(low, info.max, shape, dtype, endpoint=True)
    found.reshape(-1)[:4] = [info.max, low, 0, 1]
    return found


@pytest.mark.parametrize(
    ("op_type", "dtypes", "opset", "attributes"),
    [
        ("ArgMax", ["int32"], 13, {"axis": 1}),
        ("ArgMax", ["int32"], 13, {"axis": 0, "keepdims": 0}),
        ("ReduceMax", ["int64", "int32"], 13, {"axes": [0]}),
        ("ReduceMax", ["int64"], 13, {"axes": [1, 0], "keepdims": 0}),
        ("Sign", ["int32"], 13, {}),
        ("Cast", ["int32", "int64"], 13, {"to": 5}),
    ],
)
def test_integers_are_exact_as_in_onnxruntime(
    op_type: str, dtypes: list[str], opset: int, attributes: dict[str, Any], tmp_path: Path
) -> None:
    for dtype in dtypes:
        feeds = {"x": numbers(dtype, 5, 7)}
        model = one_node_model(op_type, feeds, opset, **attributes)
        (expected,) = run_with_onnxruntime(model, feeds).values()
        (found,) = outputs(model, feeds, tmp_path)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64", "int16"])
def test_equal_compares_every_integer(dtype: str, tmp_path: Path) -> None:
    a = numbers(dtype, 4, 6)
    b = np.where(np.arange(24).reshape(4, 6) % 3 == 0, a, a[:, ::-1]).astype(dtype)
    (found,) = outputs(one_node_model("Equal", {"a": a, "b": b}, 13), {"a": a, "b": b}, tmp_path)
    np.testing.assert_array_equal(found, a == b)


def test_round_leaves_integers_as_they_are(tmp_path: Path) -> None:
    x = numbers("int32", 3, 5)
    (found,) = outputs(one_node_model("Round", {"x": x}, 13), {"x": x}, tmp_path)
    np.testing.assert_array_equal(found, x)


@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_selu_of_integers_drops_fractions(dtype: str, tmp_path: Path) -> None:
    x = np.arange(-100, 100, dtype=dtype)
    (found,) = outputs(one_node_model("Selu", {"x": x}, 13), {"x": x}, tmp_path)
    below = 1.6732631921768188 * np.expm1(x.astype(np.float64).clip(max=0))
    expected = 1.0507010221481323 * (x.astype(np.float64).clip(min=0) + below)
    np.testing.assert_array_equal(found, np.trunc(expected).clip(max=127).astype(dtype))


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "float64"])
def test_resize_of_opset_10_takes_every_number(dtype: str, mode: str, tmp_path: Path) -> None:
    shape = (1, 2, 3, 4)
    small = np.random.default_rng(3).integers(0, 100, shape)
    small -= 0 if dtype == "uint8" else 50
    x, scales = small.astype(dtype), np.array([1, 1, 2, 2.5], np.float32)
    model = one_node_model("Resize", {"x": x}, 10, constants={"scales": scales}, mode=mode)
    known = {"x": x.astype(np.float32)}  # onnxruntime has no kernels of the other dtypes
    reference = one_node_model("Resize", known, 10, constants={"scales": scales}, mode=mode)
    (expected,) = run_with_onnxruntime(reference, known).values()
    (found,) = outputs(model, {"x": x}, tmp_path)
    np.testing.assert_allclose(found, expected.astype(dtype), rtol=1e-6, atol=2e-6)


def test_interpolated_integers_do_not_wrap_around(tmp_path: Path) -> None:
    for dtype in ("int32", "int64"):
        x = np.full((1, 1, 2, 2), np.iinfo(dtype).max, dtype)
        scales = np.array([1, 1, 1.5, 2], np.float32)
        constants = {"scales": scales}
        model = one_node_model("Resize", {"x": x}, 10, constants=constants, mode="linear")
        (found,) = outputs(model, {"x": x}, tmp_path)
        assert set(found.reshape(-1).tolist()) == {np.iinfo(dtype).max}


@pytest.mark.parametrize("dtype", ["int8", "int16", "int64", "uint8"])
def test_embedding_bag_counts_in_any_integer(dtype: str, tmp_path: Path) -> None:
    weight = np.random.default_rng(5).standard_normal((8, 4)).astype(np.float32)
    indices, offset = np.array([0, 7, 3, 3, 1], dtype), np.array([0, 2], dtype)
    feeds = {"weight": weight, "indices": indices, "offset": offset}
    spec = library(NEWEST).find("EmbeddingBag", CUSTOM_DOMAIN)
    assert spec is not None
    shapes = {name: array.shape for name, array in feeds.items()}
    model = build(
        spec,
        13,
        shapes={**shapes, "per_sample_weights": None},
        values={"offset": None},
        dtypes={"indices": dtype, "offset": dtype},
    )
    (found,) = outputs(model, feeds, tmp_path)
    expected = [weight[indices[:2]].sum(0), weight[indices[2:]].sum(0)]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
