"""Forms of opsets 14 to 18 of operators that older opsets have, by the newest list: numbers."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi import onnxruntime_pybind11_state as errors

import atc_py
from atc_py.check.findings import Standing
from atc_py.spec.lists import operator_lists
from tests.end_to_end import one_node_model, run_with_atc_py, run_with_onnxruntime
from tests.failures import Failures

Array = NDArray[Any]

NEWEST = operator_lists()[-1].name
KEEP, HALF = "must_keep_origin_dtype", "force_fp16"
REFUSED = (errors.NotImplemented, errors.InvalidGraph, errors.Fail)


@cache
def floats(*shape: int, dtype: str = "float32") -> Array:
    """Return floats with infinities, NaN and both zeros, where there is room for them."""
    found = np.random.default_rng(11).normal(0, 2, shape).astype(dtype)
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0]
    if found.size > 2 * len(special):
        found.reshape(-1)[1 : 2 * len(special) : 2] = special
    return found


@cache
def plain(*shape: int, dtype: str = "float32") -> Array:
    """Return numbers near 0: floats, or small integers without 0."""
    rng = np.random.default_rng(13)
    if np.dtype(dtype).kind == "f":
        return rng.normal(0, 1, shape).astype(dtype)
    return rng.integers(1, 6, shape).astype(dtype)


@cache
def wild(*shape: int, dtype: str) -> Array:
    """Return integers of the whole range."""
    info = np.iinfo(dtype)
    return np.random.default_rng(17).integers(info.min, info.max, shape, dtype, endpoint=True)


def ints(*values: int) -> Array:
    """Return a list of int64."""
    return np.array(values, np.int64)


def expected_of(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """Return the results of onnxruntime, of ONNX's reference where that has no kernel."""
    try:
        return [*run_with_onnxruntime(model, feeds).values()]
    except REFUSED:
        return [np.asarray(each) for each in ReferenceEvaluator(model).run(None, dict(feeds))]


def agree(op_type: str, opset: int, feeds: Mapping[str, Array], folder: Path, **form: Any) -> None:
    """Check that a node has the results of the reference: integers exact, floats to their dtype.

    `form` is what `one_node_model` takes: constants, outputs, attributes.
    """
    model = one_node_model(op_type, feeds, opset, **form)
    with np.errstate(all="ignore"):
        expected = expected_of(model, feeds)
    found = run_with_atc_py(model, feeds, folder, operator_list=NEWEST, precision_mode=KEEP)
    for result, right in zip(found.values(), expected, strict=True):
        assert result.dtype == right.dtype
        assert result.shape == right.shape
        tolerance = {"float16": 2e-3, "float32": 2e-5, "float64": 1e-12}.get(str(right.dtype), 0.0)
        finite = right[np.isfinite(right)] if tolerance else right
        reach = float(np.abs(finite).max(initial=0.0)) if tolerance else 0.0
        np.testing.assert_allclose(result, right, rtol=0, atol=tolerance * reach)


def refused(
    op_type: str,
    opset: int,
    feeds: Mapping[str, Array],
    folder: Path,
    constants: Mapping[str, Array] | None = None,
    order: Sequence[str] | None = None,
    **attributes: Any,
) -> set[str]:
    """Return the rules of the list that refuse a node."""
    model = one_node_model(op_type, feeds, opset, constants=constants, order=order, **attributes)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    (check,) = atc_py.check_models(path, operator_list=NEWEST).models
    errors_ = [each for each in check.findings if each.standing is Standing.ERROR]
    assert all(each.source for each in errors_)
    return {each.rule.removeprefix(f"{op_type}/") for each in errors_}


def test_arithmetic_of_opset_14(tmp_path: Path) -> None:
    listed = {
        "Add": "int8 int16 int32 int64 uint8 float16 float32 float64",
        "Mul": "int8 int32 float16 float32",
        "Div": "int32 int64 float16 float32 float64",
        "Sub": "int32 float16 float32",
    }
    with Failures() as failures:
        for op_type, dtypes in listed.items():
            for dtype in dtypes.split():
                whole = op_type != "Div" and not dtype.startswith("f")
                a = wild(3, 1, 5, dtype=dtype) if whole else plain(3, 1, 5, dtype=dtype)
                b = plain(4, 1, dtype=dtype)
                a = np.negative(a) if dtype.startswith("int") else a
                with failures.of(op_type, dtype):
                    agree(op_type, 14, {"a": a, "b": b}, tmp_path)


