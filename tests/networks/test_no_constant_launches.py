"""No launch works on constants alone: what they make is worked out when the model is compiled."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import atc_py
from atc_py.diag import AtcError
from atc_py.package.schema import OmModel
from atc_py.target import find_operator
from tests.fuzz.random_forms import random_form
from tests.fuzz.random_graphs import random_graph
from tests.fuzz.random_nodes import random_node
from tests.networks.builders.branching import build_expert_model, build_varied_model
from tests.networks.builders.detector import build_detector
from tests.networks.builders.speech import build_speech_model
from tests.networks.builders.transformer import build_masked_transformer
from tests.networks.quantized import Scheme, prepared, quantized
from tests.networks.test_shared_models import MODELS, NAMES
from tests.sampling import alternating, rounds

Draw: TypeAlias = Callable[[random.Random], onnx.ModelProto]

MODES = ("force_fp16", "must_keep_origin_dtype", "allow_mix_precision")
SOCS = ("sim", "Ascend310P3", "Ascend310B4", "Ascend910B3")
BUILDERS = {
    "branching": build_expert_model,
    "varied": build_varied_model,
    "detector": build_detector,
    "speech": build_speech_model,
    "transformer": build_masked_transformer,
}


def of_constants(model: OmModel) -> list[str]:
    """Return launches of operands that the compiler knows, for a launch that reads others as well.

    What random numbers are drawn of is left out, and what the model returns whatever it is fed.
    """
    known = {at for at, tensor in enumerate(model.tensors) if tensor.member is not None}
    makers: dict[int, str] = {}
    found: dict[str, None] = {}
    for node in model.nodes:
        row = find_operator(node.op)
        read = {at for at in node.inputs if at >= 0}
        if row is None or row.attribute("seed") is not None:
            continue
        if read <= known:
            known.update(node.outputs)
            before = next((makers[at] for at in read if at in makers), "")
            maker = f"{node.op} {node.name}" if row.launches_kernel else before
            makers.update(dict.fromkeys(node.outputs, maker) if maker else {})
            continue
        found.update(dict.fromkeys(makers[at] for at in read if at in makers))
    return list(found)


def compiled(source: Path, soc: str, mode: str = "force_fp16") -> OmModel:
    """Return the description of what a model becomes."""
    om = source.with_suffix(".om")
    atc_py.convert(source, om, soc=soc, precision_mode=mode)
    with atc_py.load(om) as model:
        return model.description


@pytest.mark.parametrize("seed", rounds(8, 600))
@pytest.mark.parametrize("draw", [random_graph, random_node, random_form])
def test_random_models(draw: Draw, seed: int, tmp_path: Path) -> None:
    """Models that the list refuses, or whose dtypes a mode does not reach, prove nothing."""
    source = tmp_path / "net.onnx"
    onnx.save(draw(random.Random(seed)), source)  # noqa: S311
    try:
        model = compiled(source, SOCS[seed % len(SOCS)], MODES[seed % len(MODES)])
    except AtcError:
        return
    assert of_constants(model) == []


@pytest.mark.parametrize(("name", "soc"), alternating(list(BUILDERS), SOCS))
def test_networks(name: str, soc: str, tmp_path: Path) -> None:
    onnx.save(BUILDERS[name](), tmp_path / "net.onnx")
    assert of_constants(compiled(tmp_path / "net.onnx", soc)) == []


@pytest.mark.parametrize(("name", "soc"), alternating(NAMES, SOCS, 3))
def test_shared_networks(name: str, soc: str, tmp_path: Path) -> None:
    if not MODELS.is_dir():
        pytest.skip("the shared models are not here")
    om = tmp_path / "net.om"
    atc_py.convert(MODELS / name / "model.onnx", om, soc=soc)
    with atc_py.load(om) as model:
        assert of_constants(model.description) == []


@pytest.mark.parametrize(
    ("name", "soc"), [("espcn_opset12", SOCS[2]), ("resnet_mini_opset9", SOCS[1])]
)
def test_quantized_networks(name: str, soc: str, tmp_path: Path) -> None:
    if not MODELS.is_dir():
        pytest.skip("the shared models are not here")
    whole, source = tmp_path / "whole.onnx", tmp_path / "net.onnx"
    prepared(MODELS / name / "model.onnx", whole)
    quantized(whole, source, Scheme("int8"))
    assert of_constants(compiled(source, soc)) == []


@pytest.mark.parametrize("shape", [(3, 1, 1), (1, 3, 1, 1), (1,), (1, 1, 1)])
def test_slopes_of_any_rank_are_constants(shape: tuple[int, ...], tmp_path: Path) -> None:
    slope = numpy_helper.from_array(np.full(shape, 0.3, np.float32), "slope")
    node = helper.make_node("PRelu", ["x", "slope"], ["y"])
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 4, 3])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3, 4, 3])
    graph = helper.make_graph([node], "slopes", [value], [result], [slope])
    opsets = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opsets), tmp_path / "net.onnx")
    model = compiled(tmp_path / "net.onnx", "sim")
    assert [node.op for node in model.nodes] == ["Cast", "PRelu", "Cast"]
