"""Errors of the original's own: found by a float64 run, taken out, and reported in every format."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import atc_py
from atc_py.compare.own_errors import ExactValues
from atc_py.compare.reference import open_reference
from atc_py.compare.reference_run import ReferenceRun
from atc_py.onnx_graph.running.float64 import run_in_float64
from atc_py.onnx_graph.running.piece import Piece
from atc_py.report.layers.formats import FORMATS, render_layers
from atc_py.results.layer import Layer
from atc_py.results.layer_comparison import LayerComparison
from tests.compare.broken_networks import BROKEN, built, node
from tests.compare.judged_networks import detector, image
from tests.onnx_graph.running.pieces import piece

KEEP = "must_keep_origin_dtype"
EXACT_DB = 110.0
"""Less than what float32 arithmetic leaves of these networks."""


def compared(model: onnx.ModelProto, folder: Path, **options: Any) -> LayerComparison:
    path = folder / "model.onnx"
    onnx.save(model, path)
    return atc_py.compare_model(path, **{"inputs": {"x": image()}, **options})


def layer_of(done: LayerComparison, source: str) -> Layer:
    return next(layer for layer in done.layers if layer.source == source)


@pytest.mark.parametrize("bias", [-9.0, -14.0, -20.0])
def test_detector_in_float32_is_not_blamed_for_its_original(bias: float, tmp_path: Path) -> None:
    done = compared(detector(bias), tmp_path, precision_mode=KEEP)
    (own,) = done.own_errors
    assert (own.source, own.source_op, own.dtype) == ("n_p", "Sigmoid", "float32")
    assert own.original.max_absolute < 1e-6
    assert own.seen.snr < 80
    assert own.original.rmse == pytest.approx(own.seen.rmse, rel=1e-3)
    assert done.first_failing is None
    assert all(layer.origin.value == "none" for layer in done.layers)
    assert done.layers[done.outputs["y"]].figures.snr > EXACT_DB
    assert layer_of(done, "n_p").figures.snr > EXACT_DB
    assert layer_of(done, "n_p").own is own


def test_every_format_tells_of_the_original_s_error(tmp_path: Path) -> None:
    done = compared(detector(), tmp_path, precision_mode=KEEP, targets={"snr": 60})
    texts = {name: render_layers(name, done) for name in FORMATS}
    for name in ("text", "html"):
        text = texts[name].replace("&#39;", "'")
        assert "the original's own float32 error shows at n_p (Sigmoid)" in text
        assert "n_p (Sigmoid), Sigmoid in float32" not in text
        assert ">introduced here" not in text
        assert "  introduced here" not in text
    found = json.loads(texts["json"])
    assert [each["source"] for each in found["own_errors"]] == ["n_p"]
    assert found["own_errors"][0]["original"]["snr"] < 80
    assert [each["source"] for each in found["layers"] if each["original_corrected"]] == ["n_p"]
    (row,) = (
        row for row in csv.DictReader(texts["csv"].splitlines()) if row["GroundTruth"] == "n_p"
    )
    assert float(row["OriginalOwnSNR"]) < 80
    assert float(row["SNR"]) > EXACT_DB
    assert row["Error"] == "none; the original's own error was taken out"


def test_error_within_a_fused_operator_is_found_too(tmp_path: Path) -> None:
    """Check a Sigmoid without a layer: the device has one Swish for Sigmoid and Mul."""
    done = compared(detector(-16.0, swish=True), tmp_path, precision_mode=KEEP)
    assert "Swish" in {layer.op for layer in done.layers}
    assert [own.source for own in done.own_errors] == ["n_scores"]
    assert done.first_failing is None
    assert done.layers[done.outputs["y"]].figures.snr > EXACT_DB


def test_error_that_another_hides_is_found_in_the_next_round(tmp_path: Path) -> None:
    """Check a second Sigmoid that reads the first one's results, shifted to where it is inexact."""
    nodes = [
        node("Sigmoid", "x", "p"),
        node("Mul", "p large", "a"),
        node("Sub", "a far", "b"),
        node("Sigmoid", "b", "y"),
    ]
    constants = {"large": np.array([1e7], np.float32), "far": np.array([18], np.float32)}
    x = np.linspace(-17, -15, 4096, dtype=np.float32).reshape(64, 64)
    model = built(nodes, {"x": x}, constants)
    done = compared(model, tmp_path, inputs={"x": x}, precision_mode=KEEP)
    assert {own.source for own in done.own_errors} == {"n_p", "n_y"}
    assert done.layers[done.outputs["y"]].figures.snr > 90


