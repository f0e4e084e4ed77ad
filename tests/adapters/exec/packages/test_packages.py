"""Programs of other packages print the same under `exec`; `make exec-programs` runs them.

ATC_PY_PROGRAMS names a Python that has the packages.
"""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.exec.conftest import command, environment

HERE = Path(__file__).parent
PYTHON = os.environ.get("ATC_PY_PROGRAMS", "")

pytestmark = pytest.mark.skipif(not PYTHON, reason="`make exec-programs` runs them")

FORCE = ("--precision-mode", "force_fp16")
FIXED = (*FORCE, "--fix")


@cache
def plain(program: str) -> str:
    """Return what a program prints without `exec`."""
    done = subprocess.run(
        [PYTHON, HERE / program],
        capture_output=True,
        text=True,
        check=True,
        env=environment(),
    )
    return done.stdout


def under(program: str, options: tuple[str, ...], folder: Path) -> tuple[str, dict[str, Any], str]:
    """Return what a program prints under `exec`, the models of the report by file, and the tables."""
    report = folder / "report.json"
    done = subprocess.run(
        command(*options, "--report", report, "--", PYTHON, HERE / program),
        capture_output=True,
        text=True,
        check=False,
        env=environment(TMPDIR=str(folder)),
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(report.read_text(encoding="utf-8"))["models"]
    return done.stdout, {Path(each["file"]).name: each for each in found}, done.stderr


@pytest.mark.parametrize("options", [FORCE, FIXED], ids=["listed", "fixed"])
def test_text_is_read_alike(tmp_path: Path, options: tuple[str, ...]) -> None:
    printed, models, _ = under("read_text.py", options, tmp_path)
    assert printed == plain("read_text.py")
    assert {
        name: (each["where"], each["onnxruntime"]["runs"]) for name, each in models.items()
    } == {
        "ch_PP-OCRv4_det_infer.onnx": ("npu", 0),
        "ch_PP-OCRv4_rec_infer.onnx": ("npu", 0),
        "ch_ppocr_mobile_v2.0_cls_infer.onnx": ("npu", 0),
    }
    assert models["ch_PP-OCRv4_rec_infer.onnx"]["npu"]["runs"] >= 8


@pytest.mark.parametrize(
    ("options", "where"),
    [
        (FORCE, "onnxruntime"),
        (FIXED, "both"),
        ((*FIXED, "--bind", "sr=16000"), "both"),
    ],
    ids=["listed", "fixed", "bound"],
)
def test_speech_is_found_alike(tmp_path: Path, options: tuple[str, ...], where: str) -> None:
    printed, models, said = under("find_speech.py", options, tmp_path)
    assert printed == plain("find_speech.py")
    assert len(json.loads(printed)["16 kHz"]) == 3
    model = models["silero_vad.onnx"]
    assert model["where"] == where
    assert model["fallbacks"]
    assert "In onnxruntime because" in said


@pytest.mark.parametrize(
    ("options", "where"), [(FORCE, "onnxruntime"), (FIXED, "npu")], ids=["listed", "fixed"]
)
def test_files_are_labeled_alike(tmp_path: Path, options: tuple[str, ...], where: str) -> None:
    printed, models, _ = under("label_files.py", options, tmp_path)
    assert printed == plain("label_files.py")
    assert len(set(json.loads(printed)[1])) > 12
    assert models["model.onnx"]["where"] == where


def test_shadow_compares_what_the_line_reader_computes(tmp_path: Path) -> None:
    _, models, _ = under("read_text.py", (*FORCE, "--shadow"), tmp_path)
    (output,) = models["ch_PP-OCRv4_rec_infer.onnx"]["outputs"]
    assert output["runs"] == models["ch_PP-OCRv4_rec_infer.onnx"]["shadow"]["runs"] > 8
    assert output["equal_argmax"] > 0.99
    assert output["cosine"] > 0.999
