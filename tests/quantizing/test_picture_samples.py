"""Pictures as samples, through AIPP."""

from pathlib import Path

import numpy as np
import pytest

import atc_py
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_OPTION, BAD_PICTURE, NO_SAMPLES
from atc_py.pipeline.running.aipp_preview import PreviewOptions, preview
from atc_py.pipeline.running.model import Port
from atc_py.quantizing.picture_samples import PictureSamples
from atc_py.tensor.dtypes import DType
from tests.quantizing.float_networks import conv_network

CONFIG = """aipp_op { aipp_mode: static input_format: RGB888_U8 src_image_size_w: 16
src_image_size_h: 16 csc_switch: false mean_chn_0: 120 mean_chn_1: 110 mean_chn_2: 100
var_reci_chn_0: 0.0171 var_reci_chn_1: 0.0175 var_reci_chn_2: 0.0174 }"""

X = Port("x", DType.FLOAT32, (None, 3, 16, 16))


def pictures(folder: Path, count: int, size: int = 16) -> Path:
    folder.mkdir()
    generator = np.random.default_rng(0)
    for at in range(count):
        picture = generator.integers(0, 256, (size, size, 3)).astype(np.uint8)
        np.save(folder / f"{at}.npy", picture)
    return folder


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "aipp.cfg"
    path.write_text(CONFIG)
    return path


def test_samples_are_what_the_device_makes_of_pictures(tmp_path: Path, config: Path) -> None:
    folder = pictures(tmp_path / "p", 2)
    for label, feeds in PictureSamples(folder, config, [X]):
        found = preview(config, folder / label.rpartition("/")[2], PreviewOptions(size=(16, 16)))
        assert feeds["x"].dtype == np.float32
        assert np.abs(feeds["x"] - found.tensor).max() < 2e-3


def test_model_is_quantized_with_pictures(tmp_path: Path, config: Path) -> None:
    model, folder = conv_network(tmp_path / "n.onnx"), pictures(tmp_path / "p", 3)
    done = atc_py.quantize(
        model, tmp_path / "out.onnx", data=folder, aipp=config, calibrator="min-max"
    )
    assert done.samples == 3
    first = done.layers[0]
    assert first.low is not None
    assert first.low >= -120 * 0.0175
    assert first.low < -1.5


def test_pictures_of_a_batch_go_together(tmp_path: Path, config: Path) -> None:
    port = Port("x", DType.FLOAT32, (2, 3, 16, 16))
    samples = PictureSamples(pictures(tmp_path / "p", 4), config, [port])
    assert [feeds["x"].shape for _, feeds in samples] == [(2, 3, 16, 16)] * 2
    with pytest.raises(AtcError) as refused:
        PictureSamples(pictures(tmp_path / "q", 3), config, [port])
    assert refused.value.diagnostics[0].code is NO_SAMPLES


def test_picture_of_another_size(tmp_path: Path, config: Path) -> None:
    folder = pictures(tmp_path / "p", 1, size=20)
    with pytest.raises(AtcError) as refused:
        list(PictureSamples(folder, config, [X]))
    assert refused.value.diagnostics[0].code is BAD_PICTURE
    ((_, feeds),) = PictureSamples(folder, config, [X], resize=True)
    assert feeds["x"].shape == (1, 3, 16, 16)


@pytest.mark.parametrize("shape", [(1, 3), (1, 3, None, 16)])
def test_input_that_takes_no_pictures(
    tmp_path: Path, config: Path, shape: tuple[int | None, ...]
) -> None:
    with pytest.raises(AtcError) as refused:
        PictureSamples(pictures(tmp_path / "p", 1), config, [Port("x", DType.FLOAT32, shape)])
    assert refused.value.diagnostics[0].code is BAD_OPTION
