"""Configurations that the tests of AIPP have in common."""

from pathlib import Path
from typing import Any

import pytest

from atc_py.diag import AtcError, Diagnostic
from atc_py.options.aipp import AippSettings, NetworkInput, checked, read_aipp_file

SAMPLE = """\
# a network of 224 x 224 that takes RGB
aipp_op {
  aipp_mode: static
  related_input_rank: 0
  input_format: YUV420SP_U8  # NV12
  src_image_size_w: 256, src_image_size_h: 256;
  crop: true
  load_start_pos_w: 16
  load_start_pos_h: 16
  crop_size_w: 220
  crop_size_h: 216
  csc_switch: true
  matrix_r0c0: 256 matrix_r0c1: 0 matrix_r0c2: [359]
  matrix_r1c0: 256 matrix_r1c1: -88 matrix_r1c2: - 183
  matrix_r2c0: 0x100
  matrix_r2c1: 454
  matrix_r2c2: 0
  input_bias_0: 0
  input_bias_1: 128
  input_bias_2: 128
  mean_chn_0: 124
  min_chn_1: 116.28
  var_reci_chn_0: .017125f
  var_reci_chn_1: 1.75e-2
  padding: true
  left_padding_size: 4
  top_padding_size: 8
  padding_value: -1.5
}
"""


def written(folder: Path, text: str) -> Path:
    """Return the path of a file with a text."""
    path = folder / "aipp.cfg"
    path.write_text(text, encoding="utf-8")
    return path


def network(*shape: int, **given: Any) -> NetworkInput:
    """Return an input of the simulated device."""
    return NetworkInput(name="x", shape=shape or (1, 3, 224, 224), **given)


def settings_of(folder: Path, fields: str, target: NetworkInput | None = None) -> AippSettings:
    """Return the settings of a configuration of static AIPP with these fields."""
    text = f"aipp_op {{ aipp_mode: static\n{fields}\n}}"
    (config,) = read_aipp_file(written(folder, text)).configs
    return checked(config, target or network())


def _checked_all(path: Path, target: NetworkInput) -> None:
    """Read a file and check all of it."""
    for config in read_aipp_file(path).configs:
        checked(config, target)


def refusal(folder: Path, text: str, target: NetworkInput | None = None) -> Diagnostic:
    """Return why a file is refused, at its reading or against an input."""
    path = written(folder, text)
    with pytest.raises(AtcError) as raised:
        _checked_all(path, target or network())
    (found,) = raised.value.diagnostics
    assert found.code.id == "ATC2022"
    assert found.place is not None
    assert found.place.file == str(path)
    return found
