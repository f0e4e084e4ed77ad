"""AIPP in files of Huawei's atc: the settings of the op, pictures as programs pass them, the page's formula.

No real file with AIPP was at hand: names are those of a dump of GE, dims those of its documents.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import atc_py
from atc_py.diag import AtcError
from atc_py.options.aipp import AippSettings, parameter_bytes
from atc_py.options.aipp.fields import AIPP_MODES, BIASES, MATRIX, channel_fields
from atc_py.options.aipp.image_formats import IMAGE_FORMATS
from atc_py.options.aipp.settings import source_shape
from tests.options.aipp.formula import expected_tensor
from tests.options.aipp.test_formula import random_settings
from tests.package.ge.om_files import entries, member, message
from tests.pipeline.huawei.example_models import images
from tests.pipeline.huawei.small_models import FILTERS, SmallModel, Tensor, halves

GROUPS = {
    "matrix": MATRIX,
    "input_bias": BIASES[:3],
    "output_bias": BIASES[3:],
    **{name: channel_fields(name) for name in ("mean_chn", "min_chn", "var_reci_chn")},
}
CHANNELS = {"RGB888_U8": 3, "XRGB8888_U8": 4, "YUV420SP_U8": 3, "YUV400_U8": 1, "YUYV_U8": 2}
"""Channels of the Data in the file, which for YUV420SP are not those of its bytes."""


def stated(settings: AippSettings) -> bytes:
    """The attribute with every field of the configuration, lists where the file has lists."""
    numbers = {row.name: row.number for row in IMAGE_FORMATS}
    fields: dict[str, Any] = {}
    for name, value in settings.attributes().items():
        if isinstance(value, tuple):
            listed = name == "var_reci_chn"
            each = dict(zip(GROUPS[name], value, strict=True))
            fields |= {key: [number] if listed else number for key, number in each.items()}
        else:
            fields[name] = value
    fields["aipp_mode"] = AIPP_MODES[settings.aipp_mode]
    fields["input_format"] = numbers[settings.input_format]
    return member("func", message("NamedAttrs", name="aipp") + entries("NamedAttrs", fields))


def unsized(settings: AippSettings) -> AippSettings:
    return replace(settings, src_image_size_h=0, src_image_size_w=0)


def pictured(path: Path, settings: AippSettings, batch: int = 2, *, sized: bool = True) -> Path:
    """relu(aipp(pictures)); where not `sized`, the settings leave the pictures' size to the input."""
    made = SmallModel("Ascend310")
    made.names.on = False
    size = settings.src_image_size_h, settings.src_image_size_w
    shape = (batch, *size, CHANNELS[settings.input_format])
    made.input(
        "x", Tensor(shape, "uint8", "NHWC", "NHWC"), {"_data_related_aipp_mode": "static_aipp"}
    )
    features = images(batch, settings.channels, *settings.output_size)
    made.launch(
        "x_0_huawei_aipp", "Aipp", ["x"], features,
        {"aipp": stated(settings if sized else unsized(settings)), "current_aipp_index": 0},
        operands=["images"],
    )  # fmt: skip
    made.launch("relu", "Relu", ["x_0_huawei_aipp"], features, {}, ["relu"], operands=["x"])
    made.output("relu", "y")
    return made.write(path)


@pytest.mark.parametrize("name", CHANNELS)
@pytest.mark.parametrize("given", [{}, {"crop": True}, {"padding": True, "rbuv_swap_switch": True}])
@pytest.mark.parametrize("sized", [True, False])
def test_pictures_become_what_the_page_says(
    tmp_path: Path, name: str, given: dict[str, Any], sized: bool
) -> None:
    random = np.random.default_rng(len(name))
    settings = random_settings(name, random, csc_switch=name != "YUV400_U8", **given)
    path = pictured(tmp_path / "m.om", settings, sized=sized)
    pictures = random.integers(0, 256, source_shape(settings, 2), np.uint8)
    with atc_py.load(path) as model:
        (port,) = model.inputs
        assert port.shape == pictures.shape
        found = model.run({"x": pictures})["y"]
        assert not model.findings
    for picture, tensor in zip(pictures, found, strict=True):
        wanted = expected_tensor(settings, picture, settings.channels, as_bytes=False)
        np.testing.assert_array_equal(tensor, np.maximum(wanted, 0))


