"""`atc-py compare`: formats, targets, exit statuses, and data that do not fit."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from atc_py.cli import console
from atc_py.cli.compare import _FORMATS, compare
from atc_py.compare.model import TRIALS
from atc_py.report.layers.formats import COLUMNS, FORMATS
from tests.cli.conftest import Result
from tests.compare.broken_networks import BROKEN, built, node
from tests.networks.test_deploy_model import Network
from tests.report.page_document import document_of

Atc = Callable[..., Result]


@pytest.fixture
def overflow(tmp_path: Path) -> tuple[str, ...]:
    """Return arguments for a model whose sum of squares overflows."""
    broken = BROKEN["sum_of_squares"]()
    onnx.save(broken.model, tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", broken.feeds["x"])
    return ("compare", "model.onnx", "--input", "x=x.npy")


def test_formats_are_those_of_the_report() -> None:
    assert _FORMATS == FORMATS


def test_text_names_the_first_failing_layer_first(atc: Atc, overflow: tuple[str, ...]) -> None:
    done = atc(*overflow)
    assert done.status == 0
    assert done.out.startswith(
        "model.onnx: first failing layer: n_sum (ReduceSum), ReduceSumD in float16"
    )
    assert "overflow: 100.000% of the values, up to 640000, beyond 65504" in done.out
    assert "its error: introduced here" in done.out
    assert "peak memory for tensors of the original" in done.out


def test_no_more_is_held_than_there_is(atc: Atc, model: Path) -> None:
    held = atc("compare", model, "--json").json["bytes"]
    assert 0 < held["held"] <= held["all"]


def test_json_has_every_layer(atc: Atc, overflow: tuple[str, ...]) -> None:
    done = atc(*overflow, "--format", "json").json
    layers = {layer["source"]: layer for layer in done["layers"]}
    assert {"n_squares", "n_sum", "n_norm", "n_y"} <= layers.keys()
    assert layers["n_sum"]["inf"] == 1.0
    assert layers["n_sum"]["cosine"] is None
    assert layers["n_norm"]["birth"] == "passed on"
    assert layers["n_norm"]["root"] == layers["n_sum"]["node"] == done["first_bad"]


def test_csv_begins_with_the_columns_of_msit(atc: Atc, overflow: tuple[str, ...]) -> None:
    rows = list(csv.DictReader(atc(*overflow, "--format", "csv").out.splitlines()))
    assert COLUMNS[:3] == ("Index", "OpType", "NPUDump")
    (row,) = (row for row in rows if row["GroundTruth"] == "n_sum")
    assert (row["OpType"], row["OverFlow"], row["CosineSimilarity"]) == ("ReduceSumD", "YES", "NaN")
    assert row["Shape"] == "2,1"


def test_html_is_one_file_and_escapes_names(atc: Atc, tmp_path: Path) -> None:
    x = np.ones((2, 3), np.float32)
    model = built([node("Sin", "x", "a"), node("Cos", "a", "y")], {"x": x}, {})
    model.graph.node[0].name = "<script>alert(1)</script>"
    onnx.save(model, tmp_path / "model.onnx")
    done = atc("compare", "model.onnx", "--format", "html", "-o", "page.html")
    assert (done.status, done.out.splitlines()[-1]) == (0, "report: page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    (model_of_page,) = document_of(page)["models"]
    assert model_of_page["source"]["nodes"][0][1] == "<script>alert(1)</script>"
    assert len(model_of_page["precision"]["layers"]) >= 2
    assert not re.search(r"<\w+ [^>]*(src|href)\s*=\s*.(?!#)|@import|url\(", page)


def test_several_samples_are_summed_up(atc: Atc, tmp_path: Path) -> None:
    x = np.ones((2, 3), np.float32)
    onnx.save(built([node("Sin", "x", "y")], {"x": x}, {}), tmp_path / "model.onnx")
    done = atc("compare", "model.onnx", "--samples", 3, "--format", "json").json
    assert {layer["elements"] for layer in done["layers"]} == {18}
    again = atc("compare", "model.onnx", "--samples", 3, "--format", "json").json
    other = atc("compare", "model.onnx", "--samples", 3, "--seed", 7, "--format", "json").json
    assert again["layers"] == done["layers"] != other["layers"]


@pytest.mark.parametrize(
    ("target", "status"), [("cosine=0.99", 0), ("snr=40", 0), ("snr=400", 4), ("cosine=-1", 0)]
)
def test_target_sets_the_exit_status(atc: Atc, tmp_path: Path, target: str, status: int) -> None:
    x = np.ones((2, 3), np.float32)
    onnx.save(built([node("Sin", "x", "y")], {"x": x}, {}), tmp_path / "model.onnx")
    done = atc("compare", "model.onnx", "--fail-under", target)
    assert done.status == status
    assert done.err.startswith("error[ATC7006 ") == (status == 4)


def test_figure_that_misses_by_little_is_shown_in_full(atc: Atc, model: Path) -> None:
    done = atc("compare", model, "--fail-under", "cosine=0.9999999999999")
    assert done.status == 4
    found = re.search(r"cosine of y is (0\.\d+), but must be at least 0\.9999999999999\b", done.err)
    assert found is not None
    assert float(found[1]) < 0.9999999999999


def test_input_that_is_fed_as_float16_is_the_original_s_float32(atc: Atc, tmp_path: Path) -> None:
    x = np.ones((2, 3), np.float32)
    onnx.save(built([node("Sin", "x", "y")], {"x": x}, {}), tmp_path / "model.onnx")
    done = atc("compare", "model.onnx", "--input-fp16-nodes", "x", "--format", "json").json
    layers = {layer["source"]: layer for layer in done["layers"]}
    assert layers["n_y"]["distance"] < 1e-3


def test_nodes_kept_in_float32_have_no_overflow(atc: Atc, overflow: tuple[str, ...]) -> None:
    Path("keep.txt").write_text("n_sum\nn_norm\n", encoding="utf-8")
    done = atc(*overflow, "--keep-dtype", "keep.txt")
    assert done.out.startswith("model.onnx: no layer fails"), done.out


def test_lost_values_miss_every_target(atc: Atc, tmp_path: Path) -> None:
    x = np.array([[1, 1, 1, 300]], np.float32)
    onnx.save(built([node("Mul", "x x", "y")], {"x": x}, {}), tmp_path / "model.onnx")
    np.save("x.npy", x)
    done = atc("compare", "model.onnx", "--input", "x.npy", "--fail-under", "cosine=0.5")
    assert done.status == 4
    assert "25.000% of the values NaN or infinite" in done.err


def test_device_that_stops_fails_with_the_layers_shown(atc: Atc, tmp_path: Path) -> None:
    broken = BROKEN["large_indices"]()
    onnx.save(broken.model, tmp_path / "model.onnx")
    np.save("ids.npy", broken.feeds["ids"])
    done = atc("compare", "model.onnx", "--input", "ids.npy")
    assert done.status == 4
    assert "first failing layer: n_floats (Cast)" in done.out
    assert done.err.startswith("error[ATC7002 ")


def test_suggestion_is_written_and_convert_takes_it(atc: Atc, overflow: tuple[str, ...]) -> None:
    done = atc(*overflow, "--suggest", "keep.txt")
    assert done.status == 0
    assert "suggestion: 2 nodes in float32 reach the target (no output fails)" in done.out
    assert done.out.splitlines()[-1] == "written: keep.txt; convert with --keep-dtype keep.txt"
    assert Path("keep.txt").read_text(encoding="utf-8") == "n_sum\nn_norm\n"
    assert atc("convert", "model.onnx", "--keep-dtype", "keep.txt").status == 0
    again = atc(*overflow, "--keep-dtype", "keep.txt", "--fail-under", "cosine=0.99")
    assert again.status == 0


def test_suggestion_is_in_the_json_and_the_page(atc: Atc, overflow: tuple[str, ...]) -> None:
    found = atc(*overflow, "--suggest", "keep.txt", "--format", "json").json["suggestion"]
    assert [each["line"] for each in found["keep"]] == ["n_sum", "n_norm"]
    assert found["before"]["outputs"]["y"]["cosine"] == 0.0
    assert found["after"]["outputs"]["y"]["cosine"] > 0.9999
    done = atc(*overflow, "--suggest", "keep.txt", "--format", "html", "-o", "page.html")
    assert done.out.splitlines()[-1].startswith("written: keep.txt")
    assert "2 nodes in float32 reach" in Path("page.html").read_text(encoding="utf-8")


def test_model_that_misses_fails_and_names_the_suggestion(
    atc: Atc, overflow: tuple[str, ...]
) -> None:
    done = atc(*overflow, "--fail-under", "cosine=0.99")
    assert done.status == 4
    assert "try --suggest FILE" in done.err
    done = atc(*overflow, "--fail-under", "cosine=0.99", "--suggest", "keep.txt")
    assert done.status == 4
    assert "keep the nodes of the suggestion in float32" in done.err


def test_target_that_nothing_reaches_fails_and_writes_no_file(atc: Atc, tmp_path: Path) -> None:
    broken = BROKEN["large_logits"]()
    onnx.save(broken.model, tmp_path / "model.onnx")
    np.save("x.npy", broken.feeds["x"])
    arguments = ("compare", "model.onnx", "--input", "x.npy", "--fail-under", "snr=200")
    done = atc(*arguments, "--suggest", "keep.txt")
    assert done.status == 4
    assert "cannot be reached by keeping nodes in float32" in done.out
    assert "(snr of every output at least 200) cannot be reached by keeping nodes" in done.err
    assert "1 trial compilation of at most 60" in done.out
    assert done.out.splitlines()[-1] == "no file written"
    assert not Path("keep.txt").exists()
    Path("keep.txt").write_text("n_sum\n", encoding="utf-8")
    done = atc(*arguments, "--suggest", "keep.txt")
    assert done.out.splitlines()[-1] == "no file written; the existing keep.txt is unchanged"
    assert Path("keep.txt").read_text(encoding="utf-8") == "n_sum\n"


def test_long_search_prints_lines_of_progress_where_no_terminal_is(
    atc: Atc, overflow: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "PACE", 0.0)
    done = atc(*overflow, "--suggest", "keep.txt")
    assert "suggest: trial 1 of at most 60, 4 of 4 kept; no set reaches the target yet" in done.err
    assert "; best so far 2 kept" in done.err
    assert "trial 1" not in done.out
    assert atc(*overflow).err == ""


def test_short_search_prints_no_line_of_progress(atc: Atc, overflow: tuple[str, ...]) -> None:
    assert atc(*overflow, "--suggest", "keep.txt").err == ""


@pytest.mark.parametrize("form", ["text", "json", "csv", "html"])
@pytest.mark.parametrize(("target", "status"), [("snr=40", 0), ("snr=400", 4)])
def test_verdict_is_in_every_format(
    atc: Atc, tmp_path: Path, form: str, target: str, status: int
) -> None:
    x = np.ones((2, 3), np.float32)
    onnx.save(built([node("Sin", "x", "y")], {"x": x}, {}), tmp_path / "model.onnx")
    done = atc("compare", "model.onnx", "--fail-under", target, "--format", form)
    assert done.status == status
    words = {
        "text": ("met by every output", "missed by y"),
        "html": ("met by every output", "missed by y"),
        "json": ('"passed": true', '"passed": false'),
        "csv": ("passes", "misses: snr below 400"),
    }
    assert words[form][status == 4] in done.out


def test_deploy_form_is_compared(atc: Atc, tmp_path: Path) -> None:
    network = Network(0)
    onnx.save(network.deploy(), tmp_path / "model.onnx")
    done = atc("compare", "model.onnx", "--fail-under", "cosine=0.99")
    assert done.status == 0, done.err
    assert "by onnxruntime in its QDQ form" in done.out


def test_nothing_to_keep_writes_no_file(atc: Atc, tmp_path: Path) -> None:
    x = np.ones((2, 3), np.float32)
    onnx.save(built([node("Sin", "x", "y")], {"x": x}, {}), tmp_path / "model.onnx")
    done = atc("compare", "model.onnx", "--suggest", "keep.txt")
    assert done.status == 0
    assert "nothing to keep" in done.out
    assert done.out.splitlines()[-1] == "no file written"
    assert not Path("keep.txt").exists()


def test_most_trials_are_those_of_the_interface() -> None:
    (option,) = (each for each in compare.params if each.name == "suggest_trials")
    assert option.default == TRIALS


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("--fail-under", "grace=1"), "ATC1001", "cosine, snr"),
        (("--fail-under", "cosine"), "ATC1001", "finite number"),
        (("--fail-under", "cosine=nan"), "ATC1001", "finite number"),
        (("--fail-under", "cosine=1.5"), "ATC1001", "cosine must be a finite number from -1 to 1"),
        (("--fail-under", "cosine=-1.001"), "ATC1001", "write --fail-under cosine=0.99"),
        (("--fail-under", "snr=inf"), "ATC1001", "write --fail-under snr=40"),
        (("--fail-under", "snr=9", "--fail-under", "snr=8"), "ATC1001", "gives snr twice"),
        (("--samples", "0"), "ATC1001", "0"),
        (("--samples", "2"), "ATC1001", "would be identical"),
        (("--input", "z=x.npy"), "ATC1007", "names are x"),
        (("--output", "model.onnx"), "ATC1001", "would be lost"),
        (("--format", "xml"), "ATC1001", "xml"),
        (("--suggest", "model.onnx"), "ATC1001", "would be lost"),
        (("--suggest", "k.txt", "-o", "k.txt"), "ATC1001", "the same file"),
        (("--suggest", "k.txt", "--suggest-trials", "3"), "ATC1001", "3"),
    ],
)
def test_calls_that_make_no_sense(
    atc: Atc, overflow: tuple[str, ...], arguments: tuple[str, ...], code: str, text: str
) -> None:
    done = atc(*overflow, *arguments)
    assert done.status == 2
    assert done.err.startswith(f"error[{code} "), done.err
    assert text in done.err


def test_missing_model_is_a_coded_error(atc: Atc) -> None:
    done = atc("compare", "gone.onnx")
    assert (done.status, "ATC2001" in done.err) == (3, True)


def test_json_is_strict(atc: Atc, overflow: tuple[str, ...]) -> None:
    def refuse(text: str) -> None:
        pytest.fail(text)

    json.loads(atc(*overflow, "--format", "json").out, parse_constant=refuse)
