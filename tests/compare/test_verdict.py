"""Verdicts on outputs: targets, agreement on classes, and outputs that could not be compared."""

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

import atc_py
from atc_py.compare.ranks import Ranks, holds_scores
from atc_py.compare.targets import missed_targets, reaches
from atc_py.report.layers.formats import FORMATS, render_layers
from atc_py.results.layer_comparison import LayerComparison
from tests.compare.broken_networks import BROKEN, built, node
from tests.compare.judged_networks import classifier
from tests.report.page_document import document_of


def compared(model: onnx.ModelProto, folder: Path, **options: Any) -> LayerComparison:
    path = folder / "model.onnx"
    onnx.save(model, path)
    return atc_py.compare_model(path, **options)


def selected_rows() -> tuple[onnx.ModelProto, np.ndarray]:
    """Build indices of what is above a half: float16 takes 0.5001 for 0.5, and finds fewer."""
    x = np.array([[0.5001, 0.7, 0.2, 0.5001]], np.float32)
    nodes = [node("Greater", "x half", "above"), node("NonZero", "above", "y")]
    model = built(nodes, {"x": x}, {"half": np.array([0.5], np.float32)})
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    return model, x


@pytest.mark.parametrize(("snr", "passed"), [(40.0, True), (1000.0, False)])
def test_verdict_is_in_every_format(snr: float, passed: bool, tmp_path: Path) -> None:
    done = compared(classifier(10), tmp_path, targets={"snr": snr})
    assert done.passed is passed
    texts = {name: render_layers(name, done) for name in FORMATS}
    line = f"target snr >= {snr:g}: " + ("met by every output" if passed else "missed by y")
    assert line in texts["text"]
    assert line in texts["html"]
    found = json.loads(texts["json"])
    assert found["verdict"]["passed"] is passed
    assert found["verdict"]["targets"] == {"snr": snr}
    assert [each["output"] for each in found["verdict"]["misses"]] == ([] if passed else ["y"])
    (row,) = (row for row in csv.DictReader(texts["csv"].splitlines()) if row["Output"] == "y")
    assert row["Target"] == ("passes" if passed else "misses: snr below 1000")


def test_without_targets_there_is_no_verdict(tmp_path: Path) -> None:
    done = compared(classifier(10), tmp_path)
    assert done.passed is None
    assert 0 < done.device_seconds + done.reference_seconds < done.seconds < 600
    assert json.loads(render_layers("json", done))["verdict"]["passed"] is None
    assert "target" not in render_layers("text", done).replace(str(tmp_path), "")


@pytest.mark.parametrize("softmax", [False, True])
def test_agreement_on_classes_is_in_every_format(softmax: bool, tmp_path: Path) -> None:
    done = compared(classifier(10, softmax=softmax), tmp_path)
    ranking = done.rankings["y"]
    assert (ranking.rows, ranking.top1, ranking.top5) == (16, 1.0, 1.0)
    texts = {name: render_layers(name, done) for name in FORMATS}
    for name in ("text", "html"):
        assert "top-1" in texts[name]
        assert "top-5" in texts[name]
        assert "100.00%" in texts[name]
    found = json.loads(texts["json"])["outputs"]["y"]
    assert found["classes"] == {"rows": 16, "top1": 1.0, "top5": 1.0}
    assert found["cosine"] > 0.999
    (row,) = (row for row in csv.DictReader(texts["csv"].splitlines()) if row["Output"] == "y")
    assert (row["Top1Agreement"], row["Top5Agreement"]) == ("1", "1")


def test_classes_that_float16_confuses_are_counted(tmp_path: Path) -> None:
    """Check scores of 2000 and 2000.3, one number in float16: the first is then the best."""
    x = np.array([[1], [2]], np.float32)
    weights = np.array([[2000, 2000.3, 1, 2, 3, 4, 5]], np.float32)
    model = built([node("MatMul", "x w", "y")], {"x": x}, {"w": weights})
    done = compared(model, tmp_path, inputs={"x": x})
    ranking = done.rankings["y"]
    assert (ranking.rows, ranking.top1, ranking.top5) == (2, 0.0, 1.0)


