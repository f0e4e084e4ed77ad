"""`atc-py aipp`: the steps of a configuration on a picture, the tensor, and refusals."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from atc_py.options.aipp import AippSettings
from tests.cli.conftest import Result
from tests.options.aipp.formula import expected_tensor

Atc = Callable[..., Result]

PICTURE = np.random.default_rng(1).integers(0, 256, (8, 10, 3), np.uint8)

CONFIG = """\
aipp_op {
  aipp_mode: static
  input_format: RGB888_U8
  src_image_size_w: 10 src_image_size_h: 8
  crop: true crop_size_w: 6 crop_size_h: 4 load_start_pos_w: 3 load_start_pos_h: 2
  rbuv_swap_switch: true
  csc_switch: true
  matrix_r0c0: 66 matrix_r0c1: 129 matrix_r0c2: 25
  matrix_r1c0: -38 matrix_r1c1: -74 matrix_r1c2: 112
  matrix_r2c0: 112 matrix_r2c1: -94 matrix_r2c2: -18
  output_bias_0: 16 output_bias_1: 128 output_bias_2: 128
  mean_chn_0: 100 var_reci_chn_0: 0.017
  padding: true left_padding_size: 2 padding_value: -3
}
"""

SETTINGS = AippSettings(
    src_image_size_w=10,
    src_image_size_h=8,
    crop=True,
    load_start_pos_w=3,
    load_start_pos_h=2,
    crop_size_w=6,
    crop_size_h=4,
    rbuv_swap_switch=True,
    csc_switch=True,
    matrix=(66, 129, 25, -38, -74, 112, 112, -94, -18),
    input_bias=(16, 128, 128),
    output_bias=(16, 128, 128),
    mean_chn=(100, 0, 0, 0),
    var_reci_chn=(0.017, 1.0, 1.0, 1.0),
    padding=True,
    left_padding_size=2,
    padding_value=-3.0,
)


@pytest.fixture
def files(tmp_path: Path) -> None:
    """Write a configuration and a picture."""
    (tmp_path / "aipp.cfg").write_text(CONFIG, encoding="utf-8")
    np.save(tmp_path / "picture.npy", PICTURE)


@pytest.mark.usefixtures("files")
def test_steps_and_tensor_are_those_of_the_formula(atc: Atc) -> None:
    done = atc("aipp", "aipp.cfg", "picture.npy", "-o", "t.npy", "--size", "4,8", "--json")
    assert done.status == 0
    tensor = np.load("t.npy")
    wanted = expected_tensor(SETTINGS, PICTURE, 3, as_bytes=False)
    np.testing.assert_array_equal(tensor, wanted[np.newaxis])
    found = done.json
    assert [step["name"] for step in found["steps"]] == [
        "picture, RGB",
        "picture, as read, cropped, swapped",
        "colors converted",
        "normalized",
        "borders added",
    ]
    assert [step["shape"] for step in found["steps"]] == [
        [3, 8, 10],
        [3, 4, 6],
        [3, 4, 6],
        [3, 4, 6],
        [3, 4, 8],
    ]
    read = PICTURE[2:6, 3:9, ::-1]
    for channel, row in enumerate(found["steps"][1]["channels"]):
        values = read[..., channel]
        assert row == {
            "min": values.min(),
            "max": values.max(),
            "mean": pytest.approx(values.mean()),
        }
    last = found["steps"][-1]["channels"][0]
    assert last["min"] == wanted[0].astype(np.float64).min()
    assert found["settings"]["matrix"] == list(SETTINGS.matrix)
    assert (found["dtype"], found["shape"]) == ("float16", [1, 3, 4, 8])


@pytest.mark.usefixtures("files")
def test_table_has_a_line_for_each_channel(atc: Atc) -> None:
    done = atc("aipp", "aipp.cfg", "picture.npy")
    assert done.status == 0
    assert done.out.startswith("AIPP of picture.npy by aipp.cfg\n")
    assert sum(line.split()[-4:-3] in (["0"], ["1"], ["2"]) for line in done.out.splitlines()) == 15
    assert "borders added" in done.out
    assert not Path("t.npy").exists()


@pytest.mark.usefixtures("files")
def test_network_of_bytes_is_not_normalized(atc: Atc) -> None:
    done = atc("aipp", "aipp.cfg", "picture.npy", "--uint8", "-o", "t.npy", "--json")
    assert done.status == 0
    tensor = np.load("t.npy")
    assert tensor.dtype == np.uint8
    np.testing.assert_array_equal(tensor[0], expected_tensor(SETTINGS, PICTURE, 3, as_bytes=True))
    assert done.json["warnings"][0]["code"] == "ATC2023"


def test_settings_of_a_run_and_gray_pictures(atc: Atc) -> None:
    np.save("picture.npy", PICTURE)
    Path("run.ini").write_text("[aipp_op]\ninput_format : YUV400_U8\nmean_chn_0 : 10\n")
    done = atc("aipp", "run.ini", "picture.npy", "--json", "-o", "t.npy")
    assert done.status == 0
    assert np.load("t.npy").shape == (1, 1, 8, 10)
    Path("run.cfg").write_text("aipp_op { aipp_mode: dynamic input_format: YUV420SP_U8 }")
    assert atc("aipp", "run.cfg", "picture.npy").status == 0


def test_image_files_and_resizing(atc: Atc) -> None:
    image = pytest.importorskip("PIL.Image")
    image.fromarray(PICTURE).save("picture.png")
    Path("aipp.cfg").write_text("aipp_op { aipp_mode: static input_format: RGB888_U8 }")
    assert atc("aipp", "aipp.cfg", "picture.png", "-o", "t.npy").status == 0
    np.testing.assert_array_equal(np.load("t.npy")[0], PICTURE.transpose(2, 0, 1))
    done = atc("aipp", "aipp.cfg", "picture.png", "--size", "4,6")
    assert (done.status, done.err[:14]) == (3, "error[ATC2024 ")
    assert "has 8 rows of 10 pixels, but AIPP takes 4 rows of 6" in done.err
    assert atc("aipp", "aipp.cfg", "picture.png", "--size", "4,6", "--resize").status == 0


def test_configuration_of_an_input_is_chosen(atc: Atc) -> None:
    np.save("picture.npy", PICTURE)
    one = "aipp_op {{ aipp_mode: static input_format: {} related_input_rank: {} }}\n"
    Path("aipp.cfg").write_text(one.format("RGB888_U8", 0) + one.format("YUV400_U8", 2))
    done = atc("aipp", "aipp.cfg", "picture.npy")
    assert (done.status, done.err[:14]) == (2, "error[ATC1001 ")
    assert "it has some for the inputs 0, 2" in done.err
    assert atc("aipp", "aipp.cfg", "picture.npy", "--input", 2, "--json").json["shape"][1] == 1
    assert atc("aipp", "aipp.cfg", "picture.npy", "--input", 1).status == 2


REFUSED: list[tuple[tuple[str, ...], str, str]] = [
    (("--size", "4"), "ATC1001", "--size is height and width in [1, 4160], found '4'"),
    (("--size", "0,4"), "ATC1001", "found '0,4'"),
    (("--size", "5,8"), "ATC2022", "make 4 rows"),
    (("--soc", "Ascend1"), "ATC1003", "no SoC"),
    (("-o", "picture.npy"), "ATC1001", "a file that is read"),
    (("-o", "aipp.cfg"), "ATC1001", "a file that is read"),
    (("-o", "gone/t.npy"), "ATC2007", "gone"),
]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("options", "code", "words"), REFUSED)
def test_refusals(atc: Atc, options: tuple[str, ...], code: str, words: str) -> None:
    done = atc("aipp", "aipp.cfg", "picture.npy", *options)
    assert done.err.startswith(f"error[{code} ")
    assert words in done.err
    assert np.load("picture.npy").shape == PICTURE.shape


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "ATC1001"),
        ("aipp_op { input_format: RGB888_U8 }", "ATC2022"),
        ("aipp_op { aipp_mode: dynamic max_src_image_size: 100 }", "ATC2022"),
        ("aipp_op {", "ATC2022"),
    ],
)
def test_configuration_without_settings_is_refused(atc: Atc, text: str, code: str) -> None:
    np.save("picture.npy", PICTURE)
    Path("aipp.cfg").write_text(text)
    assert atc("aipp", "aipp.cfg", "picture.npy").err.startswith(f"error[{code} ")
