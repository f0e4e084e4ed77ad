"""`--quant-bias`, and what commands say of the convention that a file's biases are read by.

The layer is one of AMCT's: x = [1, -0.5] of scale 0.02 and offset -20 by w = [0.5, 0.25] of scale
0.5 / 127. Codes are [30, -45], weights [127, 64]; their products sum up to 930, which is 0.0732, and
with the offset times the sum of the weights taken off to 4750, which is 0.3740.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import atc_py
from atc_py.diag.codes import BAD_OPTION
from tests.cli.conftest import Result

Atc = Callable[..., Result]

node = helper.make_node
SCALE, OFFSET, WEIGHT_SCALE = np.float32(0.02), -20, np.float32(0.5 / 127)
RIGHT, UNCORRECTED = 0.3740, 0.0732
ASSUMED = (
    "unfolded (assumed: the file does not say, and AMCT writes them so; "
    "otherwise give --quant-bias folded)"
)


def deploy(producer: str = "pytorch", **metadata: str) -> onnx.ModelProto:
    """Return AscendQuant, a Gemm without bias, AscendDequant."""
    words = np.array([SCALE * WEIGHT_SCALE], np.float32).view(np.uint32).astype(np.uint64)
    weights: dict[str, np.ndarray] = {"w": np.array([[127], [64]], np.int8), "d": words}
    nodes = [
        node("AscendQuant", ["x"], ["q"], "quant", scale=1 / SCALE, offset=float(OFFSET)),
        node("Gemm", ["q", "w"], ["s"], "layer"),
        node("AscendDequant", ["s", "d"], ["y"], "dequant"),
    ]
    graph = helper.make_graph(
        nodes,
        "deploy",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    imports = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=8, producer_name=producer)
    for key, value in metadata.items():
        model.metadata_props.add(key=key, value=value)
    return model


@pytest.fixture
def layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return AMCT's file, in the current folder."""
    monkeypatch.chdir(tmp_path)
    onnx.save(deploy(), "layer.onnx")
    return Path("layer.onnx")


def computed(path: str | Path) -> float:
    """Return the result of an offline model for [1, -0.5]."""
    with atc_py.load(path) as model:
        return float(model.run({"x": np.array([[1, -0.5]], np.float32)})["y"].item())


@pytest.mark.parametrize(
    ("options", "expected", "said"),
    [
        ((), RIGHT, ASSUMED),
        (("--quant-bias", "auto"), RIGHT, ASSUMED),
        (("--quant-bias", "unfolded"), RIGHT, "unfolded (by --quant-bias)"),
        (("--quant-bias", "folded"), UNCORRECTED, "folded (by --quant-bias)"),
    ],
)
def test_convert_and_info_say_which_convention_counted(
    atc: Atc, layer: Path, options: tuple[str, ...], expected: float, said: str
) -> None:
    done = atc("convert", "-v", layer, *options, "-o", "layer.om")
    assert done.status == 0
    assert computed("layer.om") == pytest.approx(expected, abs=2e-4)
    name = said.partition(" ")[0]
    for text in (done.out, atc("info", "layer.om").out):
        (row,) = (line for line in text.splitlines() if "biases of int8 layers" in line)
        assert row.endswith(said)
    source = "assumed" if said is ASSUMED else "option"
    record = {"convention": name, "source": source}
    found = json.loads(atc("convert", layer, *options, "-o", "layer.om", "--json").out)
    assert found["quant_bias"] == record
    info = json.loads(atc("info", "layer.om", "--json").out)
    assert info["options"]["quant_bias"] == name
    assert info["report"]["quant_bias"] == record


@pytest.mark.parametrize(
    ("model", "expected", "source"),
    [
        (deploy("atc-py"), UNCORRECTED, "producer"),
        (deploy("atc-py", **{"atc_py.quant_bias": "unfolded"}), RIGHT, "mark"),
        (deploy(**{"atc_py.quant_bias": "folded"}), UNCORRECTED, "mark"),
    ],
)
def test_metadata_say_it(
    atc: Atc, layer: Path, model: onnx.ModelProto, expected: float, source: str
) -> None:
    onnx.save(model, layer)
    found = json.loads(atc("convert", layer, "-o", "layer.om", "--json").out)
    assert found["quant_bias"]["source"] == source
    assert computed("layer.om") == pytest.approx(expected, abs=2e-4)


