"""Networks quantized by onnxruntime's static quantizer, and the layers of such networks alone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper, utils, version_converter
from onnxruntime.quantization import (
    CalibrationDataReader,
    CalibrationMethod,
    QuantFormat,
    QuantType,
    quantize_static,
)

Array = npt.NDArray[Any]


OPSET = 13

JITTER = 0.15
"""What the device's arithmetic can move a value by, in steps of its quantization.

At the end of the range, 127 steps, a factor of 19 bits is off by 127 * 2^-10, a float16 by
127 * 2^-12, a float16 factor as much; values are spread over the range, errors over their bounds.
"""
_LAYERS = frozenset({"Conv", "Gemm", "MatMul"})
_ACTIVATIONS = frozenset({"Relu", "Clip"})
_INTEGER = {
    "QLinearConv": "Conv",
    "ConvInteger": "Conv",
    "QGemm": "Gemm",
    "QLinearMatMul": "MatMul",
    "MatMulInteger": "MatMul",
    "MatMulIntegerToFloat": "MatMul",
}
"""What onnxruntime runs in integers, and the operator that it stands for."""


@dataclass(frozen=True)
class Scheme:
    """A scheme of quantization for a network; the name says it for test ids."""

    name: str
    form: QuantFormat = QuantFormat.QDQ
    data: QuantType = QuantType.QInt8
    weights: QuantType = QuantType.QInt8
    per_channel: bool = False
    method: CalibrationMethod = CalibrationMethod.MinMax

    def __str__(self) -> str:
        return self.name


class Session:
    """onnxruntime on a model, and what it made of it."""

    def __init__(self, model: Path | onnx.ModelProto, kept: Path | None = None) -> None:
        options = ort.SessionOptions()
        options.log_severity_level = 3
        if kept is not None:
            options.optimized_model_filepath = str(kept)
        source = model.SerializeToString() if isinstance(model, onnx.ModelProto) else str(model)
        self._kept = kept
        self._session = ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])

    def run(self, feeds: dict[str, Array]) -> dict[str, Array]:
        """Return the outputs by name."""
        names = [output.name for output in self._session.get_outputs()]
        return dict(zip(names, self._session.run(names, feeds), strict=True))

    def integer_layers(self) -> dict[str, int]:
        """Return the number of Conv, Gemm and MatMul that run in integers."""
        assert self._kept is not None
        nodes = onnx.load(self._kept).graph.node
        found = [_INTEGER[node.op_type] for node in nodes if node.op_type in _INTEGER]
        return {op: found.count(op) for op in sorted(set(found))}


def feeds_for(path: Path, count: int, seed: int) -> list[dict[str, Array]]:
    """Return normal numbers for the inputs of a model, open dims 1."""
    generator = np.random.default_rng(seed)
    inputs = onnx.load(path, load_external_data=False).graph.input
    shapes = {
        value.name: [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
        for value in inputs
    }
    return [
        {
            name: generator.standard_normal(shape).astype(np.float32)
            for name, shape in shapes.items()
        }
        for _ in range(count)
    ]


def prepared(source: Path, target: Path, *, even: bool = False) -> None:
    """Write a float network at opset 13, its normalizations folded, ready for quantization.

    With `even` each convolution's weights are scaled so that its results have a deviation of 1:
    weights that nobody trained can let the data die away below what float16 holds.
    """
    model = onnx.load(source)
    opset = max(entry.version for entry in model.opset_import if not entry.domain)
    if opset != OPSET:
        model = version_converter.convert_version(model, OPSET)
    folded = target.with_suffix(".folded.onnx")
    onnx.save(model, folded)
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(target)
    ort.InferenceSession(str(folded), options, providers=["CPUExecutionProvider"])
    if even:
        model = onnx.load(target)
        _even_out(model, feeds_for(target, 1, 7)[0])
        onnx.save(model, target)


def _even_out(model: onnx.ModelProto, feeds: dict[str, Array]) -> None:
    """Scale the weights of each convolution by the deviation of its results, front to back."""
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in [node for node in model.graph.node if node.op_type == "Conv"]:
        head = onnx.ModelProto()
        head.CopyFrom(model)
        del head.graph.output[:]
        head.graph.output.append(onnx.ValueInfoProto(name=node.output[0]))
        deviation = float(Session(head).run(feeds)[node.output[0]].std())
        for name in node.input[1:]:
            scaled = numpy_helper.to_array(weights[name]) / np.float32(deviation)
            weights[name].CopyFrom(numpy_helper.from_array(scaled, name))


class _Calibration(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime has no types
    """Returns feeds one after the other."""

    def __init__(self, feeds: Sequence[dict[str, Array]]) -> None:
        self._feeds = iter(feeds)

    def get_next(self) -> dict[str, Array] | None:
        """Return the next feeds, or None at the end."""
        return next(self._feeds, None)


def quantized(source: Path, target: Path, scheme: Scheme) -> None:
    """Quantize a float network with two calibration samples."""
    quantize_static(
        str(source),
        str(target),
        _Calibration(feeds_for(source, 2, 1)),
        quant_format=scheme.form,
        activation_type=scheme.data,
        weight_type=scheme.weights,
        per_channel=scheme.per_channel,
        calibrate_method=scheme.method,
    )


@dataclass(frozen=True)
class Layer:
    """A layer of a QDQ network as a model of its own, from quantized data to quantized result."""

    name: str
    model: onnx.ModelProto
    data: tuple[str, ...]
    result: str


def layers_of(model: onnx.ModelProto) -> Iterator[Layer]:
    """Yield the layers of a QDQ network whose data and results are quantized."""
    producers = {name: node for node in model.graph.node for name in node.output}
    readers: dict[str, list[onnx.NodeProto]] = {}
    for node in model.graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    constants = {tensor.name for tensor in model.graph.initializer}
    for node in model.graph.node:
        result = _quantized_result(node, readers)
        if node.op_type not in _LAYERS or result is None:
            continue
        opened = [producers.get(name) for name in node.input[:2]]
        if any(each is None or each.op_type != "DequantizeLinear" for each in opened):
            continue
        data = tuple(each.input[0] for each in opened if each and each.input[0] not in constants)
        if data and not any(name in {i.name for i in model.graph.input} for name in data):
            yield Layer(node.name, _cut_out(model, data, result), data, result)


def watched(model: onnx.ModelProto, names: Sequence[str]) -> onnx.ModelProto:
    """Return a model that returns some more of its values."""
    more = onnx.ModelProto()
    more.CopyFrom(model)
    outputs = {value.name for value in more.graph.output}
    for name in dict.fromkeys(names):
        if name not in outputs:
            more.graph.output.append(onnx.ValueInfoProto(name=name))
    return more


def _quantized_result(node: onnx.NodeProto, readers: dict[str, list[onnx.NodeProto]]) -> str | None:
    """Return the quantized result of a layer, after its activation."""
    following = readers.get(node.output[0], [])
    if len(following) == 1 and following[0].op_type in _ACTIVATIONS:
        following = readers.get(following[0].output[0], [])
    if len(following) == 1 and following[0].op_type == "QuantizeLinear":
        return str(following[0].output[0])
    return None


def _cut_out(model: onnx.ModelProto, data: Sequence[str], result: str) -> onnx.ModelProto:
    """Return the part of a model between some values and a result."""
    typed = onnx.shape_inference.infer_shapes(model)
    kinds = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    rounding = (node for node in model.graph.node if node.op_type == "QuantizeLinear")
    points = {node.output[0]: kinds[node.input[2]] for node in rounding}
    known = {value.name for value in typed.graph.value_info}
    for name in (*data, result):
        if name not in known:
            typed.graph.value_info.append(helper.make_tensor_value_info(name, points[name], None))
    part: onnx.ModelProto = utils.Extractor(typed).extract_model(list(data), [result])
    return part


def jittered(
    model: onnx.ModelProto, shapes: Mapping[str, Sequence[int]], seed: int
) -> onnx.ModelProto:
    """Return a QDQ network with values moved by up to `JITTER` of a step before quantization.

    `shapes` has the shape of each quantized value, by its name.
    """
    generator = np.random.default_rng(seed)
    scales = {tensor.name: tensor for tensor in model.graph.initializer}
    moved = onnx.ModelProto()
    moved.CopyFrom(model)
    nodes: list[onnx.NodeProto] = []
    for node in moved.graph.node:
        if node.op_type == "QuantizeLinear":
            step = numpy_helper.to_array(scales[node.input[1]])
            name = f"{node.output[0]}.jitter"
            noise = generator.uniform(-JITTER, JITTER, shapes[node.output[0]]) * step
            moved.graph.initializer.append(numpy_helper.from_array(noise.astype(np.float32), name))
            nodes.append(helper.make_node("Add", [node.input[0], name], [f"{name}ed"]))
            node.input[0] = f"{name}ed"
        nodes.append(node)
    kept = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del moved.graph.node[:]
    moved.graph.node.extend(kept)
    return moved
