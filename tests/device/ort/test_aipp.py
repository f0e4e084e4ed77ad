"""Pictures into features as ONNX: every format, with and without each step; runs' settings have no form."""

from typing import Any

import numpy as np
import onnxruntime
import pytest

from atc_py.device.ort.model import emulate
from atc_py.device.ort.writing import model_bytes
from atc_py.diag import AtcError
from atc_py.diag.codes import NO_ONNX_FORM
from atc_py.tensor.dtypes import DType
from tests.device.models import ModelBuilder
from tests.device.ort.single import agree

F16, U8 = DType.FLOAT16, DType.UINT8

LAYOUTS = {
    "YUV420SP_U8": (9, 10, 1),
    "XRGB8888_U8": (6, 10, 4),
    "RGB888_U8": (6, 10, 3),
    "YUV400_U8": (6, 10, 1),
    "ARGB8888_U8": (6, 10, 4),
    "YUYV_U8": (6, 10, 2),
    "YUV422SP_U8": (12, 10, 1),
    "AYUV444_U8": (6, 10, 4),
}
COLORS: dict[str, Any] = {
    "csc_switch": True,
    "matrix": [298, 0, 409, 298, -100, -208, 298, 516, -32768],
    "input_bias": [16, 128, 128],
    "output_bias": [3, 0, 200],
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
    "padding_value": 300.1,
}
STEPS: dict[str, Any] = {
    "mean_chn": [104, 117, 123, 0],
    "min_chn": [0.01, 0.31, 6.0, 0.0],
    "var_reci_chn": [0.0171, -3.3, 100.0, 1.0],
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("colors", [False, True])
@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize("swap", [False, True])
def test_pictures_become_features(name: str, colors: bool, frame: bool, swap: bool) -> None:
    pictures = np.random.default_rng(7).integers(0, 256, (2, *LAYOUTS[name])).astype(np.uint8)
    given = {"input_format": name, "src_image_size_w": 10, "src_image_size_h": 6, **STEPS}
    given |= {"rbuv_swap_switch": swap, "ax_swap_switch": not swap}
    gray = name == "YUV400_U8"
    given |= COLORS if colors and not gray else {}
    given |= FRAME if frame else {}
    shape = (2, 1 if gray else 3, *((8, 8) if frame else (6, 10)))
    for dtype in (F16, U8):
        agree("Aipp", [pictures], [(dtype, shape)], given)


def test_matrix_of_one_row_gives_gray() -> None:
    picture = np.random.default_rng(8).integers(0, 256, (1, 6, 10, 3)).astype(np.uint8)
    given = {
        "src_image_size_w": 10,
        "src_image_size_h": 6,
        "csc_switch": True,
        "matrix": [76, 150, 30, 0, 0, 0, 0, 0, 0],
        "output_bias": [5, 0, 0],
        **STEPS,
    }
    agree("Aipp", [picture], [(F16, (1, 1, 6, 10))], given)


def test_settings_of_a_run_have_no_form() -> None:
    builder = ModelBuilder()
    inputs = [builder.input("x", "uint8", (1, 300)), builder.input("p", "uint8", (160,))]
    given: dict[str, Any] = {"aipp_mode": "dynamic", "max_src_image_size": 300}
    (found,) = builder.node("Aipp", inputs, [("float16", (1, 3, 4, 6))], given)
    builder.output("y", found)
    with pytest.raises(AtcError) as caught:
        emulate(builder.build(), flat=False)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code is NO_ONNX_FORM
    assert "its settings come with the data of a run" in diagnostic.message


@pytest.mark.parametrize(("rows", "channels"), [(9, 3), (3, 1)])
def test_channels_follow_from_the_matrix_where_dims_are_open(rows: int, channels: int) -> None:
    builder = ModelBuilder()
    picture = np.random.default_rng(9).integers(0, 256, (1, 6, 10, 3)).astype(np.uint8)
    x = builder.input("x", "uint8", picture.shape)
    given: dict[str, Any] = {
        "src_image_size_w": 10,
        "src_image_size_h": 6,
        "csc_switch": True,
        "matrix": [76, 150, 30, 20, 40, 60, 7, 8, 9][:rows] + [0] * (9 - rows),
        **STEPS,
    }
    (y,) = builder.node("Aipp", [x], [("float16", (None, None, None, None))], given)
    builder.output("y", y)
    session = onnxruntime.InferenceSession(model_bytes(emulate(builder.build(), flat=True), "m"))
    (found,) = session.run(None, {"x": picture})
    assert np.asarray(found).shape == (1, channels, 6, 10)
