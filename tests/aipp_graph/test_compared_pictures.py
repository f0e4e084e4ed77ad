"""Comparisons of networks that take pictures: the original gets what AIPP makes without rounding."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import TensorProto

import atc_py
from atc_py.options.aipp import AippSettings, parameter_bytes
from atc_py.options.aipp.picture_formula import exact_features
from atc_py.results.layer_comparison import LayerComparison
from tests.aipp_graph.networks import DYNAMIC, NARROW, NV12, RGB, config, network
from tests.cli.conftest import Result
from tests.options.aipp.formula import expected_tensor

Array = NDArray[Any]

FORMATS = {
    "YUV420SP_U8": (6, 6, 1),
    "XRGB8888_U8": (4, 6, 4),
    "RGB888_U8": (4, 6, 3),
    "YUV400_U8": (4, 6, 1),
    "ARGB8888_U8": (4, 6, 4),
    "YUYV_U8": (4, 6, 2),
    "YUV422SP_U8": (8, 6, 1),
    "AYUV444_U8": (4, 6, 4),
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("csc", [False, True])
def test_exact_features_are_those_of_the_device_but_for_rounding(name: str, csc: bool) -> None:
    data = np.random.default_rng(3).integers(0, 256, FORMATS[name]).astype(np.uint8)
    settings = AippSettings(
        input_format=name,
        src_image_size_w=6,
        src_image_size_h=4,
        crop=True,
        load_start_pos_w=2,
        load_start_pos_h=1,
        crop_size_w=3,
        crop_size_h=2,
        csc_switch=csc and name != "YUV400_U8",
        rbuv_swap_switch=True,
        ax_swap_switch=csc,
        matrix=tuple(value for row in NARROW for value in row),
        input_bias=(16, 128, 128),
        output_bias=(1, 2, 3),
        mean_chn=(100, 110, 120, 0),
        min_chn=(0.5, 0.25, 0.0, 0.0),
        var_reci_chn=(0.01, 0.02, 0.03, 1.0),
        padding=True,
        left_padding_size=1,
        bottom_padding_size=2,
        padding_value=7.0,
    )
    flat, channels = data.reshape(-1), settings.channels
    whole = exact_features(settings, flat, as_bytes=True)
    wanted = expected_tensor(settings, data, channels, as_bytes=True)
    np.testing.assert_array_equal(whole, wanted)
    features = exact_features(settings, flat, as_bytes=False)
    near = expected_tensor(settings, data, channels, as_bytes=False)
    np.testing.assert_allclose(features, near.astype(np.float64), atol=0.51 * 0.03, rtol=0.002)


def compared(model: Path, file: Path, **given: Any) -> LayerComparison:
    """Return the comparison of a network with AIPP."""
    return atc_py.compare_model(model, aipp=file, **given)


@pytest.mark.parametrize("device", ["sim", "ort"])
def test_loss_of_aipp_is_that_of_its_layer(device: str, tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx", [(2, 3, 8, 12)])
    done = compared(model, config(tmp_path, NV12), device=device)
    first = done.layers[0]
    assert (first.op, first.value) == ("Aipp", "x0")
    assert 0 < first.figures.distance < 0.01
    assert done.first_failing is None
    lost = config(tmp_path, re.sub("var_reci_chn_(.): .*", r"var_reci_chn_\1: 1e-8", NV12))
    done = compared(model, lost, device=device)
    assert done.first_failing is done.layers[0]
    assert done.layers[0].figures.underflow.share == 1


def test_random_data_are_pictures_of_all_bytes(tmp_path: Path) -> None:
    """float16 of a network on bytes 0 to 15 would show less of its loss."""
    model = network(tmp_path / "m.onnx", dtype=TensorProto.UINT8)
    done = compared(model, config(tmp_path, RGB), samples=3)
    assert done.samples == 3
    assert done.first_failing is None


def test_networks_of_other_layouts_and_dynamic_settings(tmp_path: Path) -> None:
    last = network(tmp_path / "n.onnx", [(2, 8, 12, 3)], nhwc=True)
    done = compared(last, config(tmp_path, RGB), input_format="NHWC")
    assert done.outputs
    assert done.first_failing is None
    model = network(tmp_path / "m.onnx")
    done = compared(model, config(tmp_path, DYNAMIC))
    assert done.first_failing is None
    each = [AippSettings(aipp_mode="dynamic", src_image_size_w=12, src_image_size_h=8)]
    given: dict[str, Any] = {
        "ascend_dynamic_aipp_data": np.frombuffer(parameter_bytes(each), np.uint8),
        "x0": np.arange(288, dtype=np.uint8).reshape(8, 12, 3),
    }
    done = compared(model, config(tmp_path, DYNAMIC), inputs=given)
    assert done.first_failing is None


def test_bytes_and_settings_of_files(atc: Callable[..., Result], tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx")
    np.arange(144, dtype=np.uint8).tofile("data.bin")
    file, run = tmp_path / "static.cfg", tmp_path / "run.cfg"
    config(tmp_path, NV12).rename(file)
    done = atc("compare", model, "--aipp", file, "-i", "x0=data.bin", "--json")
    assert done.status == 0, done.err
    assert done.json["layers"][0]["op"] == "Aipp"
    size = "  src_image_size_w: 12\n  src_image_size_h: 8\n"
    config(tmp_path, NV12.replace("static", "dynamic") + size).rename(run)
    dynamic = config(tmp_path, DYNAMIC)
    words = ("-i", "x0=data.bin", "--aipp-settings", run)
    assert atc("compare", model, "--aipp", dynamic, *words).status == 0
    refused = atc("compare", model, "--aipp", file, *words)
    assert refused.status == 3
    assert "which the model does not have" in refused.err


def test_picture_files(atc: Callable[..., Result], tmp_path: Path) -> None:
    images = pytest.importorskip("PIL.Image")
    model = network(tmp_path / "m.onnx", [(2, 3, 8, 12)])
    pixels = np.random.default_rng(1).integers(0, 256, (2, 8, 12, 3)).astype(np.uint8)
    for at, each in enumerate(pixels):
        images.fromarray(each).save(f"p{at}.png")
    file = config(tmp_path, RGB)
    assert atc("compare", model, "--aipp", file, "-i", "p0.png,p1.png").status == 0
    atc("convert", model, "--aipp", file, "-o", "a.om")
    assert atc("run", "a.om", "-i", "x0=p0.png,p1.png", "-o", "files").status == 0
    pixels.tofile("all.bin")
    assert atc("run", "a.om", "-i", "all.bin", "-o", "bytes").status == 0
    np.testing.assert_array_equal(np.load("files/y.npy"), np.load("bytes/y.npy"))
    refused = atc("run", "a.om", "-i", "p0.png", "-o", "none")
    assert refused.status == 2
    assert "takes 2 pictures, found 1" in refused.err
    images.fromarray(pixels[0, :4]).save("small.png")
    refused = atc("run", "a.om", "-i", "small.png,p1.png", "-o", "none")
    assert "small.png has 4 rows of 12 pixels" in refused.err
