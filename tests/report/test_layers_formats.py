"""Reports of a layer-by-layer comparison: what spreadsheets and browsers must not do with names."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from atc_py.compare.measure import Measure
from atc_py.diag import AtcError
from atc_py.dtypes import DType
from atc_py.report import page
from atc_py.report.layers import Alone, Birth, Layer, LayerComparison
from atc_py.report.layers_formats import FORMATS, render_layers


def record(source: str = "conv") -> LayerComparison:
    """A comparison of one layer with one lost value."""
    measure = Measure(DType.FLOAT16)
    measure.add(np.array([1.0, np.inf]), np.array([1.0, 1e6]))
    layer = Layer(
        index=0,
        tensor=1,
        node="Conv2D:c",
        op="Conv2D",
        dtype="float16",
        shape=(None, 2),
        source=source,
        source_op="Conv",
        value="c",
        is_float=True,
        figures=measure.figures(),
        birth=Birth.BORN,
        root=0,
        start=0,
    )
    return LayerComparison(
        model=Path("m.onnx"),
        soc="sim",
        precision_mode="force_fp16",
        samples=1,
        engines=("onnx",),
        layers=(layer,),
        outputs={"y": 0},
        device_alone=(Alone("=1+1", "Cast", "a step"),),
        original_alone=(Alone("lone", "Identity", "folded"),),
        reference_seconds=0.1,
        device_seconds=0.1,
        seconds=0.3,
        peak_bytes=10,
        total_bytes=20,
    )


@pytest.mark.parametrize("name", FORMATS)
def test_format_names_the_layer_and_what_is_alone(name: str) -> None:
    text = render_layers(name, record())
    for part in ("conv", "Conv2D", "Identity", "folded"):
        assert part in text
    assert "1000000" in text or "1e+06" in text


def test_csv_cells_are_no_formulas_and_alone_rows_have_reasons() -> None:
    rows = list(csv.DictReader(render_layers("csv", record("=cmd()")).splitlines()))
    assert [row["GroundTruth"] for row in rows] == ["'=cmd()", "*", "lone"]
    assert [row["NPUDump"] for row in rows] == ["Conv2D:c", "'=1+1", "*"]
    assert [row["CompareFailReason"] for row in rows] == ["", "a step", "folded"]
    assert rows[0]["Shape"] == "?,2"


def test_text_cannot_command_a_terminal() -> None:
    assert "\x1b" not in render_layers("text", record("\x1b[2J"))


def test_missing_template_is_a_coded_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "templates_dir", lambda: tmp_path)
    with pytest.raises(AtcError) as caught:
        render_layers("html", record())
    assert caught.value.diagnostics[0].code.id == "ATC2010"