def test_check_says_it_in_text_json_and_html(atc: Atc, layer: Path) -> None:
    assert f"\nBiases of int8 layers: {ASSUMED}\n" in atc("check", layer).out
    output = atc("check", layer, "--quant-bias", "folded", "--lang", "zh").out
    assert "int8 层的偏置：folded（由 --quant-bias 指定）" in output
    found = json.loads(atc("check", layer, "--json").out)
    said = {"convention": "unfolded", "source": "assumed", "text": ASSUMED}
    assert found["models"][0]["quant_bias"] == said
    assert "quant_bias" not in found["options"]
    given = json.loads(atc("check", layer, "--quant-bias", "folded", "--json").out)
    assert given["options"]["quant_bias"] == "folded"
    assert ASSUMED in atc("check", layer, "--format", "html").out


def test_models_that_are_not_in_that_form_say_nothing(atc: Atc, layer: Path) -> None:
    assert atc("quantize", layer, "--format", "qdq", "-o", "back.onnx").status == 0
    report = json.loads(atc("check", "back.onnx", "--quant-bias", "folded", "--json").out)
    assert report["models"][0]["quant_bias"] is None
    assert "Biases" not in atc("check", "back.onnx").out
    done = json.loads(
        atc("convert", "back.onnx", "-o", "m.om", "--quant-bias", "folded", "--json").out
    )
    assert "quant_bias" not in done
    assert "biases" not in atc("info", "m.om").out
    # What is imported is right under any convention.
    assert computed("m.om") == pytest.approx(RIGHT, abs=2e-4)


def test_quantize_marks_its_files_and_reads_by_the_convention(atc: Atc, layer: Path) -> None:
    there = atc("quantize", layer, "--format", "qdq", "-o", "back.onnx")
    assert f"biases read     {ASSUMED}" in there.out
    again = json.loads(atc("quantize", "back.onnx", "-o", "again.onnx", "--json").out)
    assert again["quant_bias"] == {"read": None, "written": "unfolded"}
    found = json.loads(atc("convert", "again.onnx", "-o", "again.om", "--json").out)
    assert found["quant_bias"] == {"convention": "unfolded", "source": "mark"}
    assert computed("again.om") == pytest.approx(RIGHT, abs=2e-4)
    asked = ("--format", "qdq", "-o", "folded.onnx", "--quant-bias", "folded", "--json")
    read = json.loads(atc("quantize", layer, *asked).out)
    assert read["quant_bias"]["read"] == {"convention": "folded", "source": "option"}
    assert atc("convert", "folded.onnx", "-o", "folded.om").status == 0
    assert computed("folded.om") == pytest.approx(UNCORRECTED, abs=2e-4)


@pytest.mark.parametrize("command", ["kernels", "profile"])
def test_other_commands_that_compile_take_it(atc: Atc, layer: Path, command: str) -> None:
    assert atc(command, layer, "--quant-bias", "folded").status == 0
    assert atc("convert", layer, "-o", "layer.om").status == 0
    refused = atc(command, "layer.om", "--quant-bias", "folded")
    assert refused.status == 2
    assert "--quant-bias" in refused.err


def test_compare_takes_it(atc: Atc, layer: Path) -> None:
    assert atc("quantize", layer, "--format", "qdq", "-o", "back.onnx").status == 0
    assert atc("compare", "back.onnx", "--quant-bias", "unfolded").status == 0


def test_other_names_are_refused(atc: Atc, layer: Path) -> None:
    assert atc("convert", layer, "--quant-bias", "both").status == 2
    calls: list[Callable[..., Any]] = [
        atc_py.convert, atc_py.check_models, atc_py.quantize_model
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(atc_py.AtcError) as caught:
            call(layer, quant_bias="both")
        (finding,) = caught.value.diagnostics
        assert finding.code is BAD_OPTION
        assert "auto, unfolded, folded, found 'both'" in finding.message
