"""Small networks whose inputs take pictures, configurations for them, and what AIPP gives, by formula."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[Any]


NARROW = ((298, 0, 409), (298, -100, -208), (298, 516, 0))
MEAN = (123.675, 116.28, 103.53)
FACTOR = (0.0171247538316637, 0.0175070028011204, 0.0174291938997821)

STEPS = "".join(
    f"  min_chn_{at}: {mean}\n  var_reci_chn_{at}: {factor}\n"
    for at, (mean, factor) in enumerate(zip(MEAN, FACTOR, strict=True))
)
NV12 = (
    "  aipp_mode: static\n  input_format: YUV420SP_U8\n  csc_switch: true\n"
    + "".join(
        f"  matrix_r{row}c{column}: {value}\n"
        for row, values in enumerate(NARROW)
        for column, value in enumerate(values)
    )
    + "  input_bias_0: 16\n  input_bias_1: 128\n  input_bias_2: 128\n"
    + STEPS
)
RGB = "  aipp_mode: static\n  input_format: RGB888_U8\n" + STEPS
DYNAMIC = "  aipp_mode: dynamic\n  max_src_image_size: 4000\n"


def config(folder: Path, *messages: str) -> Path:
    """Write a configuration, one message for each input."""
    path = folder / "aipp.cfg"
    path.write_text("".join(f"aipp_op {{\n{message}}}\n" for message in messages), "utf-8")
    return path


def network(
    path: Path,
    shapes: Sequence[Sequence[int | str]] = ((1, 3, 8, 12),),
    dtype: int = TensorProto.FLOAT,
    *,
    nhwc: bool = False,
) -> Path:
    """Write a network of a convolution for each input, added up; x0, x1 ... give y."""
    generator = np.random.default_rng(5)
    nodes, weights, sums = [], [], []
    for at, shape in enumerate(shapes):
        value, channels = f"x{at}", shape[3 if nhwc else 1]
        if nhwc:
            nodes.append(helper.make_node("Transpose", [value], [f"n{at}"], perm=[0, 3, 1, 2]))
            value = f"n{at}"
        if dtype != TensorProto.FLOAT:
            nodes.append(helper.make_node("Cast", [value], [f"f{at}"], to=TensorProto.FLOAT))
            value = f"f{at}"
        filters = generator.standard_normal((4, int(channels), 3, 3)).astype(np.float32)
        weights.append(numpy_helper.from_array(filters, f"w{at}"))
        nodes.append(helper.make_node("Conv", [value, f"w{at}"], [f"c{at}"], f"conv{at}"))
        sums.append(f"c{at}")
    total = sums[0]
    for at, other in enumerate(sums[1:]):
        nodes.append(helper.make_node("Add", [total, other], [f"s{at}"], f"sum{at}"))
        total = f"s{at}"
    nodes.append(helper.make_node("Relu", [total], ["y"], "last"))
    graph = helper.make_graph(
        nodes,
        "pictures",
        [helper.make_tensor_value_info(f"x{at}", dtype, [*each]) for at, each in enumerate(shapes)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        weights,
    )
    opset = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return path


def normalized(pixels: Array) -> Array:
    """Return features of bytes [N, 3, H, W]: less the mean, times the factor, in float16."""
    mean, factor = (np.array(each, np.float16).reshape(3, 1, 1) for each in (MEAN, FACTOR))
    features: Array = (pixels.astype(np.float16) - mean) * factor
    return features


def rgb_features(pictures: Array) -> Array:
    """Return features of pictures [N, H, W, 3]."""
    return normalized(pictures.transpose(0, 3, 1, 2))


def nv12_pixels(pictures: Array) -> Array:
    """Return red, green and blue of pictures [N, 3 / 2 H, W, 1]."""
    count, rows, width, _ = pictures.shape
    height = rows * 2 // 3
    luma = pictures[:, :height, :, 0].astype(np.int64) - 16
    pairs = pictures[:, height:, :, 0].reshape(count, height // 2, width // 2, 2)
    u, v = (
        pairs[..., at].repeat(2, axis=1).repeat(2, axis=2).astype(np.int64) - 128 for at in (0, 1)
    )
    colors = [(row[0] * luma + row[1] * u + row[2] * v + 128) // 256 for row in NARROW]
    return np.stack(colors, axis=1).clip(0, 255)


def nv12_features(pictures: Array) -> Array:
    """Return features of pictures [N, 3 / 2 H, W, 1]."""
    return normalized(nv12_pixels(pictures))
