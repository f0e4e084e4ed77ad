"""Quantized models whose chain is broken: what check says, where, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnx import helper

import atc_py
from atc_py.check.findings import Standing
from tests.frontend import onnx_files

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt
    import onnx

    from atc_py.check.findings import Finding

    Array = npt.NDArray[Any]

node = helper.make_node
X: onnx_files.Ports = {"x": (onnx_files.FLOAT, [1, 3, 8, 8])}


def word(scale: float, count: int = 4) -> Array:
    """Return graph words of one factor."""
    return np.full(count, np.float32(scale).view(np.uint32), np.uint64)


def chain(**changes: Any) -> onnx.ModelProto:
    """Return AscendQuant, Conv on int8, AscendDequant, Sigmoid; `changes` break a link."""
    consts = {
        "w": changes.get("weights", np.ones((4, 3, 3, 3), np.int8)),
        "b": changes.get("bias", np.zeros(4, np.int32)),
        "d": changes.get("words", word(0.01)),
    }
    quant = node("AscendQuant", ["x"], ["q"], scale=changes.get("scale", 20.0), offset=0.0)
    conv = node("Conv", [changes.get("data", "q"), "w", "b"], ["sum"], "conv")
    dequant = node("AscendDequant", ["sum", "d"], ["f"], "dequant")
    last = node("Sigmoid", [changes.get("used", "f")], ["y"], "last")
    return onnx_files.model([quant, conv, dequant, last], X, ["y", "f", "q"], consts)


def errors(model: onnx.ModelProto, folder: Path) -> list[Finding]:
    """Return the findings of level error."""
    (check,) = atc_py.check_models(onnx_files.save(model, folder)).models
    assert not check.faults
    return [each for each in check.findings if each.standing is Standing.ERROR]


def test_whole_chain_is_supported(tmp_path: Path) -> None:
    assert errors(chain(), tmp_path) == []


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
