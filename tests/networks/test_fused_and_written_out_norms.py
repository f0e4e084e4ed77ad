"""LayerNormalization of opset 17 is taken as the layer normalization that exporters wrote out."""

from pathlib import Path
from typing import Any

import onnx
import pytest

import atc_py
from tests.networks.builders.newer_opsets import build_vit
from tests.networks.quantized import Scheme, quantized

WRITTEN_OUT, FUSED = 13, 17
OPTIONS: dict[str, Any] = {"operator_list": "cann-9.0", "precision_mode": "force_fp16"}
NORMS = 5


@pytest.fixture(scope="module")
def transformers(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Return one network at the opset without the operator and at that with it."""
    folder = tmp_path_factory.mktemp("transformers")
    paths = {opset: folder / f"vit{opset}.onnx" for opset in (WRITTEN_OUT, FUSED)}
    for opset, path in paths.items():
        onnx.save(build_vit(opset), path)
    return paths


def test_both_forms_become_the_same_operators(transformers: dict[int, Path]) -> None:
    counts = [
        dict(atc_py.convert(path, path.with_suffix(".om"), **OPTIONS).facts.target_operators)
        for path in transformers.values()
    ]
    assert counts[0] == counts[1]
    assert counts[0]["LayerNorm"] == NORMS


def test_both_forms_are_compared_and_estimated_alike(transformers: dict[int, Path]) -> None:
    errors, times = [], []
    for path in transformers.values():
        compared = atc_py.compare_model(path, **OPTIONS)
        norms = [layer for layer in compared.layers if layer.op == "LayerNorm"]
        assert len(norms) == NORMS
        errors.append([layer.figures.snr for layer in norms])
        (found,) = atc_py.profile_model(path, ["Ascend310P3"], **OPTIONS).socs
        assert found.cost is not None
        times.append(found.cost.time.expected)
    assert errors[0] == pytest.approx(errors[1], abs=0.5)
    assert times[0] == pytest.approx(times[1])


def test_quantized_network_with_the_operator_is_rewritten_and_compiled(
    transformers: dict[int, Path], tmp_path: Path
) -> None:
    source, target = tmp_path / "quantized.onnx", tmp_path / "ascend.onnx"
    quantized(transformers[FUSED], source, Scheme("int8"))
    assert atc_py.quantize_model(source, target).opset == FUSED
    kept = [node.op_type for node in onnx.load(target).graph.node]
    assert kept.count("LayerNormalization") == NORMS
    assert "AscendQuant" in kept
    for path in (source, target):
        done = atc_py.convert(path, tmp_path / "model.om", **OPTIONS)
        assert done.facts.target_operators["LayerNorm"] == NORMS
