"""Runs of networks with dynamic AIPP: pictures of any size that fits, settings as a file or as bytes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import atc_py
from atc_py.diag import AtcError
from atc_py.options.aipp import AippSettings, parameter_bytes
from tests.aipp_graph.networks import DYNAMIC, NARROW, NV12, config, network, nv12_features
from tests.cli.conftest import Result

Array = NDArray[Any]

RUN = NV12.replace("static", "dynamic")
SIZE = "  src_image_size_w: 16\n  src_image_size_h: 10\n  crop: true\n"
PLACE = "  load_start_pos_w: 2\n  load_start_pos_h: 2\n  crop_size_w: 12\n  crop_size_h: 8\n"


def pictures(*shape: int) -> Array:
    """Return random bytes."""
    return np.random.default_rng(13).integers(0, 256, shape).astype(np.uint8)


def expected(model: Path, folder: Path, features: Array) -> Array:
    """Return the result of the network without AIPP."""
    atc_py.convert(model, folder / "plain.om")
    with atc_py.load(folder / "plain.om") as plain:
        return plain.run({"x0": features.astype(np.float32)})["y"]


def settings(**changed: Any) -> AippSettings:
    """Return the settings of a run for RGB pictures of 8 x 12."""
    return AippSettings(aipp_mode="dynamic", src_image_size_w=12, src_image_size_h=8, **changed)


def test_settings_and_pictures_from_files(atc: Callable[..., Result], tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx", [(2, 3, 8, 12)])
    assert atc("convert", model, "--aipp", config(tmp_path, DYNAMIC), "-o", "a.om").status == 0
    data = pictures(2, 15, 16, 1)
    data.tofile("data.bin")
    run = config(tmp_path, RUN + SIZE + PLACE)
    done = atc("run", "a.om", "-i", "x0=data.bin", "--aipp-settings", run, "-o", "out")
    assert done.status == 0, done.err
    rows = np.concatenate([data[:, 2:10], data[:, 11:15]], axis=1)
    wanted = expected(model, tmp_path, nv12_features(rows[:, :, 2:14]))
    np.testing.assert_array_equal(np.load("out/y.npy"), wanted)


def test_settings_of_ais_bench(atc: Callable[..., Result], tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx")
    atc("convert", model, "--aipp", config(tmp_path, DYNAMIC), "-o", "a.om")
    keys = ["input_format : YUV420SP_U8", "src_image_size_w : 12", "src_image_size_h : 8"]
    keys += ["csc_switch : 1", "input_bias_0 : 16", "input_bias_1 : 128", "input_bias_2 : 128"]
    keys += [f"matrix_r{r}c{c} : {NARROW[r][c]}" for r in range(3) for c in range(3)]
    (tmp_path / "run.config").write_text("[aipp_op]\n" + "\n".join(keys) + "\n")
    data = pictures(1, 12, 12, 1)
    np.save("data.npy", data)
    done = atc("run", "a.om", "-i", "x0=data.npy", "--aipp-settings", "run.config", "-o", "out")
    assert done.status == 0, done.err


def test_settings_as_bytes(tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx", [(2, 3, 8, 12)])
    atc_py.convert(model, tmp_path / "a.om", aipp=config(tmp_path, DYNAMIC))
    data = pictures(2, 8, 12, 3)
    each = [settings(mean_chn=(at, 2, 3, 0), min_chn=(0.5, 0.0, 0.0, 0.0)) for at in range(2)]
    params = np.frombuffer(parameter_bytes(each), np.uint8)
    with atc_py.load(tmp_path / "a.om") as loaded:
        found = loaded.run({"x0": data, "ascend_dynamic_aipp_data": params})["y"]
    features = data.transpose(0, 3, 1, 2).astype(np.float32)
    features -= np.array([[0.5, 2, 3], [1.5, 2, 3]], np.float32).reshape(2, 3, 1, 1)
    np.testing.assert_array_equal(found, expected(model, tmp_path, features))


def test_random_data_are_whole_pictures(atc: Callable[..., Result], tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx")
    atc("convert", model, "--aipp", config(tmp_path, DYNAMIC), "-o", "a.om")
    assert atc("run", "a.om", "--random", 1).status == 0
    small = config(tmp_path, DYNAMIC.replace("4000", "200"))
    atc("convert", model, "--aipp", small, "-o", "b.om")
    refused = atc("run", "b.om", "--random", 1)
    assert refused.status == 3
    assert "have more bytes than input 'x0', which has 200" in refused.err


def test_gear_of_batches_by_its_settings(tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx", [("n", 3, 8, 12)])
    given: dict[str, Any] = {"input_shape": "x0:-1,3,8,12", "batch_sizes": "1,3"}
    atc_py.convert(model, tmp_path / "a.om", aipp=config(tmp_path, DYNAMIC), **given)
    with atc_py.load(tmp_path / "a.om") as loaded:
        for count in (1, 3):
            params = np.frombuffer(parameter_bytes([settings()] * count), np.uint8)
            data = pictures(count, 8, 12, 3)
            found = loaded.run({"x0": data, "ascend_dynamic_aipp_data": params})["y"]
            assert len(found) == count
        most = [settings(mean_chn=(at, 0, 0, 0)) for at in range(3)]
        own, of_largest = (
            np.frombuffer(parameter_bytes(each), np.uint8) for each in (most[:1], most)
        )
        first = loaded.run({"x0": data[:1], "ascend_dynamic_aipp_data": own})["y"]
        feeds: dict[str, Array] = {"x0": data[:1], "ascend_dynamic_aipp_data": of_largest}
        np.testing.assert_array_equal(loaded.run(feeds, gear=0)["y"], first)
        feeds["ascend_mbatch_shape_data"] = np.array([1], np.int32)
        np.testing.assert_array_equal(loaded.run(feeds)["y"], first)


def test_biases_that_a_kernel_adds_without_a_conversion_are_refused(tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx", [(1, 3, 8, 12)])
    biased = settings(output_bias=(0, 4, 0), input_bias=(1, 2, 3))
    params = np.frombuffer(parameter_bytes([biased]), np.uint8)
    feeds = {"x0": pictures(1, 8, 12, 3), "ascend_dynamic_aipp_data": params}
    atc_py.convert(model, tmp_path / "a.om", aipp=config(tmp_path, DYNAMIC), soc="Ascend310P3")
    with atc_py.load(tmp_path / "a.om") as loaded:
        loaded.run(feeds)
    atc_py.convert(model, tmp_path / "b.om", aipp=config(tmp_path, DYNAMIC), soc="Ascend950PR_9599")
    with atc_py.load(tmp_path / "b.om") as loaded:
        with pytest.raises(AtcError, match=r"output_bias \[0, 4, 0\] without csc_switch"):
            loaded.run(feeds)
        unbiased = settings(input_bias=(1, 2, 3))
        loaded.run(
            feeds
            | {"ascend_dynamic_aipp_data": np.frombuffer(parameter_bytes([unbiased]), np.uint8)}
        )


@pytest.mark.parametrize(
    ("message", "size", "words"),
    [
        (RUN + SIZE + PLACE.replace("12", "14"), 480, "makes 14 columns"),
        (RUN + SIZE + PLACE, 100, "needs 240 bytes, 1 x YUV420SP_U8 of 16 x 10, found 100"),
        (RUN + SIZE + PLACE + "  padding: true\n  left_padding_size: 1\n", 480, "make 13 columns"),
        (RUN.replace("YUV420SP_U8", "YUYV_U8") + SIZE + PLACE, 480, "YUYV_U8"),
    ],
)
def test_settings_that_do_not_fit_are_refused(
    message: str, size: int, words: str, atc: Callable[..., Result], tmp_path: Path
) -> None:
    model = network(tmp_path / "m.onnx")
    atc("convert", model, "--aipp", config(tmp_path, DYNAMIC), "-o", "a.om")
    np.zeros(size, np.uint8).tofile("data.bin")
    run = config(tmp_path, message)
    refused = atc("run", "a.om", "-i", "x0=data.bin", "--aipp-settings", run, "-o", "out")
    assert refused.status in {2, 3}
    assert words in refused.err
    assert not (tmp_path / "out").exists()


def test_missing_and_needless_settings(atc: Callable[..., Result], tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx")
    atc("convert", model, "--aipp", config(tmp_path, DYNAMIC), "-o", "a.om")
    np.zeros(288, np.uint8).tofile("data.bin")
    refused = atc("run", "a.om", "-i", "x0=data.bin")
    assert "give a file of settings with --aipp-settings" in refused.err
    atc("convert", model, "-o", "p.om")
    refused = atc("run", "p.om", "--random", 1, "--aipp-settings", config(tmp_path, RUN + SIZE))
    assert "which the model does not have" in refused.err


def test_too_many_bytes_are_refused(tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx")
    atc_py.convert(model, tmp_path / "a.om", aipp=config(tmp_path, DYNAMIC))
    params = np.frombuffer(parameter_bytes([settings()]), np.uint8)
    feeds = {"x0": np.zeros(4001, np.uint8), "ascend_dynamic_aipp_data": params}
    with atc_py.load(tmp_path / "a.om") as loaded, pytest.raises(AtcError, match="1x4000"):
        loaded.run(feeds)


def test_info_shows_settings_and_bytes(atc: Callable[..., Result], tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx", [(1, 3, 8, 12), (1, 3, 8, 12)])
    second = "  related_input_rank: 1\n" + DYNAMIC
    atc("convert", model, "--aipp", config(tmp_path, NV12, second), "-o", "a.om")
    first, later = atc("info", "a.om", "--json").json["aipp"]
    assert (first["input"], first["src_bytes"], first["src_dims"]) == ("x0", 144, [1, 12, 12, 1])
    assert (first["src_format"], first["out_dims"]) == ("NHWC", [1, 3, 8, 12])
    assert first["settings"]["matrix"][:3] == [298, 0, 409]
    assert first["parameters"] is None
    assert later["parameters"] == "ascend_dynamic_aipp_data"
    assert later["settings"] == {"aipp_mode": "dynamic", "max_src_image_size": 4000}
    text = atc("info", "a.om").out
    assert "144 bytes, uint8 [1,12,12,1] NHWC" in text
    assert "matrix 298,0,409 / 298,-100,-208 / 298,516,0" in text