def fused(path: Path, settings: AippSettings, weights: NDArray[Any]) -> Path:
    """A convolution that has taken AIPP in."""
    made = SmallModel("Ascend310")
    made.names.on = False
    size = settings.src_image_size_h, settings.src_image_size_w
    made.input(
        "x", Tensor((1, *size, 3), "uint8", "NHWC", "NHWC"),
        {"_data_related_aipp_mode": "static_aipp"},
    )  # fmt: skip
    made.constant("w", weights, FILTERS)
    rows, columns = settings.output_size
    made.launch(
        "aippconv", "AippConv", ["x", "w"], images(1, 16, rows - 2, columns - 2),
        {"aipp": stated(settings)}, ["conv"],
        kernel_name="te_fused_op_aipp_conv2d_0123456789abcdef__kernel0", last="conv",
    )  # fmt: skip
    made.output("aippconv", "y")
    return made.write(path)


def test_convolution_that_took_aipp_in(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    settings = random_settings("RGB888_U8", random, crop=False)
    weights = halves(30, 16, 3, 3, 3)
    path = fused(tmp_path / "m.om", settings, weights)
    pictures = random.integers(0, 256, source_shape(settings, 1), np.uint8)
    with atc_py.load(path) as model:
        found = model.run({"x": pictures})["y"].astype(np.float32)
    features = expected_tensor(settings, pictures[0], 3, as_bytes=False).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(features, (3, 3), (1, 2))
    wanted = np.einsum("chwij,ocij->ohw", windows, weights.astype(np.float32))
    np.testing.assert_allclose(found[0], wanted, rtol=2e-3, atol=0.5)


def test_dynamic_settings_come_with_the_run(tmp_path: Path) -> None:
    random = np.random.default_rng(8)
    settings = random_settings("RGB888_U8", random)
    blob = AippSettings(aipp_mode="dynamic", max_src_image_size=2000)
    made = SmallModel("Ascend310")
    made.names.on = False
    made.input(
        "x", Tensor((1, 2000), "uint8", "ND", "ND"), {"_data_related_aipp_mode": "dynamic_aipp"}
    )
    made.input("ascend_dynamic_aipp_data", Tensor((64 + 96,), "uint8"))
    features = images(1, 3, *settings.output_size)
    made.launch(
        "x_0_huawei_aipp", "Aipp", ["x", "ascend_dynamic_aipp_data"], features,
        {"aipp": stated(blob)}, operands=["images", "params"],
    )  # fmt: skip
    made.output("x_0_huawei_aipp", "y")
    path = made.write(tmp_path / "m.om")
    picture = random.integers(0, 256, source_shape(settings, 1), np.uint8)
    data = np.zeros((1, 2000), np.uint8)
    data[0, : picture.size] = picture.ravel()
    run = replace(settings, aipp_mode="dynamic")
    parameters = np.frombuffer(parameter_bytes([run]), np.uint8)
    with atc_py.load(path) as model:
        found = model.run({"x": data, "ascend_dynamic_aipp_data": parameters})["y"]
    wanted = expected_tensor(settings, picture[0], 3, as_bytes=False)
    np.testing.assert_array_equal(found[0], wanted)


def test_format_that_is_not_known_is_named(tmp_path: Path) -> None:
    path = pictured(tmp_path / "m.om", random_settings("RGB888_U8", np.random.default_rng(9)))
    entry = entries("NamedAttrs", {"input_format": 3})
    data = path.read_bytes()
    assert entry in data
    path.write_bytes(data.replace(entry, entries("NamedAttrs", {"input_format": 99})))
    with pytest.raises(AtcError, match="99") as raised:
        atc_py.load(path)
    assert raised.value.diagnostics[0].code.id == "ATC5007"
