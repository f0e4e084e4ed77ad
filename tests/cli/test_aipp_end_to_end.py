"""A picture through a compiled network: as `aipp` shows it, so does `run` compute with it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.cli.conftest import Result, small_model

Atc = Callable[..., Result]

PICTURE = np.random.default_rng(4).integers(0, 256, (12, 10, 3), np.uint8)
FIELDS = """
  src_image_size_w: 10 src_image_size_h: 12
  crop: true load_start_pos_w: 2 load_start_pos_h: 4 crop_size_w: 6 crop_size_h: 8
  csc_switch: true rbuv_swap_switch: false
  matrix_r0c0: 298 matrix_r0c1: 0 matrix_r0c2: 409
  matrix_r1c0: 298 matrix_r1c1: -100 matrix_r1c2: -208
  matrix_r2c0: 298 matrix_r2c1: 516 matrix_r2c2: 0
  input_bias_0: 16 input_bias_1: 128 input_bias_2: 128
  mean_chn_0: 123 min_chn_0: 0.675 var_reci_chn_0: 0.0171
  var_reci_chn_1: 0.0175 var_reci_chn_2: 0.0174
  padding: true left_padding_size: 2 padding_value: -0.5
"""


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """Return the file of a picture."""
    library = pytest.importorskip("PIL.Image")
    path = tmp_path / "cat.png"
    library.fromarray(PICTURE).save(path)
    return path


def outputs_of(
    atc: Atc, model: str, data: str, *more: str
) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """Return the output of a run."""
    done = atc("run", model, "-i", data, "-o", "out", *more)
    assert done.status == 0, done.err
    found: np.ndarray[tuple[int, ...], np.dtype[np.generic]] = np.load("out/y.npy")
    return found


@pytest.mark.parametrize("name", ["YUV420SP_U8", "YUYV_U8", "YUV422SP_U8", "AYUV444_U8"])
def test_network_gets_the_tensor_that_is_shown(atc: Atc, image: Path, name: str) -> None:
    onnx.save(small_model(), "net.onnx")
    fields = f"input_format: {name}\n{FIELDS}"
    Path("net.cfg").write_text(f"aipp_op {{ aipp_mode: static {fields} }}")
    assert atc("aipp", "net.cfg", image, "-o", "tensor.npy").status == 0
    assert atc("convert", "net.onnx", "-o", "plain.om", "--input-fp16-nodes", "x").status == 0
    wanted = outputs_of(atc, "plain.om", "tensor.npy")
    assert np.ptp(wanted.astype(np.float32)) > 0
    assert atc("convert", "net.onnx", "-o", "net.om", "--aipp", "net.cfg").status == 0
    np.testing.assert_array_equal(outputs_of(atc, "net.om", "x=cat.png"), wanted)


def test_settings_of_a_run_give_the_tensor_that_is_shown(atc: Atc, image: Path) -> None:
    onnx.save(small_model(), "net.onnx")
    fields = f"input_format: YUV420SP_U8\n{FIELDS}".replace("padding_value: -0.5", "")
    Path("run.cfg").write_text(f"aipp_op {{ aipp_mode: dynamic {fields} }}")
    assert atc("aipp", "run.cfg", image, "-o", "tensor.npy").status == 0
    assert atc("convert", "net.onnx", "-o", "plain.om", "--input-fp16-nodes", "x").status == 0
    Path("net.cfg").write_text("aipp_op { aipp_mode: dynamic max_src_image_size: 200 }")
    assert atc("convert", "net.onnx", "-o", "net.om", "--aipp", "net.cfg").status == 0
    found = outputs_of(atc, "net.om", "x=cat.png", "--aipp-settings", "run.cfg")
    np.testing.assert_array_equal(found, outputs_of(atc, "plain.om", "tensor.npy"))


def test_file_without_configuration_is_warned_of(atc: Atc) -> None:
    onnx.save(small_model(), "net.onnx")
    Path("net.cfg").write_text("# nothing yet\n")
    done = atc("convert", "-v", "net.onnx", "-o", "net.om", "--aipp", "net.cfg")
    assert done.status == 0
    assert "warning[ATC2023 doubtful-aipp-config]: net.cfg has no `aipp_op`" in done.out + done.err