def test_ranks_follow_the_definition() -> None:
    ranks = Ranks()
    wanted = np.array([[0, 1, 2, 3, 4, 5, 6.0]] * 5)
    found = np.array(
        [
            [0, 1, 2, 3, 4, 5, 6],  # The same.
            [0, 1, 2, 3, 4, 9, 6],  # Second.
            [9, 9, 9, 9, 9, 0, 8],  # Sixth.
            [9, 9, 9, 9, 0, 0, 8],  # Fifth.
            [np.nan, 1, 2, 3, 4, 5, 6],
        ]
    )
    ranks.add(found, wanted)
    ranks.add(np.zeros((1, 7)), np.full((1, 7), np.nan))
    ranking = ranks.ranking()
    assert ranking is not None
    assert (ranking.rows, ranking.top1, ranking.top5) == (5, 0.2, 0.6)
    few = Ranks()
    few.add(np.array([[1.0, 1.0]]), np.array([[2.0, 2.0]]))
    assert (few.ranking().top1, few.ranking().top5) == (1.0, None)  # type: ignore[union-attr]
    assert Ranks().ranking() is None


@pytest.mark.parametrize(
    ("shape", "inputs", "holds"),
    [
        ((1, 1000), [(1, 3, 224, 224)], True),
        ((4, 2), [(4, 128), (4, 128)], True),
        ((8400, 4), [(1, 3, 640, 640)], False),
        ((1, 1), [(1, 3, 8, 8)], False),
        ((1, 10, 4), [(1, 3, 8, 8)], False),
        ((10,), [(10,)], False),
        ((10, 3), [(10,)], False),
    ],
)
def test_scores_of_classes_are_recognized_by_their_shape(
    shape: tuple[int, ...], inputs: list[tuple[int, ...]], holds: bool
) -> None:
    assert holds_scores(np.zeros(shape, np.float32), inputs) is holds


def test_output_that_cannot_be_compared_misses_every_target(tmp_path: Path) -> None:
    model, x = selected_rows()
    done = compared(model, tmp_path, inputs={"x": x}, targets={"cosine": 0.5})
    assert done.uncompared == {"y": "shape [2, 1] here, [2, 3] in the original"}
    assert done.passed is False
    assert not reaches(done, {})
    (finding,) = missed_targets(done, {"cosine": 0.5})
    assert finding.message.startswith("y was not compared: shape [2, 1] here")
    texts = {name: render_layers(name, done) for name in FORMATS}
    assert "not compared: shape [2, 1] here" in texts["text"]
    (output,) = document_of(texts["html"])["models"][0]["precision"]["outputs"]
    assert output["reason"][0].startswith("shape [2, 1] here")
    for name in ("text", "html"):
        assert "missed by y" in texts[name]
    found = json.loads(texts["json"])
    assert found["outputs"]["y"]["compared"] is False
    assert found["verdict"]["misses"][0]["figure"] is None
    (row,) = (row for row in csv.DictReader(texts["csv"].splitlines()) if row["Output"] == "y")
    assert row["Target"] == "misses: not compared"
    assert row["CompareFailReason"].startswith("shape [2, 1]")


def test_output_of_a_device_that_stopped_is_not_compared(tmp_path: Path) -> None:
    broken = BROKEN["large_indices"]()
    done = compared(broken.model, tmp_path, inputs=broken.feeds, targets={"cosine": 0.5})
    assert done.uncompared == {"y": "the device stopped before it"}
    assert done.passed is False
    (finding,) = missed_targets(done, {"cosine": 0.5})
    assert finding.code.id == "ATC7002"


def test_model_that_returns_its_input_misses_nothing(tmp_path: Path) -> None:
    x = np.ones((2, 4), np.float32)
    done = compared(built([node("Identity", "x", "y")], {"x": x}, {}), tmp_path, targets={"snr": 9})
    assert done.passed
    assert not done.uncompared


def test_failing_layers_without_failing_outputs_show_the_outputs_figure(tmp_path: Path) -> None:
    broken = BROKEN["billion_mask"]()
    text = render_layers("text", compared(broken.model, tmp_path, inputs=broken.feeds))
    assert "layers fail, but their errors hardly reach the outputs: the worst output, y, " in text
    assert "does not matter" not in text


@pytest.mark.parametrize("mode", ["force_fp16", "must_keep_origin_dtype"])
def test_output_without_finite_numbers_has_no_figures_and_no_best_class(
    mode: str, tmp_path: Path
) -> None:
    nodes = [node("Mul", "x zero", "a"), node("Abs", "a", "b"), node("Reciprocal", "b", "y")]
    model = built(nodes, {"x": np.ones((2, 8), np.float32)}, {"zero": np.zeros(1, np.float32)})
    done = compared(model, tmp_path, precision_mode=mode)
    layer = done.layers[done.outputs["y"]]
    assert (layer.error, layer.faults, layer.figures.differing) == (0.0, (), 0.0)
    assert all(map(math.isnan, layer.judged))
    assert "y" not in done.rankings
    assert all("NaN" in render_layers(name, done) for name in ("text", "csv"))