def test_several_samples_and_a_search_take_the_error_out_as_well(tmp_path: Path) -> None:
    done = compared(
        detector(), tmp_path, inputs={}, samples=2, precision_mode=KEEP, suggest={"snr": 60.0}
    )
    assert [own.source for own in done.own_errors] == ["n_p"]
    assert done.own_errors[0].original.elements == 2 * 6 * 256
    assert done.suggestion is not None
    assert not done.suggestion.needed


def test_target_is_met_where_only_the_original_was_inexact(tmp_path: Path) -> None:
    done = compared(detector(-9.0), tmp_path, precision_mode=KEEP, targets={"snr": 100})
    assert done.passed
    assert done.own_errors


@pytest.mark.parametrize("name", BROKEN)
def test_errors_of_float16_are_not_put_down_to_the_original(name: str, tmp_path: Path) -> None:
    broken = BROKEN[name]()
    done = compared(broken.model, tmp_path, inputs=broken.feeds)
    assert not done.own_errors


def test_device_s_own_underflow_stays_its_own(tmp_path: Path) -> None:
    """Check products of two tiny scores, beyond float16 whatever the original makes of them."""
    done = compared(detector(), tmp_path)
    assert done.first_failing is not None
    assert done.first_failing.source == "n_score"
    assert "underflow" in "; ".join(done.first_failing.faults)
    assert done.first_failing.origin.value == "born"


def test_onnx_s_evaluator_as_original_has_no_such_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    done = compared(detector(), tmp_path, precision_mode=KEEP)
    assert done.engines == ("onnx",)
    assert not done.own_errors
    assert done.layers[done.outputs["y"]].figures.snr > EXACT_DB


def test_part_of_an_error_that_is_moved_is_passed_on(tmp_path: Path) -> None:
    """Check a Slice that takes the part of the values in which the error is."""
    x = np.full((2, 8), 1.0, np.float32)
    x[:, :1] = 1 + 2.0**-12
    nodes = [
        node("Sub", "x one", "d"),
        node("Add", "d large", "s"),
        node("Slice", "s zero first first", "y"),
    ]
    constants: dict[str, np.ndarray] = {
        "one": np.array([1], np.float32),
        "large": np.array([0.001] + [9.0] * 7, np.float32),
        "zero": np.array([0], np.int64),
        "first": np.array([1], np.int64),
    }
    done = compared(built(nodes, {"x": x}, constants), tmp_path, inputs={"x": x})
    part = done.layers[done.outputs["y"]]
    assert part.error > 2 * layer_of(done, "n_s").error > 0
    assert part.origin.value == "passed on"


def exact(op: str, reads: str = "x", **attributes: Any) -> Piece:
    """Make a node that makes `y`."""
    return piece([node(op, reads, "y", **attributes)])


