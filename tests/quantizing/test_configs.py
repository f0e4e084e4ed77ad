"""Configurations of AMCT: which layers are quantized, and how."""

import json
from pathlib import Path
from typing import Any

import onnx
import pytest

import atc_py
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_QUANT_CONFIG, NOT_IN_MODEL, QUANT_FIELD_NOT_MODELED
from atc_py.diag.diagnostic import Code
from atc_py.results.quantization import FloatQuantization
from tests.quantizing.float_networks import conv_network, samples_of
from tests.quantizing.test_prepare import norm_network, norm_products


def layer(**data: Any) -> dict[str, Any]:
    return {"quant_enable": True, "activation_quant_params": data}


def quantized(tmp_path: Path, config: object, **choice: Any) -> FloatQuantization:
    model, path = conv_network(tmp_path / "n.onnx"), tmp_path / "config"
    path.write_text(config if isinstance(config, str) else json.dumps(config))
    samples = samples_of(4, 1, 3, 16, 16)
    out = tmp_path / "out.onnx"
    return atc_py.quantize(model, out, data=samples, config=path, measure=0, **choice)


def test_layers_of_the_configuration_alone_are_on_int8(tmp_path: Path) -> None:
    config = {
        "version": 1,
        "batch_num": 1,
        "activation_offset": False,
        "c1_Conv": layer(act_algo="ifmr"),
        "y_Gemm": layer(act_algo="hfmg", num_of_bins=1024, asymmetric=True),
        "c2_Conv": {"quant_enable": False},
    }
    done = quantized(tmp_path, config)
    found = {each.name: each for each in done.layers}
    assert {name for name, each in found.items() if each.scale is not None} == {"c1_Conv", "y_Gemm"}
    assert found["c1_Conv"].offset == 0
    assert found["y_Gemm"].offset != 0
    assert found["c3_Conv"].reason is not None


def test_simplified_configuration(tmp_path: Path) -> None:
    text = """
    batch_num: 2
    skip_layers: "c1_Conv"
    common_config { arq_quantize { channel_wise: false } hfmg_quantize { num_of_bins: 1024 } }
    override_layer_types { layer_type: "Gemm" calibration_config {
        arq_quantize { channel_wise: false } ifmr_quantize { asymmetric: false } } }
    """
    done = quantized(tmp_path, text, equalize=False)
    found = {each.name: each for each in done.layers}
    assert found["c1_Conv"].scale is None
    low, high = found["c2_Conv"].weight_scales or (0, 1)
    assert low == high
    assert found["y_Gemm"].offset == 0


def test_fusion_is_switched_off_for_layers(tmp_path: Path) -> None:
    model, path = norm_network(tmp_path / "n.onnx"), tmp_path / "config"
    path.write_text('do_fusion: true skip_fusion_layers: "c1_Conv" common_config { }')
    out = tmp_path / "out.onnx"
    atc_py.quantize(model, out, data=samples_of(2, 1, 4, 8, 8), config=path, measure=0)
    kinds = [node.op_type for node in onnx.load(out).graph.node]
    assert kinds.count("BatchNormalization") == 1


def test_migration_strength_balances_the_layers(tmp_path: Path) -> None:
    model, path = norm_products(tmp_path / "n.onnx", written_out=False), tmp_path / "config"
    path.write_text("common_config { dmq_balancer { migration_strength: 0.5 } }")
    record, samples = tmp_path / "r.txt", samples_of(2, 1, 5, 32)
    atc_py.quantize(
        model, tmp_path / "out.onnx", data=samples, config=path, record=record, smooth=False
    )
    assert record.read_text().count("tensor_balance_factor") == 3 * 32


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ("{", BAD_QUANT_CONFIG),
        ('skip_layers: "c9_Conv"', NOT_IN_MODEL),
        ({"version": 1, "joint_quant": True}, QUANT_FIELD_NOT_MODELED),
        ({"version": 1, "c1_Conv": layer(num_bits=4)}, QUANT_FIELD_NOT_MODELED),
        (
            """override_layer_configs { layer_name: "c1_Conv" calibration_config
            { dmq_balancer { migration_strength: 0.5 } } }""",
            QUANT_FIELD_NOT_MODELED,
        ),
    ],
)
def test_configuration_that_is_refused(tmp_path: Path, config: object, code: Code) -> None:
    with pytest.raises(AtcError) as refused:
        quantized(tmp_path, config)
    assert [each.code for each in refused.value.diagnostics] == [code]
    assert not (tmp_path / "out.onnx").exists()
