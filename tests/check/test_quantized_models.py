"""What `check` and `convert` say of models that come quantized."""

from pathlib import Path

import numpy as np
import pytest

import atc_py
from atc_py.check.findings import Standing
from atc_py.check.findings_builder import RulesBrokenError
from atc_py.diag.codes import (
    LAYER_ON_FLOATS,
    LAYER_ON_INT8,
    LAYER_ROLLED_BACK,
    UNKNOWN_OPERATOR,
    UNSUPPORTED_FORM,
)
from atc_py.report.model.conversion import conversion_tables
from atc_py.results.conversion import Conversion
from tests.check.checks import checked
from tests.onnx_graph.qdq.quantized_models import Sketch

I8, I16 = np.int8, np.int16


def mixed(*, batch: int | str = 1) -> Sketch:
    """Return two layers on int8 and one whose weights are not quantized."""
    s = Sketch()
    x = s.qdq(s.input("x", [batch, 2, 4, 4]), 0.5)
    for _ in range(2):
        w = s.dq(s.weight(np.ones((2, 2, 3, 3)), I8), 0.25)
        x = s.qdq(s.op("Conv", x, w, pads=[1] * 4), 0.5)
    s.output(s.op("Conv", x, s.weight(np.ones((2, 2, 3, 3))), to="y", strides=[1, 1]))
    return s


@pytest.mark.parametrize("batch", [1, "n"])
def test_layers_are_reported_with_what_became_of_them(tmp_path: Path, batch: int | str) -> None:
    model = checked(mixed(batch=batch).model(), tmp_path)
    reported = [each for each in model.findings if each.code in {LAYER_ON_INT8, LAYER_ON_FLOATS}]
    assert [(each.code.name, each.standing, each.place.node) for each in reported] == [
        ("layer-on-int8", Standing.REWRITE, 3),
        ("layer-on-int8", Standing.REWRITE, 7),
        ("quantized-layer-on-floats", Standing.ACCURACY, 10),
    ]
    assert {each.rule for each in reported} == {"Conv/quantized/integer", "Conv/quantized/float"}
    assert reported[0].message.en == "Conv of a quantized model runs on int8"
    assert reported[0].message.zh == "Conv 属于量化模型，将以 int8 运行"
    assert reported[2].message.en == (
        "Conv takes quantized data and weights to run on int8, found its weights are not quantized"
    )
    assert "其权重未量化" in reported[2].message.zh
    assert all(each.help.en and each.help.zh for each in reported)
    assert not any(each.standing is Standing.ERROR for each in model.findings)
    assert [each.outcome.value for each in model.layers] == ["integer", "integer", "float"]


def test_an_operator_that_is_opened_keeps_its_name(tmp_path: Path) -> None:
    s = Sketch()
    inputs = [s.input("x", [1, 2, 4, 4], I8), *s.scales(0.5, 0, I8)]
    inputs += [s.weight(np.ones((2, 2, 3, 3)), I8), *s.scales(0.5, 0, I8), *s.scales(4.0, 0, I8)]
    s.output(s.op("QLinearConv", *inputs, strides=[1, 1]), I8)
    model = checked(s.model(), tmp_path)
    (found,) = (each for each in model.findings if each.code is LAYER_ON_INT8)
    assert found.rule == "QLinearConv/quantized/integer"
    assert (found.place.op_type, found.place.node_name) == ("QLinearConv", "QLinearConv_0")
    assert model.standing is Standing.REWRITE


def test_what_has_no_counterpart_is_an_error_with_its_reason(tmp_path: Path) -> None:
    s = Sketch(21)
    s.output(s.qdq(s.input("x", [2, 3]), 0.5, 0, I16))
    model = checked(s.model(), tmp_path)
    assert [each.code for each in model.findings] == [UNKNOWN_OPERATOR, UNSUPPORTED_FORM] * 2
    assert "its codes are int16; the device has only int8" in model.findings[1].message.en
    assert "其量化类型为 int16" in model.findings[1].message.zh
    assert model.layers == ()


def test_what_is_folded_away_is_not_reported(tmp_path: Path) -> None:
    # Blocks have no counterpart, but constants of them can be computed.
    s = Sketch(21)
    table = s.dq(s.weight([[1, 2, 3, 4]], I8), [[1.0, 2.0]], [[0, 0]], axis=1, block_size=2)
    s.output(s.op("Add", s.qdq(s.input("x", [1, 4]), 0.5), table))
    model = checked(s.model(), tmp_path)
    assert UNSUPPORTED_FORM not in {each.code for each in model.findings}


def converted(s: Sketch, folder: Path, soc: str = "sim") -> Conversion:
    """Return the conversion of a sketch."""
    import onnx

    onnx.save(s.model(), folder / "model.onnx")
    return atc_py.convert(folder / "model.onnx", folder / "model.om", soc=soc)


def test_layers_that_the_soc_takes_back_are_reported(tmp_path: Path) -> None:
    done = converted(mixed(), tmp_path, "Ascend310P3")
    told = [each for each in done.check.findings if each.code is LAYER_ROLLED_BACK]
    assert [(each.place.node, each.standing) for each in told] == [
        (3, Standing.REWRITE),
        (7, Standing.REWRITE),
    ]
    assert LAYER_ON_INT8 not in {each.code for each in done.check.findings}
    reason = "2 input channels: up to 16, Ascend310P3 runs a layer on float16"
    assert told[0].message.en == (
        "Conv runs on int8 only with more input channels, when the SoC is Ascend310P3, found "
        + reason
    )
    assert "以 float16 运行" in told[0].message.zh
    layers = done.as_json()["quantized"]
    assert isinstance(layers, dict)
    assert (layers["layers"], layers["on_int8"]) == (3, 0)
    assert [each["reason"] for each in layers["on_floats"]][:2] == [reason] * 2
    (rows,) = (row for row in conversion_tables(done)[-1].rows if row[0] == "layers on int8")
    assert rows[1].startswith(f"0 of 3; on floats 2 because {reason}")
    assert dict(done.facts.target_operators)["Conv2D"] == 3
    assert {each.name: each.changes for each in done.facts.passes}["roll-back-quant"] == 2


def test_a_conversion_counts_the_layers(tmp_path: Path) -> None:
    done = converted(mixed(), tmp_path)
    assert done.as_json()["quantized"] == {
        "layers": 3,
        "on_int8": 2,
        "on_floats": [
            {
                "node": 10,
                "name": "Conv_10",
                "op_type": "Conv",
                "reason": "its weights are not quantized",
            }
        ],
    }
    expected = "2 of 3; on floats 1 because its weights are not quantized"
    assert ("layers on int8", expected) in conversion_tables(done)[-1].rows


def test_a_conversion_of_another_model_does_not_speak_of_it(tmp_path: Path) -> None:
    s = Sketch()
    s.output(s.op("Relu", s.input("x", [2, 3])))
    done = converted(s, tmp_path)
    assert "quantized" not in done.as_json()
    assert "layers on int8" not in [row[0] for row in conversion_tables(done)[-1].rows]


def test_quantization_without_counterpart_is_not_converted(tmp_path: Path) -> None:
    s = Sketch(21)
    s.output(s.qdq(s.input("x", [2, 3]), 0.5, 0, I16))
    with pytest.raises(RulesBrokenError):
        converted(s, tmp_path)
