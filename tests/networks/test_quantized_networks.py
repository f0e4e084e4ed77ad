"""Networks that onnxruntime's static quantizer makes: every layer in integers, every layer right.

A layer alone, on the same data, differs from onnxruntime's by one step at most. Such steps add up
along a network, and networks whose weights nobody trained make more of them. So a whole network is
held to what onnxruntime itself gives when each value is moved, before it is quantized, by what the
device's factors of 19 bits and its float16 can move it.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType

import atc_py
from atc_py.package.schema import OmModel
from tests.networks.quantized import (
    Scheme,
    Session,
    feeds_for,
    jittered,
    layers_of,
    prepared,
    quantized,
    watched,
)
from tests.networks.test_shared_models import MODELS
from tests.sampling import sampled

Array = npt.NDArray[Any]

U8, S8 = QuantType.QUInt8, QuantType.QInt8
SCHEMES = [
    Scheme("int8"),
    Scheme("int8-channels", per_channel=True),
    Scheme("uint8", data=U8),
    Scheme("uint8-channels-entropy", data=U8, per_channel=True, method=CalibrationMethod.Entropy),
    Scheme("uint8-weights", data=U8, weights=U8),
    Scheme("qoperator", form=QuantFormat.QOperator, data=U8),
    Scheme("qoperator-int8-channels", form=QuantFormat.QOperator, per_channel=True),
]
NETWORKS = [
    "espcn_opset12",
    "resnet_mini_opset9",
    "unet_opset13",
    "vit_mini_opset13",
    "mobilenetv2_opset13",
]

WHOLE = [
    (name, scheme)
    for name in NETWORKS
    for scheme in (SCHEMES[1:3] if name.startswith(("mobilenet", "vit")) else SCHEMES)
]
LAYERS = [(name, scheme) for name in NETWORKS[:4] for scheme in SCHEMES[:5]]
ALWAYS = {
    "espcn_opset12": {"int8-channels", "uint8-weights", "qoperator"},
    "resnet_mini_opset9": {"int8"},
}
"""The schemes of each network that are tried always."""


def _sampled(cases: list[tuple[str, Scheme]]) -> list[Any]:
    kept = [(name, scheme) for name, scheme in cases if scheme.name in ALWAYS.get(name, ())]
    return sampled(kept, (case for case in cases if case not in kept))


_CUBE = {
    "Conv2D": "Conv",
    "DepthwiseConv2D": "Conv",
    "MatMulV2": "MatMul",
    "BatchMatMulV2": "MatMul",
}


def integer_layers(description: OmModel) -> dict[str, int]:
    """Return the number of source layers that run in integers, products of Gemm included."""
    found: dict[str, set[int]] = {}
    for node in description.nodes:
        if node.op in _CUBE and description.tensors[node.inputs[0]].dtype == "int8":
            for origin in node.origins:
                if origin.op_type in {"Conv", "Gemm", "MatMul"}:
                    found.setdefault(origin.op_type, set()).add(origin.index)
    return {op: len(places) for op, places in sorted(found.items())}


def last_scales(model: onnx.ModelProto) -> dict[str, float]:
    """Return the step of each output that a DequantizeLinear gives."""
    values = {tensor.name: tensor for tensor in model.graph.initializer}
    outputs = {value.name for value in model.graph.output}
    return {
        node.output[0]: float(numpy_helper.to_array(values[node.input[1]]))
        for node in model.graph.node
        if node.op_type == "DequantizeLinear" and node.output[0] in outputs
    }


def compiled(path: Path, **options: Any) -> atc_py.Model:
    """Return an ONNX file compiled and loaded."""
    om = path.with_suffix(".om")
    atc_py.convert(path, om, **options)
    return atc_py.load(om)


def made(name: str, scheme: Scheme, folder: Path) -> tuple[Path, Path]:
    """Return a network in floats and quantized."""
    source, target = folder / "float.onnx", folder / "quantized.onnx"
    prepared(MODELS / name / "model.onnx", source, even=name.startswith("mobilenet"))
    quantized(source, target, scheme)
    return source, target


@pytest.mark.skipif(not MODELS.exists(), reason="the shared networks are not there")
@pytest.mark.parametrize(("name", "scheme"), _sampled(WHOLE), ids=str)
def test_layers_of_networks_run_in_integers_and_agree(
    name: str, scheme: Scheme, tmp_path: Path
) -> None:
    source, target = made(name, scheme, tmp_path)
    reference = Session(target, tmp_path / "kept.onnx")
    (scale,) = last_scales(onnx.load(target)).values()
    feeds = feeds_for(source, 3, 99)
    expected = [reference.run(each) for each in feeds]
    with compiled(target) as model:
        found = integer_layers(model.description)
        results = [model.run(each) for each in feeds]
    for op, count in reference.integer_layers().items():
        assert found.get(op, 0) >= count, (op, found)
    ours = deviation(results, expected, scale)
    if scheme.form is QuantFormat.QDQ:
        theirs = moved_deviation(onnx.load(target), feeds, expected, scale)
        assert ours < 2 * theirs, (ours, theirs)


def deviation(
    found: list[dict[str, Array]], expected: list[dict[str, Array]], step: float
) -> float:
    """Return root mean square of what differs, in steps of the last quantization."""
    pairs = zip(found, expected, strict=True)
    steps = [(mine[name] - theirs[name]) / step for mine, theirs in pairs for name in theirs]
    return float(np.sqrt(np.mean(np.concatenate([each.ravel() for each in steps]) ** 2)))


def moved_deviation(
    model: onnx.ModelProto,
    feeds: list[dict[str, Array]],
    expected: list[dict[str, Array]],
    step: float,
) -> float:
    """Return the deviation of onnxruntime's results when quantized values move a little."""
    names = [node.output[0] for node in model.graph.node if node.op_type == "QuantizeLinear"]
    values = Session(watched(model, names)).run(feeds[0])
    shapes = {name: values[name].shape for name in names}
    found = []
    for seed in range(4):
        session = Session(jittered(model, shapes, seed))
        found.append(deviation([session.run(each) for each in feeds], expected, step))
    return float(np.sqrt(np.mean(np.square(found))))


@pytest.mark.skipif(not MODELS.exists(), reason="the shared networks are not there")
@pytest.mark.parametrize(("name", "scheme"), _sampled(LAYERS), ids=str)
def test_each_layer_differs_by_one_step_at_most(name: str, scheme: Scheme, tmp_path: Path) -> None:
    source, target = made(name, scheme, tmp_path)
    model = onnx.load(target)
    layers = list(layers_of(model))
    assert layers
    names = [name for layer in layers for name in (*layer.data, layer.result)]
    (feeds,) = feeds_for(source, 1, 99)
    values = Session(watched(model, names)).run(feeds)
    different = total = 0
    for layer in layers:
        path = tmp_path / "layer.onnx"
        onnx.save(layer.model, path)
        with compiled(path) as alone:
            assert sum(integer_layers(alone.description).values()) == 1
            found = alone.run({each: values[each] for each in layer.data})[layer.result]
        expected = values[layer.result]
        assert found.dtype == expected.dtype
        steps = np.abs(found.astype(np.int64) - expected.astype(np.int64))
        assert steps.max() <= 1, (layer.name, steps.max())
        different += int(np.count_nonzero(steps))
        total += steps.size
    assert different < 0.02 * total
