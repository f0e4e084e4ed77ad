"""AMCT's two forms of a configuration: what they choose, and what is refused by name."""

import json
from typing import Any

import pytest

from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_QUANT_CONFIG, QUANT_FIELD_NOT_MODELED
from atc_py.quantizing.calibrate.amct_choices import AmctConfig, LayerChoice
from atc_py.quantizing.calibrate.amct_config import read_amct_config
from atc_py.quantizing.calibrate.value_range import RangeOptions
from tests.failures import in_one_item

DOCUMENT: dict[str, Any] = {
    "version": 1,
    "batch_num": 2,
    "activation_offset": True,
    "joint_quant": False,
    "do_fusion": True,
    "skip_fusion_layers": ["conv2"],
    "fakequant_precision_mode": "DEFAULT",
    "tensor_quantize": [],
    "conv1": {
        "quant_enable": True,
        "dmq_balancer_param": 0.5,
        "activation_quant_params": {
            "num_bits": 8,
            "act_algo": "ifmr",
            "max_percentile": 0.9999,
            "min_percentile": 0.999999,
            "search_range": [0.8, 1.2],
            "search_step": 0.02,
        },
        "weight_quant_params": {
            "num_bits": 8,
            "wts_algo": "arq_quantize",
            "channel_wise": True,
        },
    },
    "conv2": {"activation_quant_params": {"num_of_bins": 1024, "asymmetric": False}},
    "fc": {"quant_enable": False},
}


def test_json_lists_every_layer() -> None:
    found = read_amct_config(json.dumps(DOCUMENT))
    assert found == AmctConfig(
        batch_num=2,
        skip_fusion_layers=("conv2",),
        common=None,
        by_layer={
            "conv1": LayerChoice(
                settings=RangeOptions(
                    max_percentile=0.9999, search_start=0.8, search_end=1.2, search_step=0.02
                ),
                channel_wise=True,
                migration_strength=0.5,
            ),
            "conv2": LayerChoice(
                calibrator="hfmg", settings=RangeOptions(symmetric=True, hfmg_bins=1024)
            ),
            "fc": None,
        },
    )
    assert found.choice_for("conv1", "Conv") == found.by_layer["conv1"]
    assert found.choice_for("fc", "Gemm") is None
    assert found.choice_for("other", "Conv") is None
    assert found.layer_names() == ("conv2", "conv1", "fc")


TEXT = """
# of a model zoo
batch_num : 8
activation_offset : false
skip_layers : ["head", "tail"]
skip_layers : "last"
skip_layer_types: "Gemm"
do_fusion: true
skip_fusion_layers: "stem"
common_config : {
  arq_quantize : { channel_wise : false }
  hfmg_quantize : { num_of_bins : 1024 }
  ifmr_quantize : { search_range_start : 0.7 search_range_end : 1.3 search_step : 0.01
                    max_percentile : 0.999 dst_type: INT8 }
}
override_layer_types { layer_type: "MatMul"
  calibration_config { dmq_balancer { migration_strength: 0.3 } hfmg_quantize { asymmetric: true } } }
override_layer_configs { layer_name: "stem" calibration_config { dmq_balancer { } } }
"""


def test_text_has_overrides_by_type_and_by_name() -> None:
    found = read_amct_config(TEXT)
    common = LayerChoice(
        settings=RangeOptions(symmetric=True, max_percentile=0.999), channel_wise=False
    )
    assert found.batch_num == 8
    assert found.skip_layers == ("head", "tail", "last")
    assert found.choice_for("head", "Conv") is None
    assert found.choice_for("fc", "Gemm") is None
    assert found.choice_for("conv", "Conv") == common
    assert found.choice_for("product", "MatMul") == LayerChoice(
        calibrator="hfmg", migration_strength=0.3
    )
    assert found.choice_for("stem", "MatMul") == LayerChoice(
        settings=RangeOptions(symmetric=True), migration_strength=0.5
    )
    assert found.skip_fusion_layers == ("stem",)


def test_empty_text_has_the_defaults() -> None:
    assert read_amct_config("") == AmctConfig()
    assert read_amct_config("{}") == AmctConfig(common=None)


def document(**changes: Any) -> str:
    """Return the JSON document with fields replaced."""
    return json.dumps(DOCUMENT | changes)


def layer(**data: Any) -> str:
    """Return a JSON document with one layer that has these fields for its data."""
    return json.dumps({"a": {"activation_quant_params": data}})


