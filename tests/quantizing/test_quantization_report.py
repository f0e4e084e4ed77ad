"""What a quantization costs: figures by layer, in text, JSON and HTML."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import atc_py
from atc_py.diag import AtcError
from atc_py.diag.codes import LAYER_LEFT_FLOAT
from atc_py.pipeline.running.samples import ArraySamples
from atc_py.quantizing.calibration import calibrate
from atc_py.quantizing.observe import ChosenSamples
from atc_py.quantizing.options import CalibrationOptions
from atc_py.quantizing.trial_model import form_errors
from atc_py.report.quantizing.formats import check_ending, render_quantization
from atc_py.results.quantization import FloatQuantization
from atc_py.system.structs import replace
from atc_py.text import Text
from tests.quantizing.float_networks import conv_network, samples_of

SAMPLES = samples_of(6, 1, 3, 16, 16)


def quantized(folder: Path, **choice: Any) -> FloatQuantization:
    model = conv_network(folder / "float.onnx")
    return atc_py.quantize(model, folder / "int8.onnx", data=SAMPLES, **choice)


def test_each_layer_has_its_figures(tmp_path: Path) -> None:
    done = quantized(tmp_path, time_soc="Ascend310P3")
    proof = done.proof
    assert proof is not None
    assert proof.samples == 6
    assert [each.name for each in proof.layers] == [each.name for each in done.layers]
    for each in proof.layers:
        assert each.data_snr is not None
        assert 20 < each.result.snr < 80
        assert each.clipped is not None
        assert 0 <= each.clipped < 0.01
        assert each.values is not None
        assert sum(each.values.shares) == pytest.approx(1)
    assert proof.speed is not None
    assert min(proof.speed.float16, proof.speed.int8) > 0
    assert 20 < next(iter(proof.outputs.values())).snr < 80


def test_nothing_is_measured_where_that_is_asked(tmp_path: Path) -> None:
    assert quantized(tmp_path, measure=0).proof is None
    with pytest.raises(AtcError, match="measure must be a count, 1 or more with a target"):
        quantized(tmp_path, measure=0, target={"snr": 10.0})


def test_reports_say_the_same(tmp_path: Path) -> None:
    plain = quantized(tmp_path)
    assert plain.proof is not None
    least = next(iter(plain.proof.outputs.values())).snr + 2
    done = quantized(tmp_path, target={"snr": least})
    document = json.loads(render_quantization(done, tmp_path / "a.json"))
    searched = document["proof"]["target"]
    assert searched["reached"] is True
    assert searched["points"][0]["int8"] == len(done.layers)
    text = render_quantization(done, tmp_path / "a.txt")
    page = render_quantization(done, tmp_path / "a.html")
    for each in searched["floats"]:
        assert each in text
        assert each in page
    assert page.count('class="column"') > 100
    selectors = re.findall(r"([^{}]+)\{", page[page.index("<style") : page.index("</style")])
    styled = [name.strip() for name in selectors if re.search(r"\.column\b", name)]
    assert styled == ["svg.chart .column"], "a width of other pages' bars would stretch the columns"
    assert page.count("<circle") >= 2
    assert "default-src &#39;none&#39;" in page
    assert "Curve" in text


def test_page_names_warnings(tmp_path: Path) -> None:
    warning = LAYER_LEFT_FLOAT.diagnostic(
        Text("layer '<b>' stays in floats"), help=Text("use min-max")
    )
    done = replace(quantized(tmp_path, measure=0), warnings=(warning,))
    page = render_quantization(done, tmp_path / "a.html")
    assert "layer &#39;&lt;b&gt;&#39; stays in floats" in page
    assert f"{LAYER_LEFT_FLOAT.id} {LAYER_LEFT_FLOAT.name}" in page


def test_report_of_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AtcError, match="does not show its format"):
        check_ending(tmp_path / "report.pdf")


def test_auto_errs_at_most_as_min_max_at_the_layers(tmp_path: Path) -> None:
    model = conv_network(tmp_path / "float.onnx")
    samples = ArraySamples(samples_of(8, 1, 3, 16, 16))
    sums = {}
    for name in ("min-max", "auto"):
        settings = CalibrationOptions(
            calibrator=name, correct_bias=False, equalize=False, smooth=False
        )
        with calibrate(model, samples, settings) as found:
            feeds = ChosenSamples(found.model, samples, 4)
            forms = {each: (form,) for each, form in found.forms().items()}
            errors = form_errors(found, forms, feeds, "ort")
            sums[name] = sum(each[0].noise for each in errors.values())
    assert sums["auto"] <= sums["min-max"]
