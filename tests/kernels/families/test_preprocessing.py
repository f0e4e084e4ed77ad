"""Kernels of Aipp on the host, for all formats: bit for bit the simulator's."""

from typing import Any

import pytest

from atc_py.ir import Engine, Graph, Phase, TensorType
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Shape
from tests.kernels.families.conftest import Verified, wrong

INPUTS = {
    "YUV420SP_U8": (9, 10, 1),
    "XRGB8888_U8": (6, 10, 4),
    "RGB888_U8": (6, 10, 3),
    "YUV400_U8": (6, 10, 1),
    "ARGB8888_U8": (6, 10, 4),
    "YUYV_U8": (6, 10, 2),
    "YUV422SP_U8": (12, 10, 1),
    "AYUV444_U8": (6, 10, 4),
}
FRAME: dict[str, Any] = {
    "crop": True,
    "load_start_pos_w": 3,
    "load_start_pos_h": 1,
    "crop_size_w": 5,
    "crop_size_h": 4,
    "padding": True,
    "left_padding_size": 2,
    "right_padding_size": 1,
    "top_padding_size": 1,
    "bottom_padding_size": 3,
    "padding_value": 12.75,
}
COLORS: dict[str, Any] = {
    "csc_switch": True,
    "matrix": (298, 0, 409, 298, -100, -208, 298, 516, 0),
    "input_bias": (16, 128, 128),
    "output_bias": (3, 0, 200),
}
STEPS: dict[str, Any] = {
    "mean_chn": (104, 117, 123, 0),
    "min_chn": (0.0, 0.31, 65504.0, 0.0),
    "var_reci_chn": (0.0171, -3.3, 100.0, 1.0),
}


def add_aipp(graph: Graph, name: str, dtype: DType, images: int, **attributes: Any) -> None:
    """Add a node on pictures of 6 x 10, or of the `src_image_size` given."""
    height = attributes.get("src_image_size_h", 6)
    width = attributes.get("src_image_size_w", 10)
    rows, _, depth = INPUTS[name]
    source = graph.add_input(
        "images",
        TensorType(DType.UINT8, (images, rows * height // 6, width, depth), Format.NHWC),
    )
    size: Shape = (8, 8) if attributes.get("crop") else (height, width)
    channels = 1 if name == "YUV400_U8" else 3
    features = TensorType(dtype, (images, channels, *size), Format.NCHW)
    given = {"src_image_size_h": height, "src_image_size_w": width, **attributes}
    node = graph.add_node("Aipp", [source], [("y", features)], {"input_format": name, **given})
    node.engine = Engine.AICORE


@pytest.mark.parametrize("soc", ["sim", "Ascend310P3"])
def test_static_settings_agree(verified: Verified, soc: str) -> None:
    graph = Graph("aipp", Phase.TYPED)
    for number, name in enumerate(INPUTS):
        colors = {} if name == "YUV400_U8" else COLORS
        swaps = {"rbuv_swap_switch": number % 2 == 0, "ax_swap_switch": number % 3 == 0}
        add_aipp(graph, name, DType.FLOAT16, 2, **STEPS)
        add_aipp(graph, name, DType.FLOAT16, 1, **FRAME, **colors, **STEPS, **swaps)
        add_aipp(graph, name, DType.UINT8, 1, **FRAME, **colors, **swaps)
    large = {"src_image_size_h": 2, "src_image_size_w": 4096}
    add_aipp(graph, "RGB888_U8", DType.FLOAT16, 3, **large, **STEPS)
    checked = verified(graph, soc)
    assert len(checked) == 3 * len(INPUTS) + 1
    assert wrong(checked) == []


def test_dynamic_settings_agree(verified: Verified) -> None:
    graph = Graph("aipp", Phase.TYPED)
    for images, channels, limit in ((1, 3, 400), (3, 3, 900), (2, 1, 500)):
        for dtype in (DType.FLOAT16, DType.UINT8):
            inputs = [
                graph.add_input("images", TensorType(DType.UINT8, (1, limit))),
                graph.add_input("params", TensorType(DType.UINT8, (64 + 96 * images,))),
            ]
            features = TensorType(dtype, (images, channels, 9, 11), Format.NCHW)
            given: dict[str, Any] = {"aipp_mode": "dynamic", "max_src_image_size": limit}
            node = graph.add_node("Aipp", inputs, [("y", features)], given)
            node.engine = Engine.AICORE
    checked = verified(graph)
    assert len(checked) == 6
    assert wrong(checked) == []
