"""Reports of a layer-by-layer comparison: what spreadsheets and browsers must not do with names."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from atc_py.compare.histograms import Sampled
from atc_py.compare.measure import Measure
from atc_py.diag import AtcError
from atc_py.report.layers.formats import FORMATS, render_layers
from atc_py.report.page import html_page as page
from atc_py.results.layer import ErrorOrigin, Layer
from atc_py.results.layer_comparison import Alone, Excluded, KeptNode, LayerComparison, Suggestion
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType
from tests.report.page_document import document_of


def record(source: str = "conv") -> LayerComparison:
    """Return a comparison of one layer with one lost value."""
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
        origin=ErrorOrigin.INTRODUCED,
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


def test_csv_cells_are_not_formulas_and_alone_rows_have_reasons() -> None:
    rows = list(csv.DictReader(render_layers("csv", record("=cmd()")).splitlines()))
    assert [row["GroundTruth"] for row in rows] == ["'=cmd()", "*", "lone"]
    assert [row["NPUDump"] for row in rows] == ["Conv2D:c", "'=1+1", "*"]
    assert [row["CompareFailReason"] for row in rows] == ["", "a step", "folded"]
    assert rows[0]["Shape"] == "?,2"


def test_text_cannot_command_a_terminal() -> None:
    assert "\x1b" not in render_layers("text", record("\x1b[2J"))


def test_html_draws_both_sides_and_the_limits_of_the_dtype() -> None:
    sampled = Sampled(DType.FLOAT16)
    sampled.add(np.array([1.0, np.inf, 0.0, 2.0]), np.array([1.0, 1e6, 1e-9, 2.0]))
    histogram = sampled.histogram()
    assert histogram is not None
    text = render_layers("html", replace(record(), histograms={0: histogram}))
    ((layer, drawn),) = document_of(text)["models"][0]["precision"]["histograms"]
    assert (layer, drawn["values"]) == (0, histogram.values)
    assert {"largest", "least normal"} <= {*drawn["limits"]}
    assert (drawn["zeros"], drawn["lost"]) == ([0.0, 0.25], [0.0, 0.25])
    assert len(drawn["original"]) == len(drawn["device"]) > 2


def test_suggestion_is_in_every_format_but_csv() -> None:
    """Check a search that found a set, ended by its limit before that was the smallest."""
    done = record()
    found = Suggestion(
        target="cosine of every output at least 0.99",
        needed=True,
        reached=True,
        kept=(KeptNode("n_sum", "ReduceSumD", 1, "aicpu"),),
        own=(),
        smallest=False,
        minimal=False,
        candidates=3,
        excluded=(Excluded("n_conv", "Conv2D", "no float32 kernel on this SoC"),),
        trials=60,
        limit=60,
        before=done,
        after=done,
    )
    for name in ("text", "html"):
        text = render_layers(name, replace(done, suggestion=found))
        assert "1 node in float32 reaches the target" in text
        assert "60 trial compilations of at most 60, 3 candidates" in text
        assert "the search ended at its limit" in text
        assert "on the AI CPU: n_sum" in text
        assert "not a candidate, no float32 kernel on this SoC: n_conv" in text
    document = json.loads(render_layers("json", replace(done, suggestion=found)))["suggestion"]
    assert document["keep"] == [
        {"line": "n_sum", "op": "ReduceSumD", "nodes": 1, "engine": "aicpu"}
    ]
    assert document["trials"] == {"done": 60, "limit": 60}
    assert document["before"]["outputs"]["y"]["lost"] == 0.5


def test_suggestion_that_helps_nothing_says_so_and_names_the_best() -> None:
    done = record()
    found = Suggestion(
        target="cosine of every output at least 0.99",
        needed=True,
        reached=False,
        kept=(),
        own=(),
        smallest=False,
        minimal=False,
        candidates=210,
        excluded=(),
        trials=1,
        limit=60,
        before=done,
        after=done,
        out_of_reach=True,
    )
    for name in ("text", "html"):
        text = render_layers(name, replace(done, suggestion=found))
        assert "cannot be reached by keeping nodes in float32" in text
        assert "with all 210 candidates kept, where y has cosine 1 and SNR inf dB" in text
        assert "1 trial compilation of at most 60" in text
        assert "Outputs with all candidates kept" in text
    document = json.loads(render_layers("json", replace(done, suggestion=found)))["suggestion"]
    assert (document["out_of_reach"], document["keep"]) == (True, [])
    unknown = replace(found, out_of_reach=False, trials=60)
    text = render_layers("text", replace(done, suggestion=unknown))
    assert "the limit of 60 compilations ended the search before it was known" in text


def test_missing_template_is_a_coded_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "templates_dir", lambda: tmp_path)
    with pytest.raises(AtcError) as caught:
        render_layers("html", record())
    assert caught.value.diagnostics[0].code.id == "ATC2010"