def test_functions_of_opsets_14_to_18(tmp_path: Path) -> None:
    with Failures() as failures:
        for dtype in ("float16", "float32"):
            x, slope = floats(2, 3, 4, dtype=dtype), plain(3, 1, dtype=dtype)
            for op_type, opset, feeds, attributes in (
                ("Relu", 14, {"x": x}, {}),
                ("LeakyRelu", 16, {"x": x}, {"alpha": 0.3}),
                ("PRelu", 16, {"x": plain(2, 3, 4, dtype=dtype), "slope": slope}, {}),
                ("GreaterOrEqual", 16, {"x": x, "y": x[:, ::-1]}, {}),
                ("LessOrEqual", 16, {"x": x, "y": x[:, ::-1]}, {}),
                ("Identity", 14, {"x": x}, {}),
                ("Identity", 16, {"x": x}, {}),
                ("Where", 16, {"c": x > 0, "x": x, "y": slope}, {}),
                (
                    "Pow",
                    15,
                    {"x": np.abs(plain(2, 3, dtype=dtype)), "y": plain(3, dtype=dtype)},
                    {},
                ),
                ("Softmax", 17, {"x": plain(2, 3, 4, dtype=dtype)}, {"axis": 1}),
            ):
                with failures.of(op_type, opset, dtype):
                    agree(op_type, opset, feeds, tmp_path, **attributes)
        for dtype in ("int8", "int32"):
            with failures.of("Relu", dtype):
                agree("Relu", 14, {"x": wild(3, 5, dtype=dtype)}, tmp_path)
            with failures.of("Where", dtype):
                x, y = wild(3, 5, dtype=dtype), wild(5, dtype=dtype)
                agree("Where", 16, {"c": x > 0, "x": x, "y": y}, tmp_path)
        for dtype in ("int8", "uint8", "int32"):
            a, b = wild(3, 5, dtype=dtype), wild(1, 5, dtype=dtype)
            for op_type in ("GreaterOrEqual", "Greater"):
                with failures.of(op_type, dtype):
                    agree(op_type, 16, {"a": a, "b": b}, tmp_path)
        for flags in ({}, {"exclusive": 1}, {"reverse": 1}, {"exclusive": 1, "reverse": 1}):
            for dtype in ("float32", "int32"):
                with failures.of("CumSum", flags, dtype):
                    feeds = {"x": plain(2, 3, 4, dtype=dtype)}
                    axis = {"axis": np.array(-2)}
                    agree("CumSum", 14, feeds, tmp_path, constants=axis, **flags)


