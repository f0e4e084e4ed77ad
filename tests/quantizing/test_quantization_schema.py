"""The JSON of quantizing a float model, held to its schema."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import atc_py
from atc_py.report.quantizing.formats import render_quantization
from tests.check_schema import QUANTIZE_SCHEMA, schema_text
from tests.cli.conftest import Result
from tests.cli.conftest import atc as atc
from tests.quantizing.float_networks import FloatSketch, conv_network, samples_of

SAMPLES = samples_of(5, 1, 3, 16, 16)


def test_schema_is_the_published_one() -> None:
    text = schema_text(QUANTIZE_SCHEMA)
    assert QUANTIZE_SCHEMA.read_text(encoding="utf-8") == text
    jsonschema.Draft202012Validator.check_schema(json.loads(text))


@pytest.mark.parametrize(
    "choice",
    [
        {},
        {"measure": 0},
        {"calibrator": "auto", "format": "both"},
        {"calibrator": "mse", "weights": "mse", "symmetric": True},
        {"skip": ["OpType::Gemm"], "time_soc": "Ascend310P3"},
        {"target": {"snr": 45.0}, "format": "qdq", "time_soc": "Ascend310P3"},
    ],
)
def test_reports_are_valid(tmp_path: Path, choice: dict[str, Any]) -> None:
    model = conv_network(tmp_path / "n.onnx")
    done = atc_py.quantize(model, tmp_path / "o.onnx", data=SAMPLES, **choice)
    found = json.loads(render_quantization(done, tmp_path / "a.json"))
    jsonschema.validate(found, json.loads(QUANTIZE_SCHEMA.read_text(encoding="utf-8")))


def test_reports_of_a_record_and_of_random_samples_are_valid(
    tmp_path: Path, atc: Callable[..., Result]
) -> None:
    conv_network(tmp_path / "n.onnx")
    schema = json.loads(QUANTIZE_SCHEMA.read_text(encoding="utf-8"))
    for source in (["--random", "2", "--record", "r.txt"], ["--record", "r.txt"]):
        done = atc("quantize", "n.onnx", *source, "-o", "o.onnx", "--json")
        assert done.status == 0, done.err
        jsonschema.validate(done.json, schema)


def test_exact_ratios_are_null(tmp_path: Path) -> None:
    """JSON has no infinity; weights of one magnitude are exact as codes."""
    net = FloatSketch()
    signs = np.sign(net.generator.standard_normal((8, 3))).astype(np.float32)
    net.add("MatMul", [net.input("x", [4, 8]), net.const("w", signs)], "y")
    model = net.save(tmp_path / "n.onnx", "y")
    done = atc_py.quantize(model, tmp_path / "o.onnx", data=samples_of(3, 4, 8))
    text = render_quantization(done, tmp_path / "a.json")
    assert "Infinity" not in text
    assert json.loads(text)["layers"][0]["weight_sqnr"] is None
