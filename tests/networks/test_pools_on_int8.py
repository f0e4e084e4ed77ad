"""AveragePool on int8 as AMCT writes it: checked, computed, and rewritten as QDQ."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper

import atc_py
from atc_py.check.findings import Standing
from atc_py.diag.codes import NO_QDQ_FORM, UNSUPPORTED_FORM
from tests.end_to_end import run_with_onnxruntime
from tests.onnx_graph import onnx_files
from tests.onnx_graph.qdq.deploy_models import rewritten, words

Array = npt.NDArray[Any]
node = helper.make_node

SCALE, OFFSET = 0.25, -7
SHAPE = (2, 20, 9, 8)
DATA = np.random.default_rng(5).integers(-100, 100, SHAPE).astype(np.float32) * SCALE
"""Multiples of the scale, so that AscendQuant rounds nothing."""

FORMS: dict[str, dict[str, Any]] = {
    "plain": {"strides": [2, 2]},
    "padded": {"pads": [1, 0, 1, 2]},
    "counted": {"pads": [1, 1, 1, 1], "count_include_pad": 1},
    "valid": {"auto_pad": "VALID"},
    "same": {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
    "overhanging": {"strides": [2, 2], "ceil_mode": 1},
    "one column": {"kernel_shape": [2, 8]},
    "whole": {"kernel_shape": [9, 8]},
}


def pooled(form: str = "plain", *, border: bool = False, count: int = 1) -> onnx.ModelProto:
    """Return AscendQuant, perhaps a Pad, AveragePool and AscendDequant."""
    attributes = {"kernel_shape": [3, 3], **FORMS[form]}
    nodes = [node("AscendQuant", ["x"], ["q"], "quant", scale=1 / SCALE, offset=float(OFFSET))]
    consts = {"d": words([SCALE] * count)}
    if border:
        nodes.append(node("Pad", ["q", "pads"], ["padded"], "pool_pad"))
        consts["pads"] = np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64)
    nodes += [
        node("AveragePool", ["padded" if border else "q"], ["sum"], "pool", **attributes),
        node("AscendDequant", ["sum", "d"], ["y"], "dequant"),
    ]
    return onnx_files.model(
        nodes, {"x": (onnx_files.FLOAT, list(SHAPE))}, ["y"], consts, opsets={"": 11}
    )


def floats(form: str, *, border: bool = False) -> Array:
    """Return the pool of floats in onnxruntime."""
    attributes = {"kernel_shape": [3, 3], **FORMS[form]}
    x = np.pad(DATA, ((0, 0), (0, 0), (1, 1), (1, 1))) if border else DATA
    pool = node("AveragePool", ["x"], ["y"], **attributes)
    ports: onnx_files.Ports = {"x": (onnx_files.FLOAT, list(x.shape))}
    model = onnx_files.model([pool], ports, ["y"], opsets={"": 11})
    return np.asarray(run_with_onnxruntime(model, {"x": x})["y"])


def compiled(model: onnx.ModelProto, folder: Path, soc: str, quant_bias: str = "auto") -> Array:
    """Return what the offline model computes."""
    path = onnx_files.save(model, folder)
    atc_py.convert(path, folder / "model.om", soc=soc, verify=True, quant_bias=quant_bias)
    with atc_py.load(folder / "model.om") as offline:
        (result,) = offline.run({"x": DATA}).values()
    return np.asarray(result)


@pytest.mark.parametrize("form", FORMS)
def test_it_is_the_mean_of_what_the_codes_stand_for(form: str, tmp_path: Path) -> None:
    wanted = floats(form)
    found = compiled(pooled(form), tmp_path, "Ascend310P3")
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=2.0**-9, atol=2.0**-9)


@pytest.mark.parametrize("form", ["padded", "counted", "valid", "same"])
def test_quantize_writes_it_so(form: str, tmp_path: Path) -> None:
    attributes = {"kernel_shape": [3, 3], **FORMS[form]}
    pool = node("AveragePool", ["x"], ["y"], "pool", **attributes)
    ports: onnx_files.Ports = {"x": (onnx_files.FLOAT, list(SHAPE))}
    path = onnx_files.save(onnx_files.model([pool], ports, ["y"], opsets={"": 11}), tmp_path)
    atc_py.quantize(path, tmp_path / "int8.onnx", data=[{"x": DATA}], measure=0)
    model = onnx.load(tmp_path / "int8.onnx")
    assert [each.op_type for each in model.graph.node] == [
        "AscendQuant", "AveragePool", "AscendDequant",
    ]  # fmt: skip
    (step,) = (each.f for each in model.graph.node[0].attribute if each.name == "scale")
    found = compiled(model, tmp_path, "Ascend310P3")
    np.testing.assert_allclose(found, floats(form), atol=0.5 / step + 2.0**-6)


@pytest.mark.parametrize(("form", "requants"), [("valid", 1), ("counted", 0), ("padded", 0)])
def test_a_pool_is_requantized_without_padding_alone(
    form: str, requants: int, tmp_path: Path
) -> None:
    model = pooled(form)
    quant = node("AscendQuant", ["y"], ["z"], "again", scale=1 / SCALE, offset=float(OFFSET))
    model.graph.node.append(quant)
    model.graph.node.append(node("AscendAntiQuant", ["z"], ["r"], scale=SCALE, offset=-7.0))
    model.graph.output[0].name = "r"
    path = onnx_files.save(model, tmp_path)
    atc_py.convert(path, tmp_path / "model.om", soc="Ascend310P3")
    with atc_py.load(tmp_path / "model.om") as offline:
        operators = [each.op for each in offline.description.nodes]
        (found,) = offline.run({"x": DATA}).values()
    assert operators.count("AscendRequant") == requants
    np.testing.assert_allclose(np.asarray(found), floats(form), atol=SCALE)


@pytest.mark.parametrize("soc", ["sim", "Ascend310", "Ascend910B3"])
def test_borders_before_it_are_zeros_and_count(soc: str, tmp_path: Path) -> None:
    wanted = floats("plain", border=True)
    found = compiled(pooled("plain", border=True), tmp_path, soc)
    np.testing.assert_allclose(found, wanted, rtol=2.0**-9, atol=2.0**-9)


def test_its_offset_is_taken_off_where_biases_are_folded(tmp_path: Path) -> None:
    found = compiled(pooled("counted"), tmp_path, "sim", quant_bias="folded")
    np.testing.assert_allclose(found, floats("counted"), rtol=2.0**-9, atol=2.0**-9)


@pytest.mark.parametrize(("form", "rolled"), [("plain", 0), ("one column", 1), ("whole", 1)])
def test_old_cores_pool_floats_where_one_column_is_left(
    form: str, rolled: int, tmp_path: Path
) -> None:
    path = onnx_files.save(pooled(form), tmp_path)
    atc_py.convert(path, tmp_path / "model.om", soc="Ascend310P3")
    with atc_py.load(tmp_path / "model.om") as offline:
        operators = {each.op for each in offline.description.nodes}
    assert ("AscendQuant" in operators) != bool(rolled)


@pytest.mark.parametrize("border", [False, True])
@pytest.mark.parametrize("form", ["plain", "padded", "counted"])
def test_as_qdq_onnxruntime_computes_the_same(form: str, border: bool, tmp_path: Path) -> None:
    found = rewritten(pooled(form, border=border), tmp_path)
    y = run_with_onnxruntime(found, {"x": DATA})["y"]
    np.testing.assert_allclose(y, floats(form, border=border), rtol=1e-6, atol=1e-6)


def test_other_readers_of_its_sums_are_refused(tmp_path: Path) -> None:
    returned, unary = pooled(), pooled()
    returned.graph.output.append(onnx.ValueInfoProto(name="sum"))
    unary.graph.node[-1].CopyFrom(node("Relu", ["sum"], ["y"], "relu"))
    for model in (returned, unary, pooled(count=20)):
        (check,) = atc_py.check_models(onnx_files.save(model, tmp_path)).models
        refused = [each for each in check.findings if each.standing is Standing.ERROR]
        assert [(each.code, each.place.op_type) for each in refused] == [
            (UNSUPPORTED_FORM, "AveragePool")
        ]


def test_codes_that_are_read_as_means_have_no_qdq_form(tmp_path: Path) -> None:
    model = pooled()
    model.graph.node[-1].CopyFrom(node("AscendAntiQuant", ["sum"], ["y"], scale=0.5, offset=0.0))
    onnx_files.fails(lambda: rewritten(model, tmp_path), NO_QDQ_FORM, NO_QDQ_FORM)