def test_reductions_of_opset_18_take_axes_as_an_input(tmp_path: Path) -> None:
    forms: list[tuple[Array | None, dict[str, Any]]] = [
        (ints(1), {}), (ints(-1, 0), {"keepdims": 0}), (ints(0, 1, 2), {}), (None, {}),
        (None, {"keepdims": 0}), (ints(), {}), (ints(), {"noop_with_empty_axes": 1}),
        (None, {"noop_with_empty_axes": 1, "keepdims": 0}),
    ]  # fmt: skip
    of_floats = ("ReduceL2", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare", "ReduceSum")
    restated = ("ReduceMean", "ReduceL1")
    with Failures() as failures:
        for op_type in (*of_floats, *restated):
            for axes, attributes in forms:
                noop = "noop_with_empty_axes" in attributes
                if op_type in restated and (axes is None or not axes.size):
                    continue
                constants = {} if axes is None else {"axes": axes}
                feeds = {"x": plain(2, 3, 4)}
                with failures.of(op_type, axes, attributes):
                    if noop and op_type in {"ReduceL2", "ReduceSumSquare"}:
                        found = refused(op_type, 18, feeds, tmp_path, constants, **attributes)
                        assert found == {"attr_one_of/noop_with_empty_axes"}
                        continue
                    agree(op_type, 18, feeds, tmp_path, constants=constants, **attributes)
        of_integers = {
            "ReduceMax": "int8 int32 int64", "ReduceMin": "int32 uint8",
            "ReduceProd": "int32 int64", "ReduceSumSquare": "int32 int64",
        }  # fmt: skip
        for op_type, dtypes in of_integers.items():
            for dtype in dtypes.split():
                with failures.of(op_type, dtype):
                    # onnxruntime's products and sums of integers saturate, those here wrap around.
                    make = wild if op_type in {"ReduceMax", "ReduceMin"} else plain
                    feeds, fixed = {"x": make(2, 3, 4, dtype=dtype)}, {"axes": ints(1, -1)}
                    agree(op_type, 18, feeds, tmp_path, constants=fixed, keepdims=0)


def test_shapes_of_opsets_14_to_18(tmp_path: Path) -> None:
    x, empty = plain(2, 3, 4, 5), np.zeros((2, 0, 3), np.float32)
    with Failures() as failures:
        for bounds in (
            {}, {"start": 1}, {"end": 2}, {"start": -1}, {"start": 1, "end": -1}, {"end": 9},
            {"start": -9, "end": 2}, {"start": 3, "end": 1},
        ):  # fmt: skip
            with failures.of("Shape", bounds):
                agree("Shape", 15, {"x": x}, tmp_path, **bounds)
        for shape, source, attributes in (
            (ints(0, -1, 5), x, {"allowzero": 0}),
            (ints(6, 20), x, {"allowzero": 1}),
            (ints(0, 4), empty, {"allowzero": 1}),
            (ints(3, 0, 2), empty, {"allowzero": 1}),
            (ints(0, 0, 3), empty, {}),
        ):
            with failures.of("Reshape", shape.tolist(), attributes):
                constants = {"shape": shape}
                agree("Reshape", 14, {"x": source}, tmp_path, constants=constants, **attributes)
        for axes in (ints(0, 2), ints(-1)):
            with failures.of("Unsqueeze", axes.tolist()):
                agree("Unsqueeze", 18, {"x": x}, tmp_path, constants={"axes": axes})
        for constants in ({"axes": ints(1, -1)}, {"axes": ints(1)}, {}):
            with failures.of("Squeeze", constants):
                agree("Squeeze", 18, {"x": plain(2, 1, 3, 1)}, tmp_path, constants=constants)
        for outputs, axis in ((3, 1), (2, -1), (3, 2), (1, 0)):
            with failures.of("Split", outputs, axis):
                given = {"outputs": outputs, "axis": axis, "num_outputs": outputs}
                agree("Split", 18, {"x": x}, tmp_path, **given)
        with failures.of("Split", "by lengths"):
            lengths = {"split": ints(1, 3)}
            agree("Split", 18, {"x": x}, tmp_path, constants=lengths, axis=2, outputs=2)
        for mode in ("constant", "edge", "reflect"):
            with failures.of("Pad", mode):
                pads = {"pads": ints(0, 1, 0, 2, 0, 0, 1, 1)}
                agree("Pad", 18, {"x": x}, tmp_path, constants=pads, mode=mode)
        with failures.of("Clip"):
            bounds_ = {"low": np.float32(-0.5), "high": np.float32(0.7)}
            agree("Clip", 16, {"x": floats(2, 9)}, tmp_path, constants=bounds_)


def test_normalization_of_opsets_14_and_15(tmp_path: Path) -> None:
    statistics = {
        "scale": plain(3), "bias": plain(3) + 1, "mean": plain(3) - 1, "var": np.abs(plain(3)) + 1,
    }  # fmt: skip
    for opset in (14, 15, 18):
        feeds = {"x": plain(2, 3, 4, 5)}
        agree("BatchNormalization", opset, feeds, tmp_path, constants=statistics, epsilon=1e-3)
        found = refused(
            "BatchNormalization", opset, feeds, tmp_path, constants=statistics, training_mode=1
        )
        assert found == {"attr_one_of/training_mode"}
    narrow = {"x": plain(2, 3, 4, 5, dtype="float16")}
    agree("BatchNormalization", 15, narrow, tmp_path, constants=statistics)


@pytest.mark.parametrize(("op_type", "gates"), [("GRU", 3), ("LSTM", 4)])
def test_recurrent_layers_of_opset_14_have_one_layout(
    op_type: str, gates: int, tmp_path: Path
) -> None:
    size, width = 4, 3
    constants = {
        "w": plain(1, gates * size, width, dtype="float16"),
        "r": plain(1, gates * size, size, dtype="float16"),
        "b": plain(1, 2 * gates * size, dtype="float16"),
    }
    feeds = {"x": plain(5, 2, width, dtype="float16")}
    given: dict[str, Any] = {"hidden_size": size}
    if op_type == "GRU":
        given["linear_before_reset"] = 1
    wide = {name: array.astype(np.float32) for name, array in {**feeds, **constants}.items()}
    model = one_node_model(op_type, {"x": wide["x"]}, 14, constants=wide_of(wide), **given)
    expected = run_with_onnxruntime(model, {"x": wide["x"]})["y0"]
    model = one_node_model(op_type, feeds, 14, constants=constants, **given)
    found = run_with_atc_py(model, feeds, tmp_path, operator_list=NEWEST, precision_mode=HALF)
    np.testing.assert_allclose(found["y0"].astype(np.float32), expected, rtol=0, atol=4e-3)
    found_rules = refused(op_type, 14, feeds, tmp_path, constants, None, **given, layout=1)
    assert "attr_one_of/layout" in found_rules


def wide_of(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return what is constant among the operands of a recurrent layer."""
    return {name: array for name, array in arrays.items() if name != "x"}


def test_what_opset_18_adds_and_the_list_lacks_is_refused(tmp_path: Path) -> None:
    x = plain(1, 2, 4, 4)
    constants = {"pads": ints(1, 1), "axes": ints(-1)}
    order = ["x", "pads", "", "axes"]
    assert refused("Pad", 18, {"x": x}, tmp_path, constants, order) == {"operand_absent/axes"}
    scales = {"scales": np.array([1, 1, 0.5, 0.5], np.float32)}
    for name, attributes in (
        ("attr_one_of/antialias", {"antialias": 1, "mode": "linear"}),
        ("attr_one_of/keep_aspect_ratio_policy", {"keep_aspect_ratio_policy": "not_larger"}),
    ):
        found = refused("Resize", 18, {"x": x}, tmp_path, scales, ["x", "", "scales"], **attributes)
        assert found == {name}
