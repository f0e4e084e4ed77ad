"""Networks of opsets 17 and 18 compile under --list cann-9.0 and agree with onnxruntime."""

from pathlib import Path

import numpy as np
import onnx
import pytest

import atc_py
from atc_py.check.findings_builder import RulesBrokenError
from tests.networks.builders.agreement import FLOAT16_MODES, expect_agreement
from tests.networks.builders.newer_opsets import (
    build_resnet,
    build_segmentation,
    build_vit,
    build_volume_network,
)

NEWER_LIST = "cann-9.0"
OPSETS = (17, 18)
MIXED, KEEP = "allow_mix_precision", "must_keep_origin_dtype"
BUILDERS = {
    "resnet": build_resnet,
    "vit": build_vit,
    "segmentation": build_segmentation,
    "volumes": build_volume_network,
}
IN_FLOAT16_ALONE = {"vit": {"LayerNormalization", "MatMul"}, "volumes": {"Conv"}}
"""Operators of a network for which the list has float16 and no float32: of Conv, on volumes."""

MODES = [
    (name, mode)
    for name in BUILDERS
    for mode in (*FLOAT16_MODES, MIXED, KEEP)
    if mode != KEEP or name not in IN_FLOAT16_ALONE
]


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(("name", "mode"), MODES)
def test_network_agrees_with_onnxruntime(name: str, mode: str, opset: int, tmp_path: Path) -> None:
    model = BUILDERS[name](opset)
    (fed,) = model.graph.input
    shape = [dim.dim_value for dim in fed.type.tensor_type.shape.dim]
    data = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    expect_agreement(model, [{fed.name: data}], mode, tmp_path, NEWER_LIST)


@pytest.mark.parametrize("name", IN_FLOAT16_ALONE)
def test_float32_is_refused_where_the_list_has_float16_alone(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(BUILDERS[name](OPSETS[0]), path)
    with pytest.raises(RulesBrokenError) as caught:
        atc_py.convert(path, tmp_path / "m.om", precision_mode=KEEP, operator_list=NEWER_LIST)
    found = caught.value.diagnostics
    assert {each.code.id for each in found} == {"ATC4002"}
    assert {each.place.op_type for each in found if each.place} == IN_FLOAT16_ALONE[name]