@in_one_item(
    ("text", "words"),
    [
        (document(version=2), "version must be 1"),
        (document(batch_num=0), "batch_num must be at least 1"),
        (document(batch_num=True), "batch_num must be a whole number"),
        (document(activation_offset=1), "activation_offset must be true or false"),
        (document(skip_fusion_layers=["a", "a"]), "without repeats"),
        (document(skip_fusion_layers=[1]), "must be a list of names"),
        (document(batchnum=1), "batchnum is not a field"),
        ('{"a": {}, "a": {}}', "'a' occurs twice"),
        ('{"a": {"quantenable": true}}', "a.quantenable is not a field"),
        ('{"a": {"quant_enable": 1}}', "a.quant_enable must be true or false"),
        ('{"a": {"dmq_balancer_param": 0.9}}', "migration strength must be in [0.2, 0.8]"),
        (layer(act_algo="kl"), "act_algo must be ifmr or hfmg"),
        (layer(num_of_bins=1024, search_step=0.1), "search_step is not a field of hfmg"),
        (layer(num_of_bins=1000), "hfmg_bins must be one of"),
        (layer(search_range=[1.3, 0.7]), "search_start must be in"),
        (layer(search_range=[0.7]), "must be a list of two numbers"),
        (layer(search_step=0), "search_step must be in"),
        (layer(max_percentile=0.5), "max_percentile must be in (0.5, 1]"),
        ('{"a": {"activation_quant_params": {"max_percentile": NaN}}}', "max_percentile must"),
        (layer(max_percentile=10**400), "max_percentile must be in"),
        ("{", "the JSON is incomplete or malformed"),
        ("[" * 5000, "expected the name of a field"),
        ('{"a":' * 9999, "the JSON"),
        ("batch_num: 0", "batch_num must be at least 1"),
        ("batch: 1", "batch is not a field"),
        ("common_config { kl_quantize { } }", "kl_quantize is not a field"),
        ("common_config { ifmr_quantize { search: 1 } }", "search is not a field"),
        ("common_config { ifmr_quantize { search_step: nan } }", "search_step must be in"),
        ("common_config: 1", "common_config must be a message"),
        ('override_layer_types { layer_type: "A" }', "needs layer_type and calibration_config"),
        ('override_layer_types { layer_name: "A" }', "layer_name is not a field of"),
        ("common_config { dmq_balancer { migration_strength: 0.1 } }", "must be in [0.2, 0.8]"),
        ("skip_layers: [1]", "skip_layers must be a text in quotes"),
    ],
)
def test_configurations_with_faults_are_refused(text: str, words: str) -> None:
    with pytest.raises(AtcError) as failed:
        read_amct_config(text, "quant.cfg")
    found = failed.value.diagnostics[0]
    assert found.code is BAD_QUANT_CONFIG
    assert words in found.message
    assert found.place is not None
    assert found.place.file == "quant.cfg"


@in_one_item(
    ("text", "field"),
    [
        (document(joint_quant=True), "joint_quant"),
        (document(fakequant_precision_mode="FORCE_FP16_QUANT"), "fakequant_precision_mode"),
        (document(tensor_quantize=[{}]), "tensor_quantize"),
        (layer(num_bits=16), "num_bits"),
        ('{"a": {"weight_quant_params": {"num_bits": 4}}}', "num_bits"),
        ('{"a": {"weight_quant_params": {"wts_algo": "ada_quantize"}}}', "wts_algo"),
        ('{"a": {"weight_quant_params": {"reg_param": 0.01}}}', "reg_param"),
        ("joint_quant: true", "joint_quant"),
        ("weight_compress_only: true", "weight_compress_only"),
        ("tensor_quantize { }", "tensor_quantize"),
        ('nuq_config { mapping_file: "a" }', "nuq_config"),
        ("common_config { ada_quantize { } }", "ada_quantize"),
        ("common_config { arq_quantize { quant_bits: 4 } }", "quant_bits"),
        ("common_config { arq_quantize { asymmetric: true } }", "arq_quantize.asymmetric"),
        ("common_config { hfmg_quantize { dst_type: INT16 } }", "dst_type"),
    ],
)
def test_fields_that_are_not_modeled_are_refused_by_name(text: str, field: str) -> None:
    with pytest.raises(AtcError) as failed:
        read_amct_config(text)
    found = failed.value.diagnostics[0]
    assert found.code is QUANT_FIELD_NOT_MODELED
    assert found.message.startswith(f"{field} ")