@pytest.mark.parametrize(
    "op", ["Sigmoid", "Tanh", "Exp", "Softmax", "LogSoftmax", "Erf", "Softplus"]
)
def test_float64_run_is_that_of_the_formula(op: str) -> None:
    x = np.linspace(-40, 10, 64, dtype=np.float32)
    wide = x.astype(np.float64)
    softmax = np.exp(wide - wide.max()) / np.exp(wide - wide.max()).sum()
    expected = {
        "Sigmoid": 1 / (1 + np.exp(-wide)),
        "Tanh": np.tanh(wide),
        "Exp": np.exp(wide),
        "Softmax": softmax,
        "LogSoftmax": np.log(softmax),
        "Softplus": np.logaddexp(0, wide),
    }
    if op == "Erf":
        from math import erf

        expected["Erf"] = np.array([erf(value) for value in wide])
    found = run_in_float64(exact(op), "y", {"x": x}, expected[op].astype(np.float32))
    assert found is not None
    np.testing.assert_allclose(found, expected[op], rtol=1e-7, atol=1e-300)


@pytest.mark.parametrize(
    ("nodes", "found"),
    [
        (exact("Sigmoid"), np.full(4, 0.7, np.float32)),  # Another reading of it.
        (exact("Sigmoid"), np.full(4, 0.5, np.float64)),  # It is float64 already.
        (exact("Cast", to=TensorProto.FLOAT16), np.zeros(4, np.float16)),
        (exact("RandomNormalLike"), np.zeros(4, np.float32)),
        (exact("Novelty"), np.zeros(4, np.float32)),
    ],
)
def test_what_float64_cannot_judge_has_no_such_run(nodes: Piece, found: np.ndarray) -> None:
    assert run_in_float64(nodes, "y", {"x": np.zeros(4, np.float32)}, found) is None


def test_long_work_has_no_float64_run() -> None:
    large = np.zeros((1, 1, 2048, 4096), np.float32)
    assert run_in_float64(exact("Sigmoid"), "y", {"x": large}, large) is None
    pooled = np.zeros((1, 1, 256, 256), np.float32)
    pool = exact("MaxPool", kernel_shape=[1, 1])
    assert run_in_float64(pool, "y", {"x": pooled}, pooled) is None
    product = exact("MatMul", "x w")
    feeds = {"x": np.zeros((1 << 17, 8), np.float32), "w": np.zeros((8, 8), np.float32)}
    assert run_in_float64(product, "y", feeds, feeds["x"]) is None


def test_amended_value_is_what_all_readers_get(tmp_path: Path) -> None:
    x = np.linspace(-20, -10, 64, dtype=np.float32)
    nodes = [node("Sigmoid", "x", "p"), node("Neg", "p", "n"), node("Add", "n p", "y")]
    onnx.save(built(nodes, {"x": x}, {}), tmp_path / "model.onnx")
    plain = open_reference(tmp_path / "model.onnx")
    nodes_of_p = plain.makers_of("p", ())
    assert nodes_of_p is not None
    run = ReferenceRun(plain.with_amendment(ExactValues([nodes_of_p])), {"x": x})
    run.expect({"p": 1, "n": 1, "y": 1})
    p, n = run.value("p"), run.value("n")
    assert p is not None
    assert n is not None
    np.testing.assert_array_equal(n, -p)
    np.testing.assert_array_equal(p, (1 / (1 + np.exp(-x.astype(np.float64)))).astype(np.float32))
    np.testing.assert_array_equal(run.value("y"), np.zeros(64))


def test_constants_of_the_group_are_widened(tmp_path: Path) -> None:
    x = np.full(8, 0.1, np.float32)
    tenth = numpy_helper.from_array(np.array([0.1], np.float32))
    nodes = [
        helper.make_node("Constant", [], ["t"], name="n_t", value=tenth),
        node("Mul", "x t", "a"),
        node("Add", "a w", "y"),
    ]
    onnx.save(built(nodes, {"x": x}, {"w": np.ones(8, np.float32)}), tmp_path / "model.onnx")
    group = open_reference(tmp_path / "model.onnx").makers_of("y", {"a", "t"})
    assert group is not None
    assert group.reads == ("x",)
    found = run_in_float64(group, "y", {"x": x}, np.full(8, 1.01, np.float32))
    assert found is not None
    np.testing.assert_array_equal(found, 1 + np.float64(x) * np.float64(np.float32(0.1)))
