"""Quantized models whose chain is broken: what check says, where, and what to do."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper

import atc_py
from atc_py.check.findings import Finding, Standing
from atc_py.check.quantized import _channels
from atc_py.diag.codes import LAYER_ROLLED_BACK, QUANT_ROOT_RESET, QUANT_ROUND_MODE
from atc_py.onnx_graph.source import SourceNode, SourceTensor
from tests.check.bound_nodes import tensor
from tests.onnx_graph import onnx_files

Array = npt.NDArray[Any]

node = helper.make_node
X: onnx_files.Ports = {"x": (onnx_files.FLOAT, [1, 3, 8, 8])}


def word(scale: float, count: int = 4) -> Array:
    """Return graph words of one factor."""
    return np.full(count, np.float32(scale).view(np.uint32), np.uint64)


def chain(**changes: Any) -> onnx.ModelProto:
    """Return AscendQuant, Conv on int8, AscendDequant, Sigmoid; `changes` break a link."""
    channels = changes.get("channels", 3)
    ports: onnx_files.Ports = {"x": (onnx_files.FLOAT, [1, channels, 8, 8])}
    consts = {
        "w": changes.get("weights", np.ones((4, channels, 3, 3), np.int8)),
        "b": changes.get("bias", np.zeros(4, np.int32)),
        "d": changes.get("words", word(0.01)),
    }
    quant = node("AscendQuant", ["x"], ["q"], scale=changes.get("scale", 20.0), offset=0.0)
    conv = node("Conv", [changes.get("data", "q"), "w", "b"], ["sum"], "conv")
    dequant = node("AscendDequant", ["sum", "d"], ["f"], "dequant")
    last = node("Sigmoid", [changes.get("used", "f")], ["y"], "last")
    return onnx_files.model([quant, conv, dequant, last], ports, ["y", "f", "q"], consts)


def errors(model: onnx.ModelProto, folder: Path) -> list[Finding]:
    """Return the findings of level error."""
    (check,) = atc_py.check_models(onnx_files.save(model, folder)).models
    assert not check.faults
    return [each for each in check.findings if each.standing is Standing.ERROR]


def test_whole_chain_is_supported(tmp_path: Path) -> None:
    assert errors(chain(), tmp_path) == []


def told_back(model: onnx.ModelProto, folder: Path, soc: str) -> list[Finding]:
    """Return the findings on layers that the SoC takes back to float16."""
    (check,) = atc_py.check_models(onnx_files.save(model, folder), soc=soc).models
    assert not check.faults
    return [each for each in check.findings if each.code is LAYER_ROLLED_BACK]


@pytest.mark.parametrize(
    ("soc", "taken"),
    [
        ("sim", 0),
        ("Ascend310", 1),
        ("Ascend910A", 1),
        ("Ascend310P3", 1),
        ("Ascend610", 1),
        ("Ascend310B1", 0),
        ("Ascend910B1", 0),
        ("Ascend950PR_9599", 0),
    ],
)
def test_layers_that_the_soc_takes_back_are_named(soc: str, taken: int, tmp_path: Path) -> None:
    found = told_back(chain(), tmp_path, soc)
    assert [(each.place.node_name, each.standing) for each in found] == (
        [("conv", Standing.ACCURACY)] * taken
    )
    path = onnx_files.save(chain(), tmp_path)
    done = atc_py.convert(path, tmp_path / "model.om", soc=soc)
    passes = {each.name: each.changes for each in done.facts.passes}
    assert passes["roll-back-quant"] == taken


@pytest.mark.parametrize(
    "change", [{"used": "sum"}, {"weights": np.ones((4, 3, 3, 3), np.float32)}, {"channels": 17}]
)
def test_a_layer_that_stays_on_int8_is_not_reported(change: dict[str, Any], tmp_path: Path) -> None:
    assert told_back(chain(**change), tmp_path, "Ascend310P3") == []


def with_quant(model: onnx.ModelProto, **attributes: Any) -> onnx.ModelProto:
    """Return a model with other attributes of its AscendQuant."""
    quant = model.graph.node[0]
    kept = [each for each in quant.attribute if each.name not in attributes]
    del quant.attribute[:]
    quant.attribute.extend([*kept, *(helper.make_attribute(*each) for each in attributes.items())])
    return model


@pytest.mark.parametrize("soc", ["sim", "Ascend310P3", "Ascend910B1"])
def test_a_root_that_atc_resets_is_reported_by_check_and_convert(soc: str, tmp_path: Path) -> None:
    model = with_quant(chain(), scale=700.0, sqrt_mode=1)
    path = onnx_files.save(model, tmp_path)
    done = atc_py.convert(path, tmp_path / "model.om", soc=soc)
    (check,) = atc_py.check_models(path, soc=soc).models
    for findings in (check.findings, done.check.findings):
        (found,) = (each for each in findings if each.code is QUANT_ROOT_RESET)
        assert found.message.en == (
            "sqrt_mode of AscendQuant must be 0 for ATC, which reads scale alone, "
            "found 1: a device multiplies by 700 once, not twice"
        )
        assert "只乘一次 700" in found.message.zh
        assert (found.standing, found.place.field) == (Standing.ACCURACY, "attribute sqrt_mode")
    whole = onnx_files.save(with_quant(chain(), sqrt_mode=0), tmp_path)
    (check,) = atc_py.check_models(whole, soc=soc).models
    assert QUANT_ROOT_RESET not in {each.code for each in check.findings}


@pytest.mark.parametrize(
    ("soc", "mode", "told"),
    [
        ("Ascend310", "Floor", True),
        ("Ascend310", "Round", False),
        ("Ascend910A", "Floor", False),
        ("Ascend310P3", "Trunc", False),
        ("sim", "Floor", False),
    ],
)
def test_a_round_mode_that_the_kernel_ignores_is_reported(
    soc: str, mode: str, *, told: bool, tmp_path: Path
) -> None:
    path = onnx_files.save(with_quant(chain(), round_mode=mode), tmp_path)
    (check,) = atc_py.check_models(path, soc=soc).models
    found = [each for each in check.findings if each.code is QUANT_ROUND_MODE]
    assert len(found) == told
    if told:
        assert f"found {mode}, which the kernel ignores" in found[0].message.en
        assert f"when the SoC is {soc}" in found[0].message.en


@pytest.mark.parametrize(
    ("soc", "target", "last", "told"),
    [
        ("Ascend950PR_9599", "INT4", 7, True),
        ("Ascend950PR_9599", "INT4", 8, False),
        ("Ascend950PR_9599", "INT8", 7, False),
        ("Ascend910B3", "INT4", 7, False),
    ],
)
def test_int4_has_an_even_last_axis_where_its_tiling_says_so(
    soc: str, target: str, last: int, *, told: bool, tmp_path: Path
) -> None:
    quant = helper.make_node("AscendQuant", ["x"], ["y"], scale=2.0, offset=0.0, dst_type=target)
    model = onnx_files.model([quant], {"x": (onnx_files.FLOAT, [2, last])}, ["y"])
    path = onnx_files.save(model, tmp_path)
    (check,) = atc_py.check_models(path, soc=soc).models
    found = [each for each in check.findings if each.standing is Standing.ERROR]
    assert [each.rule for each in found] == ["AscendQuant/obeyed/dst_type"] * told


BROKEN = [
    ({"weights": np.ones((4, 3, 3, 3), np.float32)}, "Conv", "W", "must be int8", "float32"),
    ({"data": "x"}, "Conv", "X", "must be int8", "float32"),
    ({"bias": np.zeros(4, np.float32)}, "Conv", "B", "must be int32", "float32"),
    ({"words": word(0.01, 3)}, "AscendDequant", "deq_scale", "one element", "3"),
    ({"words": word(0.01).reshape(2, 2)}, "AscendDequant", "deq_scale", "one axis", "2x2"),
    ({"words": word(0.0)}, "AscendDequant", "deq_scale", "positive", "0.0"),
    ({"words": word(np.inf)}, "AscendDequant", "deq_scale", "positive", "inf"),
    ({"words": word(-1.0)}, "AscendDequant", "deq_scale", "positive", "-1.0"),
    ({"scale": 0.0}, "AscendQuant", "scale", "positive", "0.0"),
]


@pytest.mark.parametrize(("change", "op", "field", "allowed", "observed"), BROKEN)
def test_broken_link_is_reported_at_its_node_with_the_value_seen(
    change: dict[str, Any], op: str, field: str, allowed: str, observed: str, tmp_path: Path
) -> None:
    found = errors(chain(**change), tmp_path)
    (finding,) = (each for each in found if field in str(each.place.field))
    assert finding.place.op_type == op
    assert allowed in finding.allowed.en
    assert observed in finding.observed.en
    assert finding.help.en


def test_integer_layer_says_what_it_takes(tmp_path: Path) -> None:
    (finding, *_) = errors(chain(weights=np.ones((4, 3, 3, 3), np.float32)), tmp_path)
    for part in ("AscendQuant", "int32 bias", "AscendDequant", "keep all inputs in floats"):
        assert part in finding.help.en


def test_int8_by_floats_is_reported_once_and_where_it_is(tmp_path: Path) -> None:
    floats = np.ones((4, 3, 3, 3), np.float32)
    quant = node("AscendQuant", ["x"], ["q"], scale=20.0, offset=0.0)
    plain = [quant, node("Conv", ["q", "w"], ["c"], "conv"), node("Relu", ["c"], ["y"], "relu")]
    for model in (
        chain(weights=floats, bias=np.zeros(4, np.int32)),
        onnx_files.model(plain, X, ["y"], {"w": floats}),
    ):
        (check,) = atc_py.check_models(onnx_files.save(model, tmp_path)).models
        assert not check.faults
        wrong = [each for each in check.findings if each.standing is Standing.ERROR]
        assert [(each.place.op_type, each.observed.en) for each in wrong] == [("Conv", "float32")]


def test_sums_that_are_not_dequantized_are_reported_where_they_are_used(tmp_path: Path) -> None:
    (finding,) = errors(chain(used="sum"), tmp_path)
    assert (finding.place.op_type, finding.observed.en) == ("Sigmoid", "int32")


def test_channels_beside_open_dims_are_known(tmp_path: Path) -> None:
    quant = node("AscendQuant", ["x"], ["q"], scale=20.0, offset=0.0)
    nodes = [quant, node("Conv", ["q", "w"], ["s"]), node("AscendDequant", ["s", "d"], ["y"])]
    for count, standing in ((4, None), (3, Standing.UNKNOWN)):
        consts = {"w": np.ones((4, 3, 3, 3), np.int8), "d": word(0.01, count)}
        model = onnx_files.model(nodes, {"x": (onnx_files.FLOAT, ["n", 3, 8, 8])}, ["y"], consts)
        (check,) = atc_py.check_models(onnx_files.save(model, tmp_path)).models
        found = [each.standing for each in check.findings if "deq_scale" in each.rule]
        assert found == ([] if standing is None else [standing])


@pytest.mark.parametrize(
    ("dims", "channels"),
    [((1, 8, 4, 4), 8), ((1, None, 4, 4), None), ((4, 8), None), ((1, 8, 4), None), (None, None)],
)
def test_channels_are_those_of_images(
    dims: tuple[int | None, ...] | None, channels: int | None
) -> None:
    data, codes = (
        SourceTensor(name, element, dims) for name, element in (("x", "float32"), ("q", "int8"))
    )
    quant = SourceNode(0, "quant", "AscendQuant", "", 13, 13, (data,), (codes,), {})
    layer = SourceNode(1, "layer", "Conv", "", 13, 13, (codes,), (tensor(1, 8, 4, 4),), {})
    assert _channels(layer, {codes: quant}) == channels
